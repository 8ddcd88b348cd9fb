"""Plots of data and fits, from plain arrays.

Every function takes `ax`, draws there or on a new figure, and returns the axes.
Matplotlib is imported only when something is drawn.
"""

from .equations import plot_coefficients as plot_coefficients
from .equations import plot_path as plot_path
from .fit import plot_convergence as plot_convergence
from .fit import plot_residuals as plot_residuals
from .network import plot_graph as plot_graph
from .phase import plot_phase as plot_phase
from .series import plot_forecast as plot_forecast
from .series import plot_states as plot_states
