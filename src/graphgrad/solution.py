"""What a fit found, and how it ended."""

from enum import IntEnum
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int


class Outcome(IntEnum):
    """How a fit ended. Inside jit an outcome is its number.

    Examples:
        >>> Outcome.nothing_left.advice
        'Every coefficient is zero: the penalty outweighs the data. Lower the penalty.'
    """

    completed = 0
    still_rising = 1
    degenerate_likelihood = 2
    worse_than_persistence = 3
    nothing_left = 4
    no_consensus = 5

    @property
    def advice(self) -> str:
        """What the outcome means and what to do about it."""
        return _ADVICE[self]


_ADVICE = {
    Outcome.completed: ("All steps were taken and the likelihood had stopped rising."),
    Outcome.still_rising: (
        "The likelihood was still rising at the last step: the coefficients are not "
        "final. Give more steps."
    ),
    Outcome.degenerate_likelihood: (
        "The likelihood was numerically zero or had no finite gradient in most steps "
        "on the last batch, so the coefficients hardly moved there: the model lost "
        "the data. Start closer to the dynamics (shorter first batches, another "
        "random start), use more particles or the locally optimal proposal."
    ),
    Outcome.worse_than_persistence: (
        "The fitted model explains the data worse than 'the next as the last' does: "
        "it lost the track and its equations are not to be trusted. Try a smaller "
        "time step, a series that starts on the attractor, the locally optimal "
        "proposal, the score gradient, or several starts."
    ),
    Outcome.nothing_left: (
        "Every coefficient is zero: the penalty outweighs the data. Lower the penalty."
    ),
    Outcome.no_consensus: (
        "No subset of the starts agreed before the series was exhausted; the result "
        "is the start of highest likelihood. Give more starts, more steps, or a "
        "larger tolerance."
    ),
}


class Solution(eqx.Module):
    """What a fit found.

    Attributes:
        coefficients: C, with exact zeros where the penalty put them; or the fitted
            parameters of another mean map.
        log_likelihood: Mean over the last quarter of the steps of the last batch.
        code: Number of the outcome.
        lengths: Length of each batch.
        log_likelihoods: For each group of batches that ran in one call, an array
            `(batches, steps)` with the log-likelihood at each step; minus infinity
            where the step was skipped.
        path: For each group, the coefficients after each of its batches.
        skipped: For each group, how many steps of each batch were skipped since the
            likelihood or its gradient was not finite.
        start: Coefficients before the first step.
    """

    coefficients: Any
    log_likelihood: Float[Array, ""]
    code: Int[Array, ""]
    lengths: tuple[int, ...] = eqx.field(static=True)
    log_likelihoods: tuple[Float[Array, "..."], ...]
    path: tuple[Any, ...]
    skipped: tuple[Int[Array, "..."], ...]
    start: Any

    @property
    def outcome(self) -> Outcome:
        """How the fit ended."""
        return Outcome(int(jax.device_get(self.code)))

    @property
    def advice(self) -> str:
        """What the outcome means and what to do about it."""
        return self.outcome.advice

    def support(self, zero_threshold: float = 1e-6) -> np.ndarray:
        """Which coefficients are not zero; the paper's threshold by default."""
        return np.abs(np.asarray(self.coefficients)) >= zero_threshold
