"""Plots of a fit by `graphgrad.plots`, to which further options are passed."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import PRNGKeyArray

from .. import plots
from ..checks import check_at_least
from ..data.clock import as_dates
from ..diagnostics.residuals import fit_residuals
from ..fits.record import Fit
from ..prediction.forecast import forecast
from ..prediction.rollout import rate_of, run_from
from ..solution import PaperSolution
from ..solvers import AdaptiveProgress
from .equations import found_terms

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def coefficients(fit: Fit, ax: Any = None, **options: Any) -> "Axes":
    """Plot the coefficient matrix."""
    return plots.plot_coefficients(*found_terms(fit), ax=ax, **options)


def path(fit: Fit, ax: Any = None, **options: Any) -> "Axes":
    """Plot the regularisation path, with the penalty of the fit."""
    if isinstance(fit.solution, PaperSolution):
        raise ValueError(
            "`solver` must be 'adaptive' for `plot_path`, got 'paper', which has "
            "no regularisation path. Fit with `solver='adaptive'`."
        )
    options.setdefault("chosen", fit.term_penalty)
    found, penalties = fit.solution.path[:, : fit.n_present], fit.solution.prices
    return plots.plot_path(found, penalties, *found_terms(fit)[1:], ax=ax, **options)


def states(
    fit: Fit, ax: Any = None, *, series: int = 0, **options: Any
) -> "list[Axes]":
    """Plot smoothed states with 90 % bands, and the data."""
    number = _number(fit, series)
    estimate = fit.shown.smoothed[number]
    spread = np.einsum("tii->ti", estimate.covariance)
    given = {
        "times": fit.dates(number),
        "deviations": np.sqrt(np.maximum(spread, 0)),
        "data": fit.observed_states(number),
        "states": fit.layout.present,
    }
    return plots.plot_states(estimate.mean, ax=ax, **{**given, **options})


def residuals(
    key: PRNGKeyArray, fit: Fit, ax: Any = None, *, series: int = 0, **options: Any
) -> "list[Axes]":
    """Plot one-step residuals: over time, distribution, autocorrelation."""
    number = _number(fit, series)
    found = fit_residuals(key, fit)
    values = found[number] if isinstance(found, list) else found
    given = {"times": fit.dates(number), "states": fit.columns}
    return plots.plot_residuals(values, ax=ax, **{**given, **options})


def forecasts(
    key: PRNGKeyArray,
    fit: Fit,
    steps: int = 100,
    ax: Any = None,
    *,
    members: int = 200,
    **options: Any,
) -> "list[Axes]":
    """Plot a forecast of the series of the fit as a fan chart."""
    ahead = forecast(
        key,
        fit,
        steps,
        smoothing_key=key,
        members=members,
        future_inputs=options.pop("future_inputs", None),
    )
    draws = ahead.states.members
    alive = np.isfinite(draws).all(axis=(1, 2))
    if not alive.any():
        raise ValueError(
            f"`steps` must be few enough that members are left, got {steps}: all "
            f"diverged. {ahead.message}"
        )
    shown = max(2, min(3 * steps, len(fit.smoothed[0].mean)))
    when = fit.times(0)[-1] + fit.dt * np.arange(1, steps + 1)
    given = {
        "times": as_dates(when, fit.panel.series[0].clock),
        "history": fit.shown.smoothed[0].mean[-shown:],
        "history_times": fit.dates(0)[-shown:],
        "states": fit.layout.present,
    }
    return plots.plot_forecast(draws[alive], ax=ax, **{**given, **options})


def phase(
    key: PRNGKeyArray, fit: Fit, ax: Any = None, *, series: int = 0, **options: Any
) -> "Axes":
    """Phase portrait of two states: data, smoothed states, a simulation."""
    number = _number(fit, series)
    trajectory, inputs = fit.smoothed[number].mean, fit.task.acting
    acting = None if inputs is None else inputs.series[number].values
    steps = len(trajectory) - 1
    alone = run_from(key, fit, trajectory[0], steps, acting=acting)
    given = {
        "data": fit.observed_states(number),
        "simulated": alone,
        "rate": rate_of(fit) if fit.dynamics == "flow" else None,
        "states": fit.layout.present,
    }
    trajectory = trajectory[:, : fit.n_present]
    return plots.plot_phase(trajectory, ax=ax, **{**given, **options})


def convergence(fit: Fit, ax: Any = None, **options: Any) -> "list[Axes]":
    """Plot log-likelihood and number of terms over the course of the fit."""
    values, counts, given = _history(fit)
    return plots.plot_convergence(values, counts, ax=ax, **{**given, **options})


def _number(fit: Fit, series: Any) -> int:
    number = check_at_least("series", series, 0, "The first one is 0.")
    if number >= len(fit.panel.series):
        raise ValueError(
            f"`series` must be below the number of series, {len(fit.panel.series)}, "
            f"got {number}. The first one is 0."
        )
    return number


def _history(fit: Fit) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Log-likelihoods, numbers of terms, and options of the plot."""
    solution = fit.solution
    if isinstance(solution, PaperSolution):
        values = [np.asarray(part) for part in solution.log_likelihoods]
        terms = [np.count_nonzero(np.asarray(p), axis=(-2, -1)) for p in solution.path]
        counts = [
            np.repeat(number, part.shape[1])
            for number, part in zip(terms, values, strict=True)
        ]
        flat = np.concatenate([part.ravel() for part in values])
        return flat, np.concatenate(counts), {}
    reported = [p for p in fit.trace if isinstance(p, AdaptiveProgress)]
    if not reported:
        raise ValueError(
            "`plot_convergence` must be called on a fit with recorded progress, got "
            "one from a file, or with `selection='held-out'`. Fit again, or see "
            "`solution_.start_criteria` for the result of each start."
        )
    # The count of smoother passes restarts in each stage.
    steps = np.array([p.sweeps for p in reported])
    begin = np.concatenate([[True], np.diff(steps) <= 0])
    begin[1:] |= [a.stage != b.stage for a, b in pairwise(reported)]
    more = np.where(begin, steps, np.diff(steps, prepend=0))
    given = {"sweeps": np.cumsum(more), "stages": [p.stage for p in reported]}
    values = np.array([p.log_likelihood for p in reported])
    return values, np.array([p.n_nonzero for p in reported]), given
