"""Ensemble forecasts, with noise, coefficient and state uncertainty."""

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from ..checks import check_at_least, check_choice, check_finite
from ..data.clock import as_numbers
from ..data.frames import future_values, read_inputs, timed_frame
from ..data.series import Series
from ..diagnostics.noise_uncertainty import NoiseDraws, fixed_noise, noise_draws
from ..diagnostics.uncertainty import fit_covariance, normal_draws, state_slopes
from ..fits.record import Fit
from ..fits.rows import StateEstimate, check_level
from ..model import Arranged
from ..solution import Solution
from .ensemble import Ensemble
from .recent_scale import RecentScale, has_recent_scale
from .rivals import Rivals, filled, rivals_of
from .rollout import divergence, roll, state_bounds
from .states import filtered_states, smoothed_rows

MODEL = "model"
"""The source that is which kind of model: forecasts are averaged with rivals."""

SOURCES = ("noise", "coefficients", "state", MODEL)
"""Sources of uncertainty of a forecast."""

TERMS = "terms"
"""A further source on request: the choice of terms, by the weights of alternatives."""


class Draws(NamedTuple):
    """Random coefficients of ensemble members, which can continue from any state.

    Attributes:
        fit: The fit.
        state_key: Random key of the initial states of members.
        noise_key: Random key of process and measurement noise.
        departures: Deviations of each member from the estimated coefficients.
        chosen: For each member 0 for the terms of the fit, or the number of an
            alternative, whose coefficients it has.
        noise: Noise variances of each member.
        sources: Sources of uncertainty, from `SOURCES`.
        level: Probability of the bands.
        rivals: What forecasts are averaged with; None if with nothing.
    """

    fit: Fit
    state_key: PRNGKeyArray
    noise_key: PRNGKeyArray
    departures: Float[np.ndarray, "members n"]
    chosen: Int[np.ndarray, "members"]
    noise: NoiseDraws
    sources: tuple[str, ...]
    level: float
    rivals: Rivals | None

    @classmethod
    def of(
        cls,
        key: PRNGKeyArray,
        fit: Fit,
        *,
        members: Any,
        level: float,
        sources: tuple[str, ...] = SOURCES,
        steps: int | None,
    ) -> "Draws":
        """Draw noise variances, and coefficients from their normal distribution.

        Args:
            key: Random key.
            fit: The fit.
            members: Number of members.
            level: Probability of the bands.
            sources: Sources of uncertainty, from `SOURCES` and `TERMS`.
            steps: Number of steps of dt of the forecasts; None for other steps, whose
                forecasts are not averaged.
        """
        members = check_at_least("members", members, 1, "200 give accurate bands.")
        check_level(level)
        for source in sources:
            check_choice("sources", source, (*SOURCES, TERMS))
        first, state_key, noise_key, last = jax.random.split(key, 4)
        noise = fixed_noise(fit, members)
        if "noise" in sources:
            noise = noise_draws(last, fit, members)
        departures = np.zeros((members, int(np.sum(fit.estimated))))
        if "coefficients" in sources and fit.estimated.any():
            covariance = fit_covariance(fit, noise.typical(fit.data))
            departures = normal_draws(first, members, covariance)
        chosen = np.zeros(members, int)
        if TERMS in sources and isinstance(fit.solution, Solution):
            weights = fit.solution.weights
            # In proportion, and in an order that does not depend on the other draws.
            uniform = np.asarray(
                jax.random.uniform(jax.random.fold_in(key, 4), members)
            )
            chosen = np.searchsorted(np.cumsum(weights), uniform).clip(
                0, len(weights) - 1
            )
            departures[chosen > 0] = 0.0
        rivals = None
        if MODEL in sources and steps is not None:
            rivals = rivals_of(fit, steps)
        draws = departures, chosen, noise
        return cls(fit, state_key, noise_key, *draws, tuple(sources), level, rivals)

    def distributions(self, data: Arranged, estimate: StateEstimate) -> "Distributions":
        """States of one series, and their sensitivity to the coefficients.

        Args:
            data: The model and the rows of the series.
            estimate: Its states, given the noise variances of the fit.
        """
        fit, recent, rows = self.fit, None, None
        if self.rivals is not None:
            rows = filled(np.asarray(data.ys)[data.rows[0]], estimate.mean, fit)
        if has_recent_scale(fit, self.noise):
            recent = RecentScale(self.state_key, fit, data)
        if self.noise.learnt:
            data = self.noise.typical(data)
            estimate = filtered_states(self.state_key, fit.engine, data)[0][0]
        if not {"state", "coefficients"} <= set(self.sources):
            return Distributions(estimate, None, recent, rows)
        slopes = state_slopes(self.state_key, fit.engine, data, fit.estimated)
        return Distributions(estimate, slopes[data.rows[0]], recent, rows)

    def after(
        self,
        distributions: "Distributions",
        row: int,
        steps: int,
        inputs: Any,
        paces: Float[np.ndarray, "steps"] | None = None,
    ) -> tuple[Ensemble, Ensemble]:
        """Ensembles of states and observations after a row.

        Args:
            distributions: States and their uncertainty.
            row: Index of the row to continue from.
            steps: Number of steps.
            inputs: Inputs at the row and of these steps, if any.
            paces: Lengths of the steps in units of dt, if not all one.
        """
        fit, members = self.fit, len(self.departures)
        coefficients = np.tile(fit.coefficients, (members, 1, 1))
        coefficients[:, fit.estimated] += self.departures
        if self.chosen.any():
            assert isinstance(fit.solution, Solution)
            others = np.asarray(fit.solution.alternative_coefficients)
            coefficients[self.chosen > 0] = others[self.chosen[self.chosen > 0] - 1]
        mean, noise, recent = (
            distributions.estimate.mean[row],
            self.noise,
            distributions.recent,
        )
        factors = np.ones((members, 1))
        if recent is not None:
            key = jax.random.fold_in(self.noise_key, 1)
            noise, factors = recent.after(key, row, noise)
        x = np.tile(mean, (members, 1))
        if "state" in self.sources:
            covariance = distributions.estimate.covariance[row]
            x += factors * normal_draws(self.state_key, members, covariance)
        if distributions.slopes is not None:
            # The estimate of the last state depends on the coefficients.
            x += self.departures @ distributions.slopes[row].T
        states, observed = roll(
            self.noise_key,
            fit.model,
            coefficients,
            x,
            state_bounds(fit, mean),
            noise,
            steps=steps,
            noise="noise" in self.sources,
            inputs=inputs,
            inputs_between=fit.task.settings["inputs_between"],
            paces=paces,
        )
        made = Ensemble(states, self.level), Ensemble(observed, self.level)
        if self.rivals is None or distributions.rows is None:
            return made
        scale = np.ones(observed.shape[2])
        if recent is not None:
            scale = np.sqrt(recent.columns[row])
        until = len(distributions.rows) + row + 1 if row < 0 else row + 1
        history = distributions.rows[:until]
        places = [fit.layout.states.index(name or "") for name in fit.observed]
        return self.rivals.averaged(*made, history, inputs, scale, places)


