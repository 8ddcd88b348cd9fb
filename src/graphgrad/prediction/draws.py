"""Draws of what comes after a state, with all that is not known about it."""

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..checks import check_at_least, check_choice
from ..diagnostics.uncertainty import fit_covariance, normal_draws, state_slopes
from ..fits.estimate import StateEstimate, check_level
from ..fits.record import Fit
from ..model import Arranged
from .rollout import roll, state_bounds

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
