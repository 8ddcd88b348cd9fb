"""Estimates of states with their uncertainty, and bands of normal distributions."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class StateEstimate(NamedTuple):
    """States at the times of the observations, and how well they are known.

    Attributes:
        mean: One row a time, one column a state.
        covariance: One matrix a time.

    Examples:
        >>> import numpy as np
        >>> estimate = StateEstimate(np.zeros((1, 1)), np.ones((1, 1, 1)))
        >>> estimate.band(0.9).round(2).tolist()
        [[[-1.64, 1.64]]]
    """

    mean: Float[np.ndarray, "T Nx"]
    covariance: Float[np.ndarray, "T Nx Nx"]

    def band(self, level: float = 0.9) -> Float[np.ndarray, "T Nx 2"]:
        """Lower and upper ends between which each state is with this probability."""
        variances = np.einsum("tii->ti", self.covariance)
        return normal_band(self.mean, np.sqrt(np.maximum(variances, 0)), level)


def normal_band(
    mean: Float[np.ndarray, "*shape"], deviation: Float[np.ndarray, "*shape"], level
) -> Float[np.ndarray, "*shape 2"]:
    """Lower and upper ends of the central part of normal distributions."""
    reach = NormalDist().inv_cdf(0.5 + check_level(level) / 2) * deviation
    return np.stack([mean - reach, mean + reach], axis=-1)


def check_level(level: float) -> float:
    """A probability strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(
            f"`level` must be between 0 and 1, got {level}. 0.9 means 90 %."
        )
    return float(level)
