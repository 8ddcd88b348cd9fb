"""The stages of the adaptive solver in their order."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PRNGKeyArray

from ...engines import AbstractEngine
from ...journal import Journal, begin_stage
from ...model import ConstraintSet, LinearGaussian, StateSpaceModel
from ...solution import Solution, Stage
from ..criterion import AbstractCriterion
from ..trees import host_entry
from .annealing import Annealing
from .candidate import Exchange
from .contest import best_of, contest
from .finish import finish
from .plan import Plan
from .process_noise import with_known_noise, without_noise
from .regressions import (
    MANY_STATES,
    from_smoothed,
    has_regressions,
    many_terms,
    smoothed_start,
    with_inferred,
)
from .rivals import Rival
from .runs import Explored, exchange_each
from .search_checks import needed_steps, progress_of, settled
from .settings import AdaptiveSteps
from .stages import (
    FEW_TERMS,
    anneal_starts,
    begin_again,
    begin_exchanges,
    better_starts,
    exchange_together,
    likely_starts,
    multipliers_of,
    random_starts,
    recombined_starts,
    with_better_start,
)
from .starts import begin_fit, begin_later, long_gaps
from .substeps import first_size, substeps_of, with_substeps
from .trail import Trail, with_record
from .unknowns import independent_noise
from .windows import MANY_ROWS, continued


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
        rivals: Whether supports near the best one are compared with it.
        journal: Has stages that were computed before the fit was stopped, if any.
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
    rivals: bool = True
    journal: Journal | None = None

    @property
    def traced(self) -> bool:
        """Whether a compilation is under way, which cannot look at numbers."""
        leaves = [jnp.zeros(()), *jax.tree.leaves((self.ys, self.multiplier))]
        return any(isinstance(leaf, Tracer) for leaf in leaves)

    @property
    def _exact(self) -> bool:
        """Whether the likelihood can be looked at, and is no noisy estimate."""
        return not self.traced and not self.engine.stochastic

    def solution(
        self, model: StateSpaceModel, reason: str, found: Solution | None = None
    ) -> Solution:
        """Find terms, coefficients and noises.

        Args:
            model: What is known.
            reason: The engine and why it was chosen, in words.
            found: What a fit of fewer rows found, to go on from.
        """
        ys, learn, gaps = self.ys, self.learn, self.settings.long_gaps
        if not self.traced:
            gaps = bool(np.any(np.asarray(long_gaps(jnp.asarray(ys), model))))
        penalty, trail = (self.criterion, self.multiplier), Trail()
        known = ys, model, *penalty, self.constraints, learn, gaps
        if found is None:
            exchanged, plan = self._first(*begin_fit(*known), trail)
        else:
            exchanged, plan = self._later(begin_later(*known), found, trail)
        ends: list[Rival] = []
        if "state_noise" not in learn:
            plan = plan._replace(free_noise=jax.device_put(np.array(False)))
            exchanged = with_known_noise(exchanged, plan)
            if independent_noise(model):
                learn = self._free
            few = self.settings.climb
            fit = partial(self._exchange, plan=plan, learn=learn, most=few)
            exchanged = fit(exchanged)
            trail.add(Stage.known_noise, exchanged.best.support)
            if self._exact and many_terms(plan):
                rounds = self.settings.rounds
                exchanged, _ = with_inferred(exchanged, plan, fit, trail, rounds)
            if self._hidden_and_few(model):
                drawn = likely_starts(self.key, exchanged, plan, engine=self.engine)
                drawn = fit(drawn)
                trail.add(Stage.random_start, drawn.best.support)
                exchanged = better_starts(drawn, exchanged)
        elif model.dynamics == "flow":
            # What is taken for noise may be a term that is missing, which shows once
            # the noise cannot explain it.
            fit = partial(self._exchange, learn=learn, most=4 * self.settings.climb)
            exchanged, plan, ends = without_noise(
                exchanged, plan, fit, found=found, traced=self.traced
            )
            trail.add(Stage.less_noise, exchanged.best.support)
        combined = exchanged
        if len(ys) <= MANY_ROWS or not settled(exchanged):
            # The last ascent may take its time: distributions that are not Gaussian,
            # and noises that the data hardly tell, need it.
            combined = recombined_starts(exchanged)
            combined = self._exchange(combined, plan, learn, 4 * self.settings.climb)
            trail.add(Stage.recombination, combined.best.support)
        near = certified = None
        if self.rivals and self._exact and best_of(exchanged, combined).done:
            combined, near, certified = contest(
                self._key,
                exchanged,
                combined,
                plan,
                partial(self._exchange, plan=plan, learn=learn),
                engine=self.engine,
                learn=learn,
                settings=self.settings,
                elsewhere=ends,
                journal=self.journal,
            )
            trail.add(Stage.alternative, combined.best.support)
        solution = finish(
            self.key,
            exchanged,
            combined,
            plan,
            near,
            engine=self.engine,
            learn=self.learn,
            settings=self.settings,
            reason=reason,
            traced=self.traced,
        )
        if self.traced:
            return solution
        if certified is None:
            certified = np.zeros(len(plan.free), bool)
        best = np.asarray(best_of(exchanged, combined).best.support)
        return with_record(solution, *trail.first(best), certified)

    def _sees_all(self, model: StateSpaceModel) -> bool:
        """Whether all states are observed, now or as others a step before."""
        seen = model.observation
        own = int(np.sum(np.asarray(self.constraints.sources) < 0))
        delayed = (
            isinstance(seen, LinearGaussian)
            and seen.matrix is not None
            and own < model.n_states
            and len(seen.matrix) == own
        )
        return model.sees_all_states or delayed

    @property
    def _free(self) -> tuple[str, ...]:
        """What is learnt while the process noise is free, above what is known of it.

        Terms are first exchanged like this: a wrong model with little noise loses the
        data, and cannot be improved. With the noise known and independent the same
        program holds it fixed.
        """
        return tuple(dict.fromkeys((*self.learn, "state_noise")))

    def _hidden_and_few(self, model: StateSpaceModel) -> bool:
        """Whether random starts are tried: states are hidden, and few terms free."""
        few = bool(np.sum(self.constraints.free) <= FEW_TERMS)
        return few and not model.sees_all_states

    def _first(
        self, plan: Plan, beginning: Annealing, trail: Trail
    ) -> tuple[Exchange, Plan]:
        """Terms from the data alone: anneal, exchange, and again."""
        key, settings, model = self.key, self.settings, plan.model
        if model.dynamics == "flow" and not self.traced:
            first = host_entry(beginning.unknowns, 0)
            size = first_size(plan.build(first, ()), plan.trajectory)
            size = max(size, int(substeps_of(model)))
            plan = plan._replace(model=with_substeps(plan.model, size))
        seen = self._sees_all(model)

        def round_of(number: int, starts: Annealing) -> Exchange:
            stages = Stage.annealing, Stage.exchange
            if number > 0:
                stages = Stage.recombination, Stage.recombination
            starts = self._anneal(jax.random.fold_in(key, number), starts, plan)
            ready = begin_exchanges(starts.unknowns, starts.trajectory)
            trail.add(stages[0], ready.at.support)
            ends = self._exchange(ready, plan, self._free, settings.climb, explored)
            trail.add(stages[1], ends.best.support)
            return ends

        def fit(starts: Exchange) -> Exchange:
            return self._exchange(starts, plan, self._free, settings.climb, explored)

        def longer_steps(starts: Exchange) -> bool:
            """Whether terms were looked for with steps that are too long."""
            nonlocal plan, explored
            if model.dynamics != "flow" or self.traced:
                return False
            needed = needed_steps(starts, plan, self._free)
            if needed <= int(substeps_of(plan.model)):
                return False
            plan = plan._replace(model=with_substeps(plan.model, needed))
            explored = {} if seen else None
            return True

        explored: Explored | None = {} if seen else None
        regressed = None
        if self._exact and many_terms(plan):
            regressed, done = from_smoothed(plan, fit, trail, settings.rounds)
            if longer_steps(regressed):
                regressed, done = from_smoothed(plan, fit, trail, settings.rounds)
            # Where it was tried with so many terms, annealing led no further.
            enough = plan.few_starts and np.isfinite(best_of(regressed).best.criterion)
            if done or enough:
                return regressed, plan
        exchanged = round_of(0, beginning)
        if longer_steps(exchanged):
            exchanged = round_of(0, beginning)
            if regressed is not None:
                regressed, _ = from_smoothed(plan, fit, trail, settings.rounds)
        if regressed is None and self._exact and has_regressions(plan):
            regressed = smoothed_start(plan, fit, trail)
        if regressed is not None:
            exchanged = with_better_start(exchanged, regressed)
        for number in range(1, settings.rounds):
            again = round_of(number, begin_again(beginning, exchanged))
            exchanged = better_starts(again, exchanged)
        if self._hidden_and_few(model):
            for number in range(settings.rounds):
                random_key = jax.random.fold_in(key, settings.rounds + number)
                drawn = random_starts(random_key, beginning, plan)
                again = self._exchange(drawn, plan, self._free, settings.climb)
                trail.add(Stage.random_start, again.best.support)
                exchanged = better_starts(again, exchanged)
        if regressed is not None:
            exchanged, _ = with_inferred(exchanged, plan, fit, trail, settings.rounds)
        return exchanged, plan

    def _later(
        self, plan: Plan, found: Solution, trail: Trail
    ) -> tuple[Exchange, Plan]:
        """Terms from where a fit of fewer rows ended."""
        start = continued(self.key, found, plan, self.engine, self._free)
        if plan.model.dynamics == "flow":
            needed = needed_steps(start, plan, self._free)
            if needed > int(substeps_of(plan.model)):
                plan = plan._replace(model=with_substeps(plan.model, needed))
        trail.add(Stage.earlier_fit, start.at.support)
        if "state_noise" not in self.learn:
            return start, plan
        ends = self._exchange(start, plan, self._free, self.settings.climb)
        trail.add(Stage.exchange, ends.best.support)
        return ends, plan

    @property
    def _slice(self) -> int:
        """Sweeps in one call: all of a stage, unless somebody watches."""
        if self.callback is not None:
            return 10
        return self.settings.anneal + self.settings.sweeps

    def _anneal(self, key: PRNGKeyArray, starts: Annealing, plan: Plan) -> Annealing:
        multipliers = multipliers_of(starts)
        if self.traced or plan.model.n_states < MANY_STATES:
            return self._anneal_together(key, starts, multipliers, plan)
        # One after the other: there is nothing to be won by a batch.
        ends = [
            self._anneal_together(
                key,
                jax.tree.map(lambda leaf: leaf[i : i + 1], starts),  # noqa: B023
                multipliers[i : i + 1],
                plan,
            )
            for i in range(len(multipliers))
        ]
        return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *ends)

    def _anneal_together(
        self, key: PRNGKeyArray, starts: Annealing, multipliers: Any, plan: Plan
    ) -> Annealing:
        most, slice_ = self.settings.anneal, self._slice
        inputs = key, starts, multipliers, plan
        stage = begin_stage(self.journal, "anneal", inputs, starts)
        starts = stage.state
        # Calls up to where it was stopped change nothing.
        for until in () if stage.over else range(slice_, most + slice_, slice_):
            starts = anneal_starts(
                key,
                starts,
                multipliers,
                plan,
                np.int32(until),
                engine=self.engine,
                learn=self.learn,
                settings=self.settings,
            )
            stage.reached(starts)
            if self.callback is not None:
                done = int(np.max(np.asarray(starts.step)))
                if done > 0:  # none where all starts agree
                    self.callback(
                        progress_of("anneal", starts.step, most, starts, plan)
                    )
                if done < until:
                    break
        stage.ended(starts)
        return starts

    @property
    def _key(self) -> PRNGKeyArray:
        """Random key of the exchange of terms."""
        return jax.random.fold_in(self.key, self.settings.anneal)

    def _exchange(
        self,
        starts: Exchange,
        plan: Plan,
        learn: tuple[str, ...],
        most: int,
        explored: Explored | None = None,
    ) -> Exchange:
        key, sweeps, engine = self._key, self.settings.sweeps, self.engine
        if self.traced:
            return exchange_together(
                key, starts, plan, most, engine=engine, learn=learn, sweeps=sweeps
            )

        def watch(state: Exchange) -> None:
            if self.callback is not None:
                every = jax.tree.map(lambda leaf: np.asarray(leaf)[None], state.best)
                self.callback(progress_of("refine", state.sweeps, sweeps, every, plan))

        if explored is None and self._sees_all(plan.model):
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
            journal=self.journal,
        )
