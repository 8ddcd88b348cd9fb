"""Forecasts as ensembles, which say when members diverge."""

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..checks import check_at_least, check_choice, check_finite
from ..data.frames import read_values
from ..diagnostics.uncertainty import fit_covariance, normal_draws, state_slopes
from ..fits.record import Fit
from ..fits.rows import StateEstimate, check_level
from ..model import Arranged
from .rollout import divergence, roll, state_bounds
from .states import smoothed_rows

SOURCES = ("noise", "coefficients", "state")
"""What a forecast does not know."""


class Ensemble(NamedTuple):
    """Draws of what comes.

    Attributes:
        members: `(members, steps, columns)`; NaN from where a member diverged.
        level: Probability of a band, unless another one is asked for.
    """

    members: Float[np.ndarray, "members steps N"]
    level: float

    @property
    def mean(self) -> Float[np.ndarray, "steps N"]:
        """Mean over the members that have not diverged."""
        alive = ~np.isnan(self.members)
        total = np.where(alive, self.members, 0).sum(axis=0)
        count = alive.sum(axis=0)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def quantile(self, share: Any) -> Float[np.ndarray, "..."]:
        """Quantiles over the members that have not diverged."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # where none is left: NaN
            return np.nanquantile(self.members, share, axis=0)

    def band(self, level: float | None = None) -> Float[np.ndarray, "steps N 2"]:
        """Lower and upper ends of the central part of this probability."""
        level = self.level if level is None else check_level(level)
        ends = self.quantile([0.5 - level / 2, 0.5 + level / 2])
        return np.moveaxis(ends, 0, -1)


class Draws(NamedTuple):
    """Members that go on from any state.

    Attributes:
        fit: The fit.
        state_key: Random key of where members begin.
        noise_key: Random key of how they move and are seen.
        departures: What the estimated coefficients of each member depart by.
        sources: Which of `SOURCES` are drawn.
        level: Probability of the bands.
    """

    fit: Fit
    state_key: PRNGKeyArray
    noise_key: PRNGKeyArray
    departures: Float[np.ndarray, "members n"]
    sources: tuple[str, ...]
    level: float

    @classmethod
    def of(
        cls,
        key: PRNGKeyArray,
        fit: Fit,
        *,
        members: Any,
        level: float,
        sources: tuple[str, ...] = SOURCES,
    ) -> "Draws":
        """With coefficients drawn from their distribution."""
        members = check_at_least("members", members, 1, "200 give fair bands.")
        check_level(level)
        for source in sources:
            check_choice("sources", source, SOURCES)
        first, state_key, noise_key = jax.random.split(key, 3)
        departures = np.zeros((members, int(np.sum(fit.estimated))))
        if "coefficients" in sources and fit.estimated.any():
            departures = normal_draws(first, members, fit_covariance(fit))
        return cls(fit, state_key, noise_key, departures, tuple(sources), level)

    def distributions(self, data: Arranged, estimate: StateEstimate) -> "Distributions":
        """Of the states of one series, with what they owe to the coefficients."""
        if not {"state", "coefficients"} <= set(self.sources):
            return Distributions(estimate, None)
        fit = self.fit
        slopes = state_slopes(self.state_key, fit.engine, data, fit.estimated)
        return Distributions(estimate, slopes[data.rows[0]])

    def after(
        self,
        distributions: "Distributions",
        row: int,
        steps: int,
        inputs: Any,
        paces: Float[np.ndarray, "steps"] | None = None,
    ) -> tuple[Ensemble, Ensemble]:
        """States and observations after the state of a row.

        Args:
            distributions: States and how well they are known.
            row: Which of them to go on from.
            steps: How many steps to take.
            inputs: Inputs of these steps, if there are any.
            paces: Their lengths, if they are not all dt.
        """
        fit, members = self.fit, len(self.departures)
        coefficients = np.tile(fit.coefficients, (members, 1, 1))
        coefficients[:, fit.estimated] += self.departures
        mean = distributions.estimate.mean[row]
        x = np.tile(mean, (members, 1))
        if "state" in self.sources:
            covariance = distributions.estimate.covariance[row]
            x += normal_draws(self.state_key, members, covariance)
        if distributions.slopes is not None:
            # With other coefficients the last state would have been taken for another.
            x += self.departures @ distributions.slopes[row].T
        states, seen = roll(
            self.noise_key,
            fit.model,
            coefficients,
            x,
            state_bounds(fit, mean),
            steps=steps,
            noise="noise" in self.sources,
            inputs=inputs,
            paces=paces,
        )
        return Ensemble(states, self.level), Ensemble(seen, self.level)


class Distributions(NamedTuple):
    """States of a series, and how their means move with the coefficients."""

    estimate: StateEstimate
    slopes: Float[np.ndarray, "T Nx n"] | None


class Forecast(NamedTuple):
    """What comes, with what is not known about it.

    Attributes:
        states: Draws of the states.
        observations: Draws of what will be seen of them, with its noise.
        times: When, counted from the last row, or in units of the times.
        diverged: Share of the members that left all bounds by each step.
        message: In words, if any did; else empty.
    """

    states: Ensemble
    observations: Ensemble
    times: Float[np.ndarray, "steps"]
    diverged: Float[np.ndarray, "steps"]
    message: str

    @property
    def mean(self) -> Float[np.ndarray, "steps Nx"]:
        """Mean of the states."""
        return self.states.mean

    def band(self, level: float | None = None) -> Float[np.ndarray, "steps Nx 2"]:
        """Band of the states."""
        return self.states.band(level)


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
    """What comes after the last row of a series, step by step or at given times.

    Args:
        key: Random key of the draws.
        fit: The fit.
        steps: How many steps of dt.
        y: The series to go on from; that of the fit if None.
        smoothing_key: Random key of the smoother, for `y`.
        members: Number of draws.
        level: Probability of the bands.
        times: Of `y`.
        inputs: Of `y`.
        future_inputs: Inputs of the steps to come, one row each.
        at: Times after the last row to forecast, of a flow, in place of `steps`.
        sources: Which of `SOURCES` are drawn.
    """
    draws = Draws.of(key, fit, members=members, level=level, sources=sources)
    panel, estimates, data = smoothed_rows(smoothing_key, fit, y, times, inputs)
    steps = check_at_least("steps", steps, 1, "It is how far to look ahead.")
    if len(panel.series) != 1:
        raise ValueError(
            "`y` must be one series to forecast from, got several. Give the one that "
            "is to go on."
        )
    inputs = read_values(future_inputs)
    distributions = draws.distributions(data, estimates[0])
    when, dt = panel.series[0].times, fit.dt
    begin = 0.0 if when is None else float(when[-1])
    times, paces, rows = begin + dt * np.arange(1, steps + 1), None, np.arange(steps)
    if at is not None:
        times = _times_ahead(at, begin, fit.dynamics, inputs)
        paces, rows = _grid(np.diff(times, prepend=begin) / dt)
        steps = len(paces)
    states, seen = draws.after(distributions, -1, steps, inputs, paces)
    states, seen = (
        Ensemble(part.members[:, rows], part.level) for part in (states, seen)
    )
    share, message = divergence(states.members)
    if message:
        warnings.warn(message, stacklevel=4)
    return Forecast(states, seen, times, share, message)


def _times_ahead(
    at: Any, begin: float, dynamics: str, inputs: Any
) -> Float[np.ndarray, "steps"]:
    """Times to forecast, of a flow without inputs."""
    remedy = "Leave it out and give `steps`."
    if dynamics != "flow" or inputs is not None:
        what = f"a {dynamics}" if dynamics != "flow" else "inputs"
        raise ValueError(f"`at` must be absent for {what}, got {at!r:.40}. {remedy}")
    times = np.atleast_1d(check_finite("at", at, "Give times after the last row."))
    if times.ndim != 1 or (np.diff(times, prepend=begin) <= 0).any():
        raise ValueError(
            f"`at` must be times that rise, after the last row at {begin:g}, got "
            f"{times.tolist()!s:.60}. Sort them; times between rows go to `smooth`."
        )
    return times


def _grid(lengths: Float[np.ndarray, "steps"]) -> tuple[np.ndarray, np.ndarray]:
    """Steps of at most the usual length, and which of them end where one was asked."""
    parts = np.ceil(lengths - 1e-9).astype(int).clip(1)
    return np.repeat(lengths / parts, parts), np.cumsum(parts) - 1
