"""Exchange of terms from several starts, one after the other.

The loop is driven from here: a start that is done costs nothing more, terms are looked
for only at a maximum, and a start that comes to a support from which another one went
on ends where that one did.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ...compiling import compiled
from ...engines.information import MOST_STATES
from ...engines.sweep import AbstractEngine
from ...journal import Journal, begin_stage
from .candidate import MOST_CHANGES, Exchange
from .exchange import ascend, change_terms, survey
from .plan import Plan
from .proposal import Maximum
from .quadratic_model import FEW_COEFFICIENTS, MOST_COEFFICIENTS, active_terms
from .rivals import Rival

Explored = dict[bytes, Exchange]
"""Where the ascents on supports led, by the support."""


@compiled
def ascend_once(
    key: PRNGKeyArray,
    state: Exchange,
    plan: Plan,
    most_here: Any,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    size: int | None,
    joint: bool,
    others: bool,
    rough: Any,
) -> tuple[Exchange, Maximum]:
    """One sweep and the quadratic model there, compiled."""
    return ascend(
        key, state, plan, most_here, engine, learn, size, joint, others, rough
    )


class _Place(NamedTuple):
    """Where the exchange of terms from one start is.

    Attributes:
        at: The point.
        rough: Whether points near maxima are enough.
        surveyed: Whether a quadratic model in many terms is known.
        source: From where a sweep leads to it.
        passed: Supports so far.
    """

    at: Exchange
    rough: Any
    surveyed: Any
    source: Exchange
    passed: Any


survey_once = compiled(survey)
"""The quadratic model in many terms, equation by equation, compiled."""


@compiled
def exchange_terms(state: Exchange, maximum: Maximum, plan: Plan) -> Exchange:
    """Go on from the best support that the quadratic model promises, compiled."""
    return change_terms(state, maximum, plan)


def exchange_each(
    key: PRNGKeyArray,
    starts: Exchange,
    plan: Plan,
    most_here: int,
    explored: Explored | None,
    *,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    sweeps: int,
    watch: Callable[[Exchange], None],
    journal: Journal | None = None,
) -> Exchange:
    """Ascend and exchange from each start until no change pays, or `sweeps` are done.

    Args:
        key: Random key of the fit.
        starts: Where to go on from, stacked.
        plan: What stays the same.
        most_here: Most sweeps on one support.
        explored: Where earlier ascents led, with the same plan and settings; extended.
            None if where an ascent leads depends on more than its support.
        engine: How the hidden trajectory is inferred.
        learn: What is learnt beside the coefficients.
        sweeps: Most sweeps of a start.
        watch: Called with each start now and then.
        journal: Has stages that were computed before the fit was stopped, if any.
    """
    joint, may_be_rough = _joint(plan), _may_be_rough(plan, engine)

    def ascended_once(state: Exchange, rough: bool) -> tuple[Exchange, Maximum]:
        """A sweep; at a maximum, the quadratic model with which terms are exchanged."""
        size = fewest_terms(state, plan)
        others = size is None
        patience = np.array(rough) if may_be_rough else None
        before, most = state, np.int32(most_here)
        state, maximum = ascend_once(
            key, state, plan, most, engine, learn, size, joint, others, patience
        )
        if maximum.reached and size is not None:
            # Terms are exchanged with more of them.
            size = max(size, active_terms(*plan.base.shape, joint=False))
            maximum = survey_once(key, before, plan, engine, learn, size)
        return state, maximum

    def finished(state: Exchange) -> Exchange:
        sweeps_before, shape = int(state.sweeps), np.shape(state.at.support)

        def stacked(supports: list[np.ndarray]) -> np.ndarray:
            return np.reshape(supports, (-1, *shape)).astype(bool)

        rough, none = np.array(may_be_rough), np.array(False)
        start = _Place(state, rough, none, state, stacked([]))
        inputs = key, state, plan, most_here, sweeps, learn
        stage = begin_stage(journal, "exchange", inputs, start, most_rows=sweeps)
        state, source = stage.state.at, stage.state.source
        rough, passed = bool(stage.state.rough), list(np.asarray(stage.state.passed))
        again = bool(stage.state.surveyed) and not stage.over
        surveyed = ascended_once(source, True)[1] if again else None
        while not stage.over and not state.done and int(state.sweeps) < sweeps:
            support = np.asarray(state.at.support)
            if explored is not None and not state.sweeps_here and not state.again:
                if support.tobytes() in explored:
                    state = _joined(state, explored[support.tobytes()])
                    break
                passed.append(support)
            before = state
            state, maximum = ascended_once(state, rough)
            if may_be_rough and maximum.reached:
                surveyed, source = maximum, before
            elif surveyed is not None and state.again and not state.sweeps_here:
                # Back at the best support: what is known there need not be asked again.
                maximum = surveyed._replace(limit=state.limit)
            if maximum.reached:
                changed = exchange_terms(state, maximum, plan)
                # Where no other terms are better the last ascent is an exact one.
                exact = rough and bool(changed.done)
                state = state._replace(again=np.array(True)) if exact else changed
                rough = may_be_rough and not exact
            known = np.array(surveyed is not None)
            place = _Place(state, np.array(rough), known, source, stacked(passed))
            stage.reached(place)
            if int(state.sweeps) % 10 == 0:
                watch(state)
        if int(state.sweeps) > sweeps_before:
            watch(state)
        state = jax.tree.map(np.asarray, state)
        stage.ended(start._replace(at=state, passed=stacked(passed)))
        if explored is not None and np.isfinite(state.best.criterion):
            explored.update((support.tobytes(), state) for support in passed)
        return state

    each = jax.tree.map(np.asarray, starts)
    ends = [
        finished(jax.tree.map(lambda leaf: leaf[i], each))  # noqa: B023
        for i in range(len(each.done))
    ]
    # `jnp.asarray` would compile a program for each shape.
    return jax.device_put(jax.tree.map(lambda *leaves: np.stack(leaves), *ends))


def ascended(
    key: PRNGKeyArray,
    best: Exchange,
    rival: Rival,
    plan: Plan,
    most_here: int,
    *,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    journal: Journal | None = None,
) -> Exchange:
    """The maximum of the likelihood on the support of a rival.

    Args:
        key: Random key of the fit.
        best: Where the best start ended, of arrays that can be looked at.
        rival: The support.
        plan: What stays the same.
        most_here: Most sweeps.
        engine: How the hidden trajectory is inferred.
        learn: What is learnt beside the coefficients.
        journal: Has stages that were computed before the fit was stopped, if any.
    """
    state = _afresh(best, rival.support, rival.parameters)
    joint = _joint(plan)
    stage = begin_stage(journal, "rival", (key, state, plan, most_here, learn), state)
    state = stage.state
    rough = np.array(False) if _may_be_rough(plan, engine) else None
    while not stage.over:
        size = fewest_terms(state, plan)
        others, most = size is None, np.int32(most_here)
        state, maximum = ascend_once(
            key, state, plan, most, engine, learn, size, joint, others, rough
        )
        if maximum.reached or state.done:
            break
        stage.reached(state)
    state = jax.tree.map(np.asarray, state)
    stage.ended(state)
    return state


def maximum_at(
    key: PRNGKeyArray,
    best: Exchange,
    plan: Plan,
    most_here: int,
    engine: AbstractEngine,
    learn: tuple[str, ...],
) -> Maximum:
    """The quadratic model where the best start ended."""
    found = best.best
    state = _afresh(best, found.support, found.unknowns.parameters)
    size = final_terms(state, plan)
    # The program of the last stage.
    most = np.int32(most_here)
    return ascend_once(key, state, plan, most, engine, learn, size, True, True, None)[1]


def _may_be_rough(plan: Plan, engine: AbstractEngine) -> bool:
    """Whether ascents end near the maximum where terms will change."""
    return plan.very_many and not engine.stochastic


def _joint(plan: Plan) -> bool:
    """Whether equations are ascended with the information on all of them together."""
    return plan.linear_map is not None or plan.model.n_states <= MOST_STATES


def _afresh(best: Exchange, support: Any, parameters: Any) -> Exchange:
    """Ready to ascend on a support, from where the best start ended."""
    found = best.best
    dtype = np.asarray(parameters).dtype
    infinite = np.asarray(np.inf, dtype)
    first = found._replace(
        unknowns=found.unknowns._replace(parameters=parameters),
        support=support,
        log_likelihood=-infinite,
        criterion=infinite,
        row_criteria=np.full_like(found.row_criteria, np.inf),
        decrement=infinite,
    )
    return best._replace(
        at=first,
        best=first,
        step=jax.tree.map(np.zeros_like, best.step),
        share=np.ones_like(best.share),
        damping=np.zeros_like(best.damping),
        sweeps_here=np.zeros_like(best.sweeps_here),
        total=np.zeros_like(best.total),
        limit=np.full_like(best.limit, MOST_CHANGES),
        again=np.array(False),
        sweeps=np.zeros_like(best.sweeps),
        done=np.array(False),
    )


def fewest_terms(state: Exchange, plan: Plan) -> int | None:
    """Terms of an equation that an ascent needs, in powers of two; None for all."""
    Nx, M = plan.base.shape
    if plan.linear_map is not None or Nx * M <= FEW_COEFFICIENTS:
        return None
    most = int(np.max(np.sum(np.asarray(state.at.support), axis=1)))
    return min(M, max(8, 1 << max(most - 1, 0).bit_length()))


def final_terms(state: Exchange, plan: Plan) -> int | None:
    """Terms of an equation in the last check: those that others could stand in for."""
    size, (Nx, M) = fewest_terms(state, plan), plan.base.shape
    return None if size is None else max(size, min(M, max(8, MOST_COEFFICIENTS // Nx)))


def _joined(state: Exchange, other: Exchange) -> Exchange:
    """A start that goes on as another one did."""
    mine, others = float(state.best.criterion), float(other.best.criterion)
    better = state.best if mine < others else other.best
    return other._replace(best=better, sweeps=state.sweeps)
