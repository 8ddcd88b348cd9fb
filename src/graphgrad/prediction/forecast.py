"""Forecasts as ensembles, which say when members diverge."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..checks import check_at_least, check_finite
from ..data.frames import read_values
from ..fits.record import Fit
from .draws import SOURCES, Draws, Ensemble
from .rollout import divergence
from .states import smoothed_rows


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
