"""Equations and graph of a fit: text, LaTeX, SymPy, NumPy, NetworkX.

All functions use `fit.coefficients`, as simulations and forecasts do.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..checks import check_positive
from ..data.series import is_regular
from ..equations import equations, latex, numpy_function, numpy_source, to_sympy
from ..fits.record import Fit
from ..graph import to_networkx

if TYPE_CHECKING:
    import networkx as nx
    import sympy

LEAST_STEPS = 3
"""Fewest rows from which strengths of edges are computed."""


def fit_equations(
    fit: Fit,
    digits: int | None = None,
    *,
    align: bool = False,
    form: Any = None,
    coefficients: Float[np.ndarray, "N M"] | None = None,
) -> list[str]:
    """One line per state; arguments as for `GraphGrad.equations`.

    Other coefficients, without standard errors, are those of an alternative.
    """
    found, *names = found_terms(fit)
    how = {**_rounding(fit, digits), "form": form}
    if coefficients is not None:
        found, how = coefficients, {"digits": digits or 3, "form": form}
    return equations(found, *names, **how, dynamics=fit.dynamics, align=align)


def fit_latex(fit: Fit, digits: int | None = None, *, form: Any = None) -> list[str]:
    """One line of LaTeX per state."""
    how = {**_rounding(fit, digits), "form": form}
    return latex(*found_terms(fit), **how, dynamics=fit.dynamics)


def fit_sympy(
    fit: Fit, digits: int | None = None, *, form: Any = None
) -> "list[sympy.Expr]":
    """One SymPy expression per state."""
    how = {"digits": digits, "form": form}
    return to_sympy(*found_terms(fit), **how, dynamics=fit.dynamics)


def fit_numpy_function(
    fit: Fit,
    digits: int | None = None,
    *,
    step: float | None = None,
    substeps: int | None = None,
    form: Any = None,
) -> Callable[..., np.ndarray]:
    """A NumPy function; arguments as for `GraphGrad.numpy_function`."""
    how = {**_substeps(fit, step, substeps), "digits": digits, "form": form}
    return numpy_function(*_all_terms(fit), **how, dynamics=fit.dynamics)


def fit_numpy_source(
    fit: Fit,
    digits: int | None = None,
    *,
    step: float | None = None,
    substeps: int | None = None,
    form: Any = None,
) -> str:
    """Python source of `fit_numpy_function`."""
    how = {**_substeps(fit, step, substeps), "digits": digits, "form": form}
    return numpy_source(*_all_terms(fit), **how, dynamics=fit.dynamics)


def fit_graph(
    fit: Fit, edge_confidence: Float[np.ndarray, "Nx Nv"] | None = None
) -> "nx.DiGraph":
    """The directed graph of a fit, with edge strengths from the smoothed states."""
    trajectory, inputs = _longest(fit)
    return to_networkx(
        *found_terms(fit),
        dynamics=fit.dynamics,
        dt=fit.dt,
        trajectory=trajectory,
        inputs=inputs,
        edge_confidence=edge_confidence,
        delays={d.name: (d.source, d.steps) for d in fit.layout.delays},
    )


def found_terms(fit: Fit) -> tuple[Any, ...]:
    """Coefficients, library and names of the variables."""
    return fit.shown.coefficients, fit.layout.library, fit.layout.variables


def _all_terms(fit: Fit) -> tuple[Any, ...]:
    """The same with the equations of delayed states, so that steps can be repeated."""
    return fit.coefficients, *found_terms(fit)[1:]


def _rounding(fit: Fit, digits: int | None) -> dict[str, Any]:
    if digits is not None:
        return {"digits": digits}
    return {"standard_errors": fit.shown.standard_errors}


def _substeps(fit: Fit, step: float | None, substeps: int | None) -> dict[str, Any]:
    """Step and substeps of a flow; by default substeps as fine as those of the fit."""
    if step is None or substeps is not None:
        return {"step": step, "substeps": 1 if substeps is None else substeps}
    step = check_positive("step", step, "It is a length of time.")
    # The tolerance makes 0.3 three steps of 0.1 despite rounding.
    many = math.ceil(fit.substeps * step / fit.dt - 1e-9)
    return {"step": step, "substeps": max(1, many)}


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
    inputs = fit.task.acting
    acting = None if inputs is None else inputs.series[chosen].values[1:]
    return fit.smoothed[chosen].mean, acting
