"""Draws of what comes after a state, with all that is not known about it."""

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..checks import check_at_least, check_choice, check_finite
from ..model import Arranged
from .evaluation import Evaluation, choose_origins, evaluation
from .forecast import Ensemble, Forecast, divergence, roll
from .frames import Panel
from .prepare import is_regular
from .record import Fit, read_inputs
from .states import StateEstimate, check_level, filtered_states
from .uncertainty import normal_draws, state_slopes

SOURCES = ("noise", "coefficients", "state")
"""What a forecast does not know."""


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
        """With coefficients drawn from their law."""
        members = check_at_least("members", members, 1, "200 give fair bands.")
        check_level(level)
        for source in sources:
            check_choice("sources", source, SOURCES)
        first, state_key, noise_key = jax.random.split(key, 3)
        departures = np.zeros((members, int(np.sum(fit.estimated))))
        if "coefficients" in sources and fit.estimated.any():
            departures = normal_draws(first, members, fit.covariance())
        return cls(fit, state_key, noise_key, departures, tuple(sources), level)

    def laws(self, data: Arranged, estimate: StateEstimate) -> "Laws":
        """Laws of the states of one series, with what they owe to the coefficients."""
        if not {"state", "coefficients"} <= set(self.sources):
            return Laws(estimate, None)
        fit = self.fit
        slopes = state_slopes(self.state_key, fit.engine, data, fit.estimated)
        return Laws(estimate, slopes[data.rows[0]])

    def after(
        self,
        laws: "Laws",
        row: int,
        steps: int,
        inputs: Any,
        paces: Float[np.ndarray, "steps"] | None = None,
    ) -> tuple[Ensemble, Ensemble]:
        """States and observations after the state of a row.

        Args:
            laws: States and how well they are known.
            row: Which of them to go on from.
            steps: How many steps to take.
            inputs: Inputs of these steps, if there are any.
            paces: Their lengths, if they are not all dt.
        """
        fit, members = self.fit, len(self.departures)
        coefficients = np.tile(fit.coefficients, (members, 1, 1))
        coefficients[:, fit.estimated] += self.departures
        mean = laws.estimate.mean[row]
        x = np.tile(mean, (members, 1))
        if "state" in self.sources:
            covariance = laws.estimate.covariance[row]
            x += normal_draws(self.state_key, members, covariance)
        if laws.slopes is not None:
            # With other coefficients the last state would have been taken for another.
            x += self.departures @ laws.slopes[row].T
        states, seen = roll(
            self.noise_key,
            fit.model,
            coefficients,
            x,
            fit.bounds(mean),
            steps=steps,
            noise="noise" in self.sources,
            inputs=inputs,
            paces=paces,
        )
        return Ensemble(states, self.level), Ensemble(seen, self.level)


class Laws(NamedTuple):
    """States of a series, and how their means move with the coefficients."""

    estimate: StateEstimate
    slopes: Float[np.ndarray, "T Nx n"] | None


def forecast_from(
    draws: Draws,
    panel: Panel,
    data: Arranged,
    estimates: list[StateEstimate],
    steps: Any,
    inputs: Any,
    at: Any = None,
) -> Forecast:
    """What comes after the last row of a series, step by step or at given times."""
    steps = check_at_least("steps", steps, 1, "It is how far to look ahead.")
    if len(panel.series) != 1:
        raise ValueError(
            "`y` must be one series to forecast from, got several. Give the one that "
            "is to go on."
        )
    laws = draws.laws(data, estimates[0])
    when, dt = panel.series[0].times, draws.fit.dt
    begin = 0.0 if when is None else float(when[-1])
    times, paces, rows = begin + dt * np.arange(1, steps + 1), None, np.arange(steps)
    if at is not None:
        times = _times_ahead(at, begin, draws.fit.dynamics, inputs)
        paces, rows = _grid(np.diff(times, prepend=begin) / dt)
        steps = len(paces)
    states, seen = draws.after(laws, -1, steps, inputs, paces)
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


def rolling_origins(
    key: PRNGKeyArray,
    draws: Draws,
    y: Any,
    times: Any,
    inputs: Any,
    *,
    horizon: int,
    origins: Any,
) -> Evaluation:
    """Forecasts from several rows of a series against what came."""
    fit = draws.fit
    panel, data = fit.rows(y, times, inputs)
    series = panel.series[0]
    if len(panel.series) > 1 or not is_regular(series.times, fit.dt):
        raise ValueError(
            "`y` must be one series whose rows are dt apart, got another. Evaluate "
            "each series for itself; fill rows that are missing with NaN."
        )
    chosen = choose_origins(origins, len(series.values), horizon)
    driving = read_inputs(inputs, panel)
    laws = draws.laws(data, filtered_states(key, fit.engine, data)[0][0])
    forecasts, gone = [], []
    for origin in chosen.tolist():
        future = None
        if driving is not None:
            future = driving.series[0].values[origin : origin + horizon]
        states, seen = draws.after(laws, origin - 1, horizon, future)
        forecasts.append(seen)
        gone.append(divergence(states.members)[0])
    return evaluation(series.values, chosen, forecasts, np.mean(gone, axis=0))
