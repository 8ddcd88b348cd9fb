"""Draws of what comes, with their mean, quantiles and bands."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..fits.estimate import check_level


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
