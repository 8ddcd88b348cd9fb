"""Methods of `GraphGrad`: the equations of a fit and their graph."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .equations import (
    fit_equations,
    fit_graph,
    fit_latex,
    fit_numpy_function,
    fit_numpy_source,
    fit_sympy,
)
from .fitted import AbstractFitted

if TYPE_CHECKING:
    import networkx as nx
    import sympy


class AbstractEquationMethods(AbstractFitted):
    """Equations of a fit as text, LaTeX, SymPy and NumPy, and their graph."""

    def equations(
        self, digits: int | None = None, *, align: bool = False, form: Any = None
    ) -> list[str]:
        """Equations as text, one line per state.

        The left side depends on the dynamics of the fit, `dynamics_`: dx/dt, x[t+1] or
        x[t+1] - x[t].

        Args:
            digits: Significant digits. If None, each coefficient is rounded to the
                second digit of its standard error.
            align: Whether to align a term in the same column of all lines.
            form: Removed; use `dynamics` of the constructor.
        """
        return fit_equations(self._checked(), digits, align=align, form=form)

    def latex(self, digits: int | None = None, *, form: Any = None) -> list[str]:
        """Equations as LaTeX, one line per state; arguments as for `equations`."""
        return fit_latex(self._checked(), digits, form=form)

    def sympy(
        self, digits: int | None = None, *, form: Any = None
    ) -> "list[sympy.Expr]":
        """Right sides as SymPy expressions, one per state; symbols are the variables.

        The rate of a flow, the next value of a map, the change of a difference.

        Args:
            digits: Significant digits; all if None.
            form: Removed; use `dynamics` of the constructor.
        """
        return fit_sympy(self._checked(), digits, form=form)

    def numpy_function(
        self,
        digits: int | None = None,
        *,
        step: float | None = None,
        substeps: int | None = None,
        form: Any = None,
    ) -> Callable[..., np.ndarray]:
        """The equations as a NumPy function of states `(..., Nx)`, and inputs if any.

        `rate(t, x)` for a flow, with the signature of SciPy's `solve_ivp`; `step(x)`,
        the next states, for a map or a difference.

        Args:
            digits: Significant digits; all if None.
            step: For a flow, a length of time: return the step over it in place of the
                rate, with inputs held.
            substeps: Runge-Kutta steps in it. If None, as fine as those of the fit.
            form: Removed; use `dynamics` of the constructor.
        """
        how = {"step": step, "substeps": substeps, "form": form}
        return fit_numpy_function(self._checked(), digits, **how)

    def numpy_source(
        self,
        digits: int | None = None,
        *,
        step: float | None = None,
        substeps: int | None = None,
        form: Any = None,
    ) -> str:
        """Python source of `numpy_function`, which requires only NumPy."""
        how = {"step": step, "substeps": substeps, "form": form}
        return fit_numpy_source(self._checked(), digits, **how)

    def graph(self) -> "nx.DiGraph":
        """The directed graph of interactions.

        An edge has the names of its `terms`, their `coefficients`, its `strength` (its
        share of the change of the target, over the smoothed states of the longest
        series with equal steps) and, after `stability` or `posterior`, a `confidence`.
        """
        return fit_graph(self._checked(), self._edge_confidence())
