"""Ensembles of trajectories, and their quantiles where some have diverged."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..fits.rows import check_level


class Ensemble(NamedTuple):
    """An ensemble of trajectories.

    Attributes:
        members: `(members, steps, columns)`; NaN after a member diverged.
        level: Default probability of a band.
    """

    members: Float[np.ndarray, "members steps N"]
    level: float

    @property
    def mean(self) -> Float[np.ndarray, "steps N"]:
        """Mean over the members that have not diverged; NaN if most have."""
        alive = ~np.isnan(self.members)
        total = np.where(alive, self.members, 0).sum(axis=0)
        count = alive.sum(axis=0)
        return np.where(2 * count > len(alive), total / np.maximum(count, 1), np.nan)

    @property
    def median(self) -> Float[np.ndarray, "steps N"]:
        """Median over the members, which few that run away do not move."""
        return self.quantile(0.5)

    def quantile(self, share: Any) -> Float[np.ndarray, "..."]:
        """Quantiles over the members.

        Those that have diverged may be anywhere: they count as below a quantile of less
        than one half, and as above one of more. If they are too many it is NaN.

        Examples:
            >>> members = np.arange(8.0).reshape(8, 1, 1)
            >>> members[7] = np.nan  # an eighth has diverged
            >>> Ensemble(members, 0.9).quantile([0.1, 0.125, 0.5, 0.875, 0.9]).ravel()
            array([nan,  0.,  3.,  6., nan])
        """
        gone = np.isnan(self.members).any(axis=2).mean(axis=0)[:, None]
        found = []
        for p in np.ravel(share):
            side = gone if p < 0.5 else gone / 2 if p == 0.5 else 0.0
            among = (p - side) / np.maximum(1 - gone, 1e-9)
            among = np.where((among < -1e-9) | (among > 1 + 1e-9), np.nan, among)
            found.append(_quantiles(self.members, np.clip(among, 0, 1)))
        return np.stack(found).reshape(*np.shape(share), *self.members.shape[1:])

    def band(self, level: float | None = None) -> Float[np.ndarray, "steps N 2"]:
        """Lower and upper ends of the central interval of this probability."""
        level = self.level if level is None else check_level(level)
        ends = self.quantile([0.5 - level / 2, 0.5 + level / 2])
        return np.moveaxis(ends, 0, -1)


def _quantiles(
    members: Float[np.ndarray, "members steps N"], shares: Float[np.ndarray, "steps 1"]
) -> Float[np.ndarray, "steps N"]:
    """A quantile for each step, of the members that are there; NaN for a NaN."""
    rows = np.sort(members, axis=0)  # NaN last
    last = (~np.isnan(members)).sum(axis=0) - 1
    place = np.where(np.isnan(shares) | (last < 0), 0, np.nan_to_num(shares) * last)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, np.maximum(last, 0))
    below, above = (np.take_along_axis(rows, i[None], axis=0)[0] for i in (low, high))
    found = below + (place - low) * (above - below)
    return np.where(np.isnan(shares) | (last < 0), np.nan, found)
