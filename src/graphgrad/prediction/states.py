"""States of a fitted model: smoothing, filtering, imputation, and scoring."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..compiling import compiled
from ..data.clock import as_numbers
from ..data.frames import filled_in
from ..data.series import Panel, row_times
from ..diagnostics.uncertainty import run_filter
from ..engines import AbstractEngine, Sweep
from ..fits.record import Fit, at_rows
from ..fits.rows import StateEstimate, first_means, lay_rows, rounded_up
from ..model import Arranged, GaussianNoise, LinearGaussian, StateSpaceModel

ITERATIONS = 5
"""Smoother passes after the first, each linearised about the previous trajectory."""


def smooth(
    key: PRNGKeyArray,
    fit: Fit,
    y: Any = None,
    times: Any = None,
    inputs: Any = None,
    *,
    at: Any = None,
) -> Any:
    """Smoothed states, given all data, at the rows or, for a flow, at any times.

    Args:
        key: Random key.
        fit: The fit.
        y: Data, as for `read_panel`; those of the fit if None.
        times: Times of the rows.
        inputs: Inputs, one row per row of `y`.
        at: Times at which to evaluate the states of a flow, for one series.

    Returns:
        A `StateEstimate`; a list of them for a list of series.
    """
    if at is not None:
        panel = fit.panel if y is None else fit.rows(y, times, inputs)[0]
        return states_at(key, fit, panel, at)
    panel, estimates, _ = smoothed_rows(key, fit, y, times, inputs)
    return panel.as_given([each.of_first(fit.n_present) for each in estimates])


def smoothed_rows(
    key: PRNGKeyArray, fit: Fit, y: Any, times: Any, inputs: Any
) -> tuple[Panel, list[StateEstimate], Arranged]:
    """Data, their smoothed states and the model with their rows; of the fit if None."""
    if y is None:
        return fit.panel, fit.smoothed, fit.data
    panel, data = fit.rows(y, times, inputs)
    return panel, smoothed_states(key, fit.engine, data), data


def filtered(
    key: PRNGKeyArray, fit: Fit, y: Any = None, times: Any = None, inputs: Any = None
) -> Any:
    """Filtered states, given the data so far; arguments and result as for `smooth`."""
    panel, data = fit.given_rows(y, times, inputs)
    estimates = filtered_states(key, fit.engine, data)[0]
    return panel.as_given([each.of_first(fit.n_present) for each in estimates])


def fill(
    key: PRNGKeyArray, fit: Fit, y: Any = None, times: Any = None, inputs: Any = None
) -> Any:
    """Data with missing values imputed by smoothing, in their original type.

    Arguments as for `smooth`.
    """
    panel, estimates, _ = smoothed_rows(key, fit, y, times, inputs)
    observed = fit.model.observation.mean
    return panel.as_given(
        [
            filled_in(series, np.asarray(observed(jnp.asarray(estimate.mean))))
            for series, estimate in zip(panel.series, estimates, strict=True)
        ]
    )


def score(key: PRNGKeyArray, fit: Fit, y: Any, times: Any, inputs: Any) -> float:
    """Mean predictive log-density of an observed entry, given the rows before.

    Arguments as for `smooth`.
    """
    _, data = fit.rows(y, times, inputs)
    return predictive_log_density(
        key, fit.engine, data, given_first=fit.begins_anywhere
    )


def smoothed_states(
    key: PRNGKeyArray, engine: AbstractEngine, data: Arranged
) -> list[StateEstimate]:
    """Smoothed states, one item per series."""
    model, ys = rounded_up(data)
    means, covariances, _ = _smooth(key, engine, model, ys)
    return at_rows(data, np.asarray(means)[1:], np.asarray(covariances)[1:])


def filtered_states(
    key: PRNGKeyArray, engine: AbstractEngine, data: Arranged
) -> tuple[list[StateEstimate], list[Float[np.ndarray, "length"]]]:
    """Filtered states, and log-densities of each row given the rows before.

    Both have one item per series. Steps without a row observe nothing and have
    log-density zero.
    """
    model, ys = rounded_up(data)
    found = run_filter(key, engine, model, ys)
    increments = np.asarray(found.increments)
    estimates = at_rows(data, np.asarray(found.means), np.asarray(found.covariances))
    return estimates, [increments[rows] for rows in data.rows]


def states_at(key: PRNGKeyArray, fit: Fit, panel: Panel, at: Any) -> StateEstimate:
    """Smoothed states of a flow at any times, which are added as missing rows.

    Args:
        key: Random key.
        fit: The fit.
        panel: One series.
        at: The times.
    """
    if fit.dynamics != "flow" or fit.layout.inputs or len(panel.series) != 1:
        raise ValueError(
            "`at` must be None except for one series of a flow without inputs, got "
            f"{at!r:.40}. Leave it out for the states at the rows."
        )
    (series,) = panel.series
    wanted = np.atleast_1d(as_numbers(at, series.clock, "at"))
    times = row_times(series, fit.dt)
    if wanted.min() < times[0]:
        raise ValueError(
            f"`at` must not be before the first row at {times[0]:g}, got "
            f"{wanted.min():g}. Leave out earlier times."
        )
    every = np.unique(np.concatenate([times, wanted]))
    values = np.full((len(every), panel.n_columns), np.nan)
    values[np.searchsorted(every, times)] = series.values
    wider = panel._replace(series=(series._replace(values=values, times=every),))
    means = first_means(fit.initial, fit.layout, panel)
    data = lay_rows(fit.model, wider, None, fit.dt, means)
    (found,) = smoothed_states(key, fit.engine, data)
    places = np.searchsorted(every, wanted)
    return StateEstimate(found.mean[places], found.covariance[places])


def predictive_log_density(
    key: PRNGKeyArray, engine: AbstractEngine, data: Arranged, *, given_first: bool
) -> float:
    """Mean predictive log-density of an observed entry, given the rows before.

    If the noise is not Gaussian, it is Laplace's approximation for all rows together.

    Args:
        key: Random key.
        engine: The engine that infers the states.
        data: The model and the rows.
        given_first: Leave out the first row of each series, from which the initial
            state is estimated.
    """
    model = data.model
    gaussian = isinstance(model.transition.noise, GaussianNoise) and isinstance(
        model.observation, LinearGaussian
    )
    entries = [np.sum(~np.isnan(data.ys[rows]), axis=1) for rows in data.rows]
    if not (gaussian or engine.stochastic):
        model, ys = rounded_up(data)
        total = float(_smooth(key, engine, model, ys)[2])
        return total / max(1, int(sum(map(np.sum, entries))))
    first = 1 if given_first else 0
    _, increments = filtered_states(key, engine, data)
    total = sum(float(np.sum(part[first:])) for part in increments)
    return total / max(1, int(sum(np.sum(part[first:]) for part in entries)))


@compiled
def _smooth(
    key: PRNGKeyArray, engine: AbstractEngine, model: StateSpaceModel, ys: Array
) -> tuple[Array, Array, Array]:
    """Smoothed means and covariances, and the log-likelihood."""
    sweep = engine.sweep(key, model, ys)
    if engine.stochastic:
        return sweep.means(), sweep.covariances(), sweep.log_likelihood

    def again(_: Array, sweep: Sweep) -> Sweep:
        new = engine.sweep(key, model, ys, sweep.path)
        # Keep the previous pass if the new one diverged.
        sound = jnp.isfinite(new.log_likelihood) & jnp.all(jnp.isfinite(new.path))
        return jax.tree.map(lambda a, b: jnp.where(sound, a, b), new, sweep)

    sweep = jax.lax.fori_loop(0, ITERATIONS, again, sweep)
    return sweep.means(), sweep.covariances(), sweep.log_likelihood
