"""Which supports each stage of the search came to."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Bool

from ...solution import Solution, Stage


class Trail:
    """The supports of all starts after each stage, in their order."""

    def __init__(self) -> None:
        self._supports: list[tuple[Stage, np.ndarray]] = []

    def add(self, stage: Stage, supports: Any) -> None:
        """Note where the starts of a stage are.

        Args:
            stage: The stage.
            supports: `(starts, R, K)`; nothing is noted while a compilation is under
                way.
        """
        if not isinstance(supports, Tracer):
            self._supports.append((stage, np.asarray(supports)))

    def first(self, support: Bool[np.ndarray, "R K"]) -> tuple[Stage, int]:
        """The stage that came first to a support, and its start.

        Examples:
            >>> trail, support = Trail(), np.eye(2, dtype=bool)
            >>> trail.add(Stage.annealing, np.array([~support, support]))
            >>> trail.add(Stage.exchange, np.array([support, support]))
            >>> trail.first(support)
            (<Stage.annealing: 1>, 1)
        """
        for stage, supports in self._supports:
            same = np.flatnonzero((supports == support).all(axis=(1, 2)))
            if len(same):
                return stage, int(same[0])
        return Stage.unknown, 0


def with_record(
    found: Solution, stage: Stage, start: int, certified: Bool[np.ndarray, "R"]
) -> Solution:
    """A solution that says how its terms were found, and whether that is certified."""
    record = np.array([int(stage), start], found.found_by.dtype), certified
    return eqx.tree_at(
        lambda s: (s.found_by, s.certified), found, jax.device_put(record)
    )
