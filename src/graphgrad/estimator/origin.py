"""Another origin of the terms, where it makes the equations sparser.

Far from zero in units of their deviation, the monomials 1, x, x^2 are nearly the same:
what is sparse in (x - c) is dense in x, and its terms are hard to tell. Equations about
the mean are therefore fitted, too. They are also where terms about zero are looked for.
"""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..data.layout import Layout, has_origin
from ..fits.record import Fit
from ..library import moved_origin, origin_of
from ..solution import Solution
from ..solvers.adaptive.outcome import UNSURE

AUTO = "auto"

FAR = 10.0
"""Mean in units of the deviation from which on another origin than zero is tried."""

NEAR = 3.0
"""Farthest fixed point from the mean, in deviations, that is tried as the origin."""

NEWTON_STEPS = 20
"""Steps of Newton's method to the fixed point."""

BETTER = 0.1
"""Fall of the criterion by which terms found about the mean replace others."""


FitOne = Callable[[Mapping[str, Any], Solution | None], Fit]
"""Fits with given settings, from a solution or, for None, from several starts."""


def fit_about_origin(first: Fit, fit_one: FitOne) -> Fit:
    """The fit, or one with terms about another origin if its criterion is lower.

    Each variable with another origin costs as much as a constant in an equation.

    Args:
        first: The fit with terms about zero.
        fit_one: Fits with other settings.
    """
    settings = first.task.settings
    far = _far(first)
    if not far.any():
        return first

    def about(origin: np.ndarray, start: Fit | None = None) -> Fit:
        given = _given(first.layout, origin) or AUTO
        moved = None if start is None else _moved(start, origin)
        return fit_one({**settings, "origin": given}, moved)

    shifted = about(far)
    zero, tried = first, [shifted]
    again = about(np.zeros_like(far), shifted)
    if _criterion(again, first) < _criterion(first, first) - BETTER:
        zero = again
    fixed = _fixed_point(shifted, far)
    if fixed is not None:
        tried.append(about(fixed, shifted))
    constant = ~np.any(first.layout.library.incidence, axis=0)
    prices = first.term_penalties[:, constant]
    cost = len(_given(first.layout, far)) * float(np.max(prices))
    best = min(tried, key=lambda fit: _criterion(fit, first))
    rise = _criterion(best, first) + cost - _criterion(zero, first)
    origin = _words(_given(best.layout, np.asarray(origin_of(best.layout.library))))
    note = f"Tried, with the change of the criterion: origin {origin} {rise:+.1f}."
    chosen = best if rise < -UNSURE else zero
    return chosen._replace(notes=(*first.notes, note))


def _far(fit: Fit) -> Float[np.ndarray, "Nv"]:
    """Means of the variables that are far from zero; 0 for others."""
    settings, layout, library = fit.task.settings, fit.layout, fit.layout.library
    nowhere = np.zeros(len(layout.variables))
    plain = settings["solver"] == "adaptive" and settings["selection"] == "ebic"
    if not (
        plain
        and settings["origin"] == AUTO
        and not settings["constraints"]
        and not settings["prior"]  # which names terms
        and layout.matrix is not None
        and has_origin(library)
        # With linear terms only, a constant does the same.
        and library.incidence.sum(axis=0).max() > 1
        and not fit.engine.stochastic
    ):
        return nowhere
    means, deviations = _moments(fit)
    far = (np.abs(means) > FAR * deviations) & (deviations > 0)
    return _like_sources(layout, np.where(far, means, nowhere))


def _moments(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of the variables; zeros of those not observed."""
    H, ys = np.asarray(fit.layout.matrix), fit.data.ys
    back = np.linalg.pinv(H)
    seen = np.diag(back @ H) > 0.5
    means = np.where(seen, back @ np.nanmean(ys, axis=0), 0)
    variances = np.where(seen, back**2 @ np.nanvar(ys, axis=0), 0)
    if fit.task.acting is not None:
        rows = np.concatenate([series.values for series in fit.task.acting.series])
        means = np.concatenate([means, np.nanmean(rows, axis=0)])
        variances = np.concatenate([variances, np.nanvar(rows, axis=0)])
    return means, np.sqrt(variances)


def _like_sources(layout: Layout, values: np.ndarray) -> np.ndarray:
    """Values of the variables, of which delayed ones have that of their source."""
    sources = {delay.name: delay.source for delay in layout.delays}
    names = layout.variables
    return values[[names.index(sources.get(name, name)) for name in names]]


def _given(layout: Layout, origin: np.ndarray) -> dict[str, float]:
    """The setting: origins other than zero, by name of a variable."""
    delayed = {delay.name for delay in layout.delays}
    pairs = zip(layout.variables, origin.tolist(), strict=True)
    return {name: c for name, c in pairs if c and name not in delayed}


def _words(origin: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={c:.8g}" for name, c in origin.items())


def _criterion(fit: Fit, first: Fit) -> float:
    """The criterion; infinite for a fit of other dynamics, or one that failed."""
    assert isinstance(fit.solution, Solution)
    value = float(fit.solution.criterion)
    same = fit.dynamics == first.dynamics
    return value if same and np.isfinite(value) else np.inf


def _moved(fit: Fit, origin: np.ndarray) -> Solution:
    """The solution of a fit with its coefficients about another origin."""
    library = fit.layout.library
    change = origin - np.asarray(origin_of(library))
    moved = moved_origin(fit.coefficients, library.powers, change)
    return eqx.tree_at(lambda s: s.coefficients, fit.solution, jnp.asarray(moved))


def _fixed_point(fit: Fit, origin: np.ndarray) -> np.ndarray | None:
    """Where the states that are far from zero rest, by Newton's method.

    There the equations have no constants. None if they have none already, if they are
    linear, so that another origin saves as many numbers as it costs, or if the states
    rest far from the mean.
    """
    layout, powers = fit.layout, fit.layout.library.powers
    present = fit.solution.departures() != 0
    far = np.flatnonzero(origin[: fit.n_present])
    constant, curved = ~np.any(powers, axis=0), powers.sum(axis=0) > 1
    if not (present[:, curved].any() and present[far][:, constant].any()):
        return None
    means, deviations = _moments(fit)
    sizes = deviations[far]

    def away(at: np.ndarray) -> np.ndarray:
        values = np.where(origin, 0, means)
        values[far] = at * sizes
        return _like_sources(layout, values)

    def change(at: np.ndarray) -> np.ndarray:
        found = fit.coefficients[far] @ np.prod(away(at)[:, None] ** powers, axis=0)
        if fit.dynamics == "map":
            found = found - origin[far] - away(at)[far]
        return found / sizes

    # In units of the deviations, so that the units of the data do not matter.
    at, steps = np.zeros(len(far)), 1e-4 * np.eye(len(far))
    for _ in range(NEWTON_STEPS):
        slope = np.transpose([change(at + h) - change(at - h) for h in steps]) / 2e-4
        at = at - np.linalg.lstsq(slope, change(at))[0]
        if not np.all(np.abs(at) <= NEAR):
            return None
    return np.where(origin, origin + away(at), 0)
