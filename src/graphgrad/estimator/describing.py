"""What a fit found, written down: equations, graph, intervals."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..checks import check_positive
from ..equations import equations, latex, numpy_function, numpy_source, to_sympy
from ..graph import to_networkx
from .fitted import AbstractFitted
from .prepare import is_regular
from .record import Fit
from .states import normal_band

if TYPE_CHECKING:
    import networkx as nx
    import sympy

LEAST_STEPS = 3
"""Fewer rows than this have no strength of an edge."""


class AbstractDescribed(AbstractFitted):
    """What a fit found, for people and for other programs.

    All of it is about the same coefficients: those of `coef_`, which `simulate` and
    `forecast` use, too.
    """

    def equations(
        self, digits: int | None = None, *, align: bool = False, form: Any = None
    ) -> list[str]:
        """One line a state: how it moves, by the terms found.

        The left side says which dynamics the fit is of, `dynamics_`: dx/dt, x[t+1] or
        x[t+1] - x[t].

        Args:
            digits: Significant digits. If None, each coefficient ends where the second
                digit of its standard error does.
            align: Whether a term stands in the same column in all lines.
            form: No longer; the constructor's `dynamics` took its place.
        """
        how = self._rounding(digits)
        return equations(*self._found(), **how, **self._kind(form), align=align)

    def latex(self, digits: int | None = None, *, form: Any = None) -> list[str]:
        """One line of LaTeX a state; arguments as for `equations`."""
        how = self._rounding(digits)
        return latex(*self._found(), **how, **self._kind(form))

    def sympy(
        self, digits: int | None = None, *, form: Any = None
    ) -> "list[sympy.Expr]":
        """One SymPy expression a state, whose symbols are the states and inputs.

        It is the right side of the equation: the rate of a flow, the next value of a
        map, the change of a difference.

        Args:
            digits: Significant digits; all if None.
            form: No longer; the constructor's `dynamics` took its place.
        """
        return to_sympy(*self._found(), digits=digits, **self._kind(form))

    def numpy_function(
        self,
        digits: int | None = None,
        *,
        step: float | None = None,
        substeps: int | None = None,
        form: Any = None,
    ) -> Callable[..., np.ndarray]:
        """A NumPy function of states `(..., Nx)`, and inputs if there are any.

        Of a flow it is `rate(t, x)`, as SciPy's `solve_ivp` wants it; of a map or a
        difference `step(x)`, the next states.

        Args:
            digits: Significant digits; all if None.
            step: For a flow, a length of time: gives the step over it in place of the
                rate, with inputs held.
            substeps: Runge-Kutta steps that it is made of. If None, as fine as those
                of the fit.
            form: No longer; the constructor's `dynamics` took its place.
        """
        how = self._step(step, substeps)
        return numpy_function(*self._found(), digits=digits, **how, **self._kind(form))

    def numpy_source(
        self,
        digits: int | None = None,
        *,
        step: float | None = None,
        substeps: int | None = None,
        form: Any = None,
    ) -> str:
        """Python source of `numpy_function`, which needs NumPy alone."""
        how = self._step(step, substeps)
        return numpy_source(*self._found(), digits=digits, **how, **self._kind(form))

    def graph(self) -> "nx.DiGraph":
        """Who acts on whom.

        An edge has the names of its `terms`, their `coefficients`, its `strength` (its
        share in how the target moves, over the smoothed states of the longest series
        with equal steps) and, after `stability` or `posterior`, a `confidence`.
        """
        fit = self._checked()
        path, inputs = _longest(fit)
        return to_networkx(
            *self._found(),
            dynamics=fit.dynamics,
            dt=fit.dt,
            trajectory=path,
            inputs=inputs,
            edge_confidence=getattr(self, "edge_confidence_", None),
        )

    def confidence_intervals(self, level: float = 0.9) -> Float[np.ndarray, "Nx M 2"]:
        """Lower and upper ends for each coefficient, given the terms that were found.

        Args:
            level: Probability that an interval covers its coefficient.
        """
        fit = self._checked()
        return normal_band(fit.coefficients, fit.standard_errors, level)

    def _found(self) -> tuple[Any, ...]:
        fit = self._checked()
        return fit.coefficients, fit.layout.library, fit.layout.variables

    def _kind(self, form: Any = None) -> dict[str, Any]:
        return {"dynamics": self._checked().dynamics, "form": form}

    def _step(self, step: float | None, substeps: int | None) -> dict[str, Any]:
        """How a step of a flow is divided: as the fit's, if nothing else is said."""
        if step is None or substeps is not None:
            return {"step": step, "substeps": 1 if substeps is None else substeps}
        fit = self._checked()
        step = check_positive("step", step, "It is a length of time.")
        # 0.3 is 3 steps of 0.1, whatever the rounding.
        many = math.ceil(fit.substeps * step / fit.dt - 1e-9)
        return {"step": step, "substeps": max(1, many)}

    def _rounding(self, digits: int | None) -> dict[str, Any]:
        if digits is not None:
            return {"digits": digits}
        return {"standard_errors": self._checked().standard_errors}


def _longest(fit: Fit) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Smoothed states and inputs of the longest series with equal steps, if any."""
    regular = [
        i
        for i, series in enumerate(fit.panel.series)
        if is_regular(series.times, fit.dt)
        and len(series.values) >= LEAST_STEPS
        and np.isfinite(fit.smoothed[i].mean).all()
    ]
    if not regular:
        return None, None
    chosen = max(regular, key=lambda i: len(fit.panel.series[i].values))
    inputs = fit.task.inputs
    acting = None if inputs is None else inputs.series[chosen].values[1:]
    return fit.smoothed[chosen].mean, acting
