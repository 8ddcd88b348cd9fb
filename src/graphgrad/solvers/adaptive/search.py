"""The stages of the adaptive solver in their order."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PRNGKeyArray

from ...engines import AbstractEngine
from ...model import ConstraintSet, StateSpaceModel
from ...preparation import Preparation, preparing
from ...solution import Solution
from ..criterion import AbstractCriterion
from ..trees import host_entry
from .annealing import Annealing
from .candidate import Exchange
from .expected import expect_programs, first_ascent
from .finish import finish
from .plan import Plan
from .runs import Explored, ascend_once, exchange_each
from .settings import AdaptiveProgress, AdaptiveSteps
from .stages import (
    FEW_TERMS,
    anneal_starts,
    begin_again,
    begin_exchanges,
    better_starts,
    exchange_together,
    noise_if_needed,
    random_starts,
    recombined_starts,
    with_known_noise,
    with_less_noise,
)
from .starts import begin_fit, long_gaps, sees_all_states
from .substeps import (
    SIZES,
    doubling,
    first_size,
    next_size,
    substeps_of,
    with_substeps,
)
from .unknowns import independent_noise
from .windows import continued

LESS_NOISE = (1 / 3, 1 / 2, 1.0)
"""Shares of what is left of the way to no process noise, in steps of equal ratio."""

HOPELESS = 100.0
"""Rise of the criterion with less noise from which on noise is needed for sure."""


class Search(NamedTuple):
    """What all fits of one call share.

    Attributes:
        key: Random key.
        ys: Observations.
        constraints: What is known of the equations.
        criterion: By which terms are chosen.
        multiplier: Of the criterion's penalties.
        engine: How the hidden trajectory is inferred.
        learn: What is learnt beside the coefficients.
        settings: How long to go on.
        callback: Called with an `AdaptiveProgress` now and then, if it is not None.
    """

    key: PRNGKeyArray
    ys: Any
    constraints: ConstraintSet
    criterion: AbstractCriterion
    multiplier: Any
    engine: AbstractEngine
    learn: tuple[str, ...]
    settings: AdaptiveSteps
    callback: Any

    @property
    def traced(self) -> bool:
        """Whether a compilation is under way, which cannot look at numbers."""
        leaves = [jnp.zeros(()), *jax.tree.leaves((self.ys, self.multiplier))]
        return any(isinstance(leaf, Tracer) for leaf in leaves)

    def solution(
        self, model: StateSpaceModel, reason: str, found: Solution | None = None
    ) -> Solution:
        """Find terms, coefficients and noises.

        Args:
            model: What is known.
            reason: The engine and why it was chosen, in words.
            found: What a fit of fewer rows found, to go on from.
        """
        ys, learn = self.ys, self.learn
        gaps = self.settings.long_gaps
        if not self.traced:
            gaps = bool(np.any(np.asarray(long_gaps(jnp.asarray(ys), model))))
        penalty = self.criterion, self.multiplier
        plan, beginning = begin_fit(ys, model, *penalty, self.constraints, learn, gaps)
        if model.dynamics == "flow" and not self.traced:
            first = host_entry(beginning.unknowns, 0)
            size = first_size(plan.build(first, ()), plan.trajectory)
            size = max(size, int(substeps_of(model)))
            plan = plan._replace(model=with_substeps(plan.model, size))
        # Terms are first exchanged with the process noise free, above what is known of
        # it: a wrong model with little noise loses the data, and cannot be improved.
        # With it known and independent the same program holds it fixed.
        free = tuple(dict.fromkeys((*learn, "state_noise")))
        if self.traced:
            return self._stages(plan, beginning, free, reason, found)
        ascent = first_ascent(self.key, beginning, plan, self.engine, free)
        number = len(beginning.step) if found is None else 1

        def prepare(preparation: Preparation) -> None:
            expect_programs(preparation, ascent, learn, number, reason)

        with preparing(prepare, ascend_once, *ascent):
            return self._stages(plan, beginning, free, reason, found)

    def _stages(
        self,
        plan: Plan,
        beginning: Annealing,
        free: tuple[str, ...],
        reason: str,
        found: Solution | None,
    ) -> Solution:
        """All stages, from the plan to the solution."""
        key, settings, learn, model = self.key, self.settings, self.learn, plan.model
        options = {"engine": self.engine, "learn": learn, "settings": settings}
        seen = sees_all_states(model)

        def round_of(number: int, starts: Annealing) -> Exchange:
            starts = self._anneal(jax.random.fold_in(key, number), starts, plan)
            ready = begin_exchanges(starts.unknowns, starts.trajectory)
            return self._exchange(ready, plan, free, settings.climb, explored)

        explored: Explored | None = {} if seen else None

        def first_round() -> Exchange:
            if found is None:
                return round_of(0, beginning)
            going_on = continued(key, found, beginning, plan, self.engine, free)
            return self._exchange(going_on, plan, free, settings.climb, explored)

        exchanged = first_round()
        if model.dynamics == "flow" and not self.traced:
            needed = _needed_steps(exchanged, plan, free)
            if needed > int(substeps_of(plan.model)):
                # Terms were looked for with steps that are too long.
                plan = plan._replace(model=with_substeps(plan.model, needed))
                explored = {} if seen else None
                exchanged = first_round()
        for number in range(1, settings.rounds if found is None else 1):
            again = round_of(number, begin_again(beginning, exchanged))
            exchanged = better_starts(again, exchanged)
        if not seen and np.sum(self.constraints.free) <= FEW_TERMS:
            for number in range(settings.rounds):
                random_key = jax.random.fold_in(key, settings.rounds + number)
                drawn = random_starts(random_key, beginning, plan)
                again = self._exchange(drawn, plan, free, settings.climb)
                exchanged = better_starts(again, exchanged)
        if "state_noise" not in learn:
            plan = plan._replace(free_noise=jax.device_put(np.array(False)))
            exchanged = with_known_noise(exchanged, plan)
            if independent_noise(model):
                learn = free
            exchanged = self._exchange(exchanged, plan, learn, settings.climb)
        elif model.dynamics == "flow":
            # What is taken for noise may be a term that is missing, which shows once
            # the noise cannot explain it. With all of it gone at once the data would be
            # lost.
            exchanged, plan = self._without_noise(exchanged, plan)
        # The last ascent may take its time: distributions that are not Gaussian, and
        # noises that the data hardly tell, need it.
        combined = recombined_starts(exchanged)
        combined = self._exchange(combined, plan, learn, 4 * settings.climb)
        return finish(key, exchanged, combined, plan, reason=reason, **options)

    def _without_noise(self, noisy: Exchange, plan: Plan) -> tuple[Exchange, Plan]:
        """The fits without process noise, unless noise is needed."""
        no_noise = jax.device_put(np.array(False))
        quiet, less_noise = plan._replace(free_noise=no_noise), noisy
        for share in LESS_NOISE:
            less_noise = with_less_noise(less_noise, quiet, share)
            most = 4 * self.settings.climb
            less_noise = self._exchange(less_noise, quiet, self.learn, most)
            if not self.traced:
                criteria = less_noise.best.criterion, noisy.best.criterion
                less, more = (np.min(np.asarray(each)) for each in criteria)
                if less > more + HOPELESS:
                    return noisy, plan
        return noise_if_needed(noisy, less_noise, plan)

    @property
    def _slice(self) -> int:
        """Sweeps in one call: all of a stage, unless somebody watches."""
        if self.callback is not None:
            return 10
        return self.settings.anneal + self.settings.sweeps

    def _anneal(self, key: PRNGKeyArray, starts: Annealing, plan: Plan) -> Annealing:
        most, slice_ = self.settings.anneal, self._slice
        for until in range(slice_, most + slice_, slice_):
            starts = anneal_starts(
                key,
                starts,
                plan,
                np.int32(until),
                engine=self.engine,
                learn=self.learn,
                settings=self.settings,
            )
            if self.callback is not None:
                done = int(np.max(np.asarray(starts.step)))
                if done > 0:  # none where all starts agree
                    self.callback(_progress("anneal", starts.step, most, starts, plan))
                if done < until:
                    break
        return starts

    def _exchange(
        self,
        starts: Exchange,
        plan: Plan,
        learn: tuple[str, ...],
        most: int,
        explored: Explored | None = None,
    ) -> Exchange:
        sweeps, engine = self.settings.sweeps, self.engine
        key = jax.random.fold_in(self.key, self.settings.anneal)
        if self.traced:
            return exchange_together(
                key, starts, plan, most, engine=engine, learn=learn, sweeps=sweeps
            )

        def watch(state: Exchange) -> None:
            if self.callback is not None:
                every = jax.tree.map(lambda leaf: np.asarray(leaf)[None], state.best)
                self.callback(_progress("refine", state.sweeps, sweeps, every, plan))

        if explored is None and sees_all_states(plan.model):
            explored = {}
        return exchange_each(
            key,
            starts,
            plan,
            most,
            explored,
            engine=engine,
            learn=learn,
            sweeps=sweeps,
            watch=watch,
        )


def _needed_steps(starts: Exchange, plan: Plan, learn: tuple[str, ...]) -> int:
    """Steps an interval that the best start needs."""
    winner = int(np.argmin(np.asarray(starts.best.criterion)))
    best = host_entry(starts.best, winner)
    model = plan.build(best.unknowns, learn)
    change = doubling(model, plan.ys, best.trajectory)
    return next_size(change, int(substeps_of(model))) or SIZES[-1]


def _progress(
    stage: str, sweeps: Any, most: int, starts: Any, plan: Plan
) -> AdaptiveProgress:
    best = int(np.argmax(np.asarray(starts.log_likelihood)))
    parameters = np.asarray(starts.unknowns.parameters)[best]
    return AdaptiveProgress(
        stage=stage,
        sweeps=int(np.max(np.asarray(sweeps))),
        most=most,
        log_likelihood=float(np.asarray(starts.log_likelihood)[best]),
        n_nonzero=int(np.count_nonzero(parameters)),
        coefficients=np.asarray(plan.coefficients(jnp.asarray(parameters))),
    )
