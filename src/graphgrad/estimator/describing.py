"""What a fit found, written down: equations, graph, intervals."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

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
        self, digits: int | None = None, *, form: str | None = None, align: bool = False
    ) -> list[str]:
        """One line a state: its next value, or its rate, from the terms found.

        Args:
            digits: Significant digits. If None, each coefficient ends where the second
                digit of its standard error does.
            form: `"map"` for the next value, `"rate"` for dx/dt; the estimator's own
                form if None.
            align: Whether a term stands in the same column in all lines.
        """
        how = self._rounding(digits)
        return equations(*self._found(), **how, **self._form(form), align=align)

    def latex(self, digits: int | None = None, *, form: str | None = None) -> list[str]:
        """One line of LaTeX a state; arguments as for `equations`."""
        how = self._rounding(digits)
        return latex(*self._found(), **how, **self._form(form))

    def sympy(
        self, digits: int | None = None, *, form: str | None = None
    ) -> "list[sympy.Expr]":
        """One SymPy expression a state, whose symbols are the states and inputs.

        Args:
            digits: Significant digits; all if None.
            form: As for `equations`.
        """
        return to_sympy(*self._found(), digits=digits, **self._form(form))

    def numpy_function(
        self, digits: int | None = None, *, form: str | None = None
    ) -> Callable[..., np.ndarray]:
        """A NumPy function of states `(..., Nx)`, and inputs if there are any.

        Args:
            digits: Significant digits; all if None.
            form: As for `equations`.
        """
        return numpy_function(*self._found(), digits=digits, **self._form(form))

    def numpy_source(
        self, digits: int | None = None, *, form: str | None = None
    ) -> str:
        """Python source of `numpy_function`, which needs NumPy alone."""
        return numpy_source(*self._found(), digits=digits, **self._form(form))

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

    def _form(self, form: str | None) -> dict[str, Any]:
        fit = self._checked()
        return {"form": fit.form if form is None else form, "dt": fit.dt}

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
