"""How long the adaptive solver goes on, and what it tells on its way."""

from typing import Any, NamedTuple

import equinox as eqx

from ...checks import check_at_least


class AdaptiveSteps(eqx.Module):
    """How long the adaptive solver goes on. There is no need to change it.

    Attributes:
        rounds: How often to anneal, at most.
        anneal: Most annealing steps of a start in a round.
        ramp: Steps over which the penalties rise.
        sweeps: Most sweeps of a start after annealing.
        climb: Most sweeps on one choice of terms.
        long_gaps: Whether to provide for long gaps in data that cannot be looked at,
            where many fits are mapped over at once.
    """

    rounds: int = eqx.field(static=True)
    anneal: int = eqx.field(static=True)
    ramp: int = eqx.field(static=True)
    sweeps: int = eqx.field(static=True)
    climb: int = eqx.field(static=True)
    long_gaps: bool = eqx.field(static=True)

    def __init__(
        self,
        anneal: int = 60,
        *,
        rounds: int = 3,
        ramp: int = 20,
        sweeps: int = 150,
        climb: int = 15,
        long_gaps: bool = True,
    ):
        self.rounds = check_at_least("rounds", rounds, 1, "3 are enough.")
        self.anneal = check_at_least("anneal", anneal, 1, "60 is enough.")
        self.ramp = check_at_least("ramp", ramp, 1, "A third of the steps is good.")
        self.sweeps = check_at_least("sweeps", sweeps, 1, "150 is enough.")
        self.climb = check_at_least("climb", climb, 4, "15 is enough.")
        self.long_gaps = bool(long_gaps)

    def brief(self) -> "AdaptiveSteps":
        """One round, in which annealing ends soon after the penalties are up."""
        return AdaptiveSteps(
            min(self.anneal, 3 * self.ramp // 2),
            rounds=1,
            ramp=self.ramp,
            sweeps=self.sweeps,
            climb=self.climb,
            long_gaps=self.long_gaps,
        )


class AdaptiveProgress(NamedTuple):
    """Argument of a callback.

    Attributes:
        stage: `"anneal"` or `"refine"`.
        sweeps: Sweeps done in this stage by the slowest start.
        most: Sweeps that this stage takes at most.
        log_likelihood: Of the best start.
        n_nonzero: Number of its terms.
        coefficients: C of the best start as it is now, `(Nx, M)`.
    """

    stage: str
    sweeps: int
    most: int
    log_likelihood: float
    n_nonzero: int
    coefficients: Any = None