class Distributions(NamedTuple):
    """States of a series, and what forecasts from them need.

    Attributes:
        estimate: The states.
        slopes: Derivatives of their means by the coefficients.
        recent: Size of recent errors, if the noises were learnt.
        rows: The rows of the series for rivals, if there are any.
    """

    estimate: StateEstimate
    slopes: Float[np.ndarray, "T Nx n"] | None
    recent: RecentScale | None
    rows: Float[np.ndarray, "T Ny"] | None


class Forecast(NamedTuple):
    """A forecast.

    Attributes:
        states: Ensemble of the states.
        observations: Ensemble of the observations, with measurement noise.
        times: Times of the forecast; the last row is at 0 if the data have no times.
        diverged: Share of the members that diverged by each step.
        message: Warning if any members diverged; else empty.
        columns: Names of the columns of the observations.
        series: The series that is continued.
        rivals: Autoregressions with which it is averaged, and their weights; None if
            the forecast is of the equations alone.
    """

    states: Ensemble
    observations: Ensemble
    times: Float[np.ndarray, "steps"]
    diverged: Float[np.ndarray, "steps"]
    message: str
    columns: tuple[str, ...]
    series: Series
    rivals: Rivals | None = None

    @property
    def mean(self) -> Float[np.ndarray, "steps Nx"]:
        """Mean of the states."""
        return self.states.mean

    def band(self, level: float | None = None) -> Float[np.ndarray, "steps Nx 2"]:
        """Band of the states."""
        return self.states.band(level)

    def frame(self, level: float | None = None) -> Any:
        """A data frame of the observations, one row per time.

        A column of times is followed by, for each column of the data, the median and
        the lower and upper end of its band: `name`, `name_low`, `name_high`.

        Args:
            level: Probability of the bands; that of the forecast if None.

        Returns:
            A frame of the library of the data, if they were a frame; else of pandas,
            or of polars if pandas is not installed.
        """
        median, band = self.observations.median, self.observations.band(level)
        parts = {}
        for j, name in enumerate(self.columns):
            parts[name] = median[:, j]
            parts[f"{name}_low"], parts[f"{name}_high"] = band[:, j].T
        return timed_frame(self.series, self.times, parts)


