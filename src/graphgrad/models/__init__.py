"""Models of known structure, ready to be fitted: each function returns a `GraphGrad`.

The terms are given, and their rates are estimated.
"""

from .compartments import compartments
from .epidemics import seir, sir
from .motion import oscillator, predator_prey

__all__ = ["compartments", "oscillator", "predator_prey", "seir", "sir"]