def forecast(
    key: PRNGKeyArray,
    fit: Fit,
    steps: int = 100,
    y: Any = None,
    *,
    smoothing_key: PRNGKeyArray,
    members: int = 200,
    level: float = 0.9,
    times: Any = None,
    inputs: Any = None,
    future_inputs: Any = None,
    at: Any = None,
    sources: tuple[str, ...] = SOURCES,
) -> Forecast:
    """Forecast after the last row of a series, step by step or at given times.

    Args:
        key: Random key of the draws.
        fit: The fit.
        steps: Number of steps of dt.
        y: The series to continue; that of the fit if None.
        smoothing_key: Random key of the smoother, for `y`.
        members: Number of draws.
        level: Probability of the bands.
        times: Times of `y`.
        inputs: Inputs of `y`.
        future_inputs: Inputs during the forecast, one row per step; those of a frame
            by name.
        at: Times after the last row to forecast, for a flow, in place of `steps`.
        sources: Sources of uncertainty, from `SOURCES`, and `"terms"`.
    """
    steps = check_at_least("steps", steps, 1, "It is the number of steps to forecast.")
    draws = Draws.of(
        key,
        fit,
        members=members,
        level=level,
        sources=sources,
        steps=steps if at is None else None,
    )
    panel, estimates, data = smoothed_rows(smoothing_key, fit, y, times, inputs)
    if len(panel.series) != 1:
        raise ValueError(
            "`y` must be one series to forecast from, got several. Give the one to "
            "continue."
        )
    distributions = draws.distributions(data, estimates[0])
    when, dt = panel.series[0].times, fit.dt
    begin = 0.0 if when is None else float(when[-1])
    times, paces, rows = begin + dt * np.arange(1, steps + 1), None, np.arange(steps)
    acting = None
    if at is not None:
        at = as_numbers(at, panel.series[0].clock, "at")
        times = _times_ahead(at, begin, fit.dynamics, fit.layout.inputs)
        paces, rows = _grid(np.diff(times, prepend=begin) / dt)
        steps = len(paces)
    else:
        given = fit.task.inputs if y is None else read_inputs(inputs, panel)
        drivers = fit.task.drivers
        before = drivers.times(panel.series[0])
        acting = drivers.ahead(
            None if given is None else given.series[0].values,
            future_values(future_inputs, fit.task.drivers.given),
            before,
            before[-1] + dt * np.arange(1, steps + 1),
        )
    states, observed = draws.after(distributions, -1, steps, acting, paces)
    states = Ensemble(states.members[..., : fit.n_present], level)
    states, observed = (
        Ensemble(part.members[:, rows], part.level) for part in (states, observed)
    )
    share, message = divergence(states.members, level)
    if message:
        warnings.warn(message, stacklevel=4)
    series = panel.series[0]
    return Forecast(
        states, observed, times, share, message, fit.columns, series, draws.rivals
    )


def predict(
    key: PRNGKeyArray, fit: Fit, steps: int = 1, y: Any = None, **options: Any
) -> Any:
    """Point forecast: the equations from the last state, without noise.

    Averaged with rivals where `forecast` is.

    Args:
        key: Random key of the smoother, for `y`.
        fit: The fit.
        steps: Number of steps of dt.
        y: The series to continue; that of the fit if None.
        **options: Of `forecast`: data and times.

    Returns:
        Means of the columns: an array, or a frame with times if the series is one.
    """
    options |= {"members": 1, "sources": (MODEL,), "smoothing_key": key}
    ahead = forecast(key, fit, steps, y, **options)
    values = ahead.observations.mean
    if ahead.series.names is None or ahead.series.native is None:
        return values
    parts = dict(zip(ahead.columns, values.T, strict=True))
    return timed_frame(ahead.series, ahead.times, parts)


def _times_ahead(
    at: Any, begin: float, dynamics: str, inputs: tuple[str, ...]
) -> Float[np.ndarray, "steps"]:
    """Check the times to forecast, for a flow without inputs."""
    remedy = "Leave it out and give `steps`."
    if dynamics != "flow" or inputs:
        what = f"a {dynamics}" if dynamics != "flow" else "inputs"
        raise ValueError(f"`at` must be None for {what}, got {at!r:.40}. {remedy}")
    times = np.atleast_1d(check_finite("at", at, "Give times after the last row."))
    if times.ndim != 1 or (np.diff(times, prepend=begin) <= 0).any():
        raise ValueError(
            f"`at` must be increasing times after the last row at {begin:g}, got "
            f"{times.tolist()!s:.60}. Sort them; times between rows go to `smooth`."
        )
    return times


def _grid(lengths: Float[np.ndarray, "steps"]) -> tuple[np.ndarray, np.ndarray]:
    """Steps of at most one dt, and the indices of those that end at requested times."""
    parts = np.ceil(lengths - 1e-9).astype(int).clip(1)
    return np.repeat(lengths / parts, parts), np.cumsum(parts) - 1
