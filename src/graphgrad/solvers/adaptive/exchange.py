"""From a first support to the best one: likelihood ascent and exchange of terms.

One loop. On a support, scoring steps ascend the likelihood of the data (`ascent`). At
the maximum, gradient and information over all active terms are a quadratic model of the
log-likelihood, on which terms are added, dropped and swapped at the penalty that the
criterion puts on each (`proposal`). The likelihood is ascended on the new support in
turn, which is kept if the criterion fell.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...engines.sweep import AbstractEngine
from ..trees import all_finite, where_each
from .ascent import (
    Point,
    ScoringStep,
    damped,
    damping_of,
    scoring_step,
    take_step,
)
from .candidate import Candidate, Exchange, begin_exchange, no_step, row_deviances
from .columns import scatter
from .plan import Plan
from .proposal import Maximum, propose
from .quadratic_model import FEW_COEFFICIENTS
from .subset import inverse_on

TOLERANCE = 0.01
"""Rise in log-likelihood that is too small to go on for."""

ROUGH = 0.02
"""The same for each equation of very many, before the last ascent on a support."""

ROUGH_SWEEPS = 4
"""Sweeps at whose rise an ascent that is not to end exactly may still go on."""

SHORTEST = 0.05
"""Shortest share of a scoring step that is tried."""


def exchange(
    key: PRNGKeyArray,
    state: Exchange,
    plan: Plan,
    *,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    sweeps: int,
    most_here: Int[Array, ""] | int = 12,
) -> Exchange:
    """Ascend and exchange until no change pays or `sweeps` are done, in one program.

    Args:
        key: Random key of the fit.
        state: Where to go on from.
        plan: What stays the same.
        engine: How the hidden trajectory is inferred.
        learn: What is learnt beside the coefficients.
        sweeps: Most sweeps in all.
        most_here: Most sweeps on one support; a stochastic engine makes all of them.
    """
    joint = plan.linear_map is not None or plan.base.size <= FEW_COEFFICIENTS

    def unfinished(state: Exchange) -> Bool[Array, ""]:
        return ~state.done & (state.sweeps < sweeps)

    def one(state: Exchange) -> Exchange:
        ascended, maximum = ascend(
            key, state, plan, most_here, engine, learn, joint=joint
        )
        # The search takes no steps where it is not needed.
        limit = jnp.where(maximum.reached, maximum.limit, 0)
        changed = change_terms(ascended, maximum._replace(limit=limit), plan)
        return where_each(maximum.reached, changed, ascended)

    return jax.lax.while_loop(unfinished, one, state)


def ascend(
    key: PRNGKeyArray,
    state: Exchange,
    plan: Plan,
    most_here: Int[Array, ""] | int,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    size: int | None = None,
    joint: bool = True,
    others: bool = True,
    rough: Bool[Array, ""] | None = None,
) -> tuple[Exchange, Maximum]:
    """One sweep, and the quadratic model there.

    Args:
        key: Random key of the fit.
        state: Where the loop stands.
        plan: What stays the same.
        most_here: Most sweeps on one support.
        engine: How the hidden trajectory is inferred.
        learn: What is learnt beside the coefficients.
        size: Terms of each equation in the quadratic model, at least those of the
            support: the fewer, the faster. None is as many as terms are exchanged with.
        joint: If not, equations are taken to be independent.
        others: Whether terms beside those of the support are looked at.
        rough: Whether a point near the maximum is enough. None: it is not.

    Returns:
        Where the loop stands then, and the quadratic model. Its `reached` says whether
        the terms are to be changed by it.
    """
    point = take_step(key, state, plan, engine, learn, size, joint, others)
    step = scoring_step(point, state, plan, engine, learn)
    tolerance, most_left = _patience(plan, most_here, rough)
    verdict = _accept(point, step, state, engine, most_here, tolerance)
    reached = _reached(point, step, verdict, plan)
    if not engine.stochastic:
        given_up = verdict.accepted & _hopeless(reached, state, most_here, most_left)
        verdict = verdict._replace(maximum=verdict.maximum | given_up)
    decision = _decide(reached, verdict, state)
    gain = _gain(state, engine, most_here)
    maximum = _maximum(point, state, plan, decision.change, step.metric, step.inverse)
    return _record(state, point, step, verdict, reached, decision, gain), maximum


def survey(
    key: PRNGKeyArray,
    state: Exchange,
    plan: Plan,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    size: int,
) -> Maximum:
    """The quadratic model of `ascend` in `size` terms of each equation by itself."""
    point = take_step(key, state, plan, engine, learn, size, joint=False)
    model = point.model
    metric = damped(model.information.coefficients, damping_of(state, engine))
    inside = model.support.reshape(model.active.shape)
    inverse = jax.vmap(inverse_on)(metric, inside)
    return _maximum(point, state, plan, jnp.array(True), metric, inverse)


def _maximum(
    point: Point,
    state: Exchange,
    plan: Plan,
    reached: Bool[Array, ""],
    metric: Float[Array, "*R k k"],
    inverse: Float[Array, "*R k k"],
) -> Maximum:
    """The quadratic model at a point; arguments as the attributes of `Maximum`."""
    model = point.model
    return Maximum(
        reached=reached,
        limit=state.limit,
        unknowns=point.unknowns,
        support=point.support,
        states=model.sweep.states(),
        active=model.active,
        gradient=model.gradient,
        metric=metric,
        inverse=inverse,
        penalties=plan.term_penalties(point.support),
        noise_information=model.information.noise,
    )


def change_terms(state: Exchange, maximum: Maximum, plan: Plan) -> Exchange:
    """Go on from the best support that the quadratic model promises."""
    proposed = propose(maximum, plan)
    return begin_exchange(proposed.unknowns, proposed.trajectory)._replace(
        at=proposed,
        best=state.best,
        sweeps=state.sweeps,
        done=jnp.all(proposed.support == maximum.support),
    )


class _Verdict(NamedTuple):
    """What is thought of a point.

    Attributes:
        accepted: Whether to go on from it.
        maximum: Whether the support's maximum is reached.
        stuck: Whether no step from the last point leads on.
        total: Log-likelihoods over the later half of a noisy ascent, summed.
        level: Log-likelihood of the support.
    """

    accepted: Bool[Array, ""]
    maximum: Bool[Array, ""]
    stuck: Bool[Array, ""]
    total: Float[Array, ""]
    level: Float[Array, ""]


def _patience(
    plan: Plan, most_here: Int[Array, ""] | int, rough: Bool[Array, ""] | None
) -> tuple[Array | float, Array | int]:
    """Rise that is too small to go on for, and sweeps that may be hoped for."""
    if rough is None:
        return TOLERANCE, most_here
    return (
        jnp.where(rough, ROUGH * len(plan.base), TOLERANCE),
        jnp.where(rough, ROUGH_SWEEPS, most_here),
    )


def _accept(
    point: Point,
    step: ScoringStep,
    state: Exchange,
    engine: AbstractEngine,
    most_here: Int[Array, ""] | int,
    tolerance: Array | float,
) -> _Verdict:
    """Whether to go on from a point, and whether it is the maximum on its support."""
    value, before = point.value, state.at.log_likelihood
    finite = all_finite(
        (value, step.parameters, point.model.sweep.path, step.decrement)
    )
    slack = jnp.inf if engine.stochastic else 0.05
    # The likelihood is that of the model made affine about the last trajectory. Where
    # even the shortest steps lose, the trajectory has moved: go on from what it gives.
    # A step that is too long drops terms that may have one sign alone.
    above = value >= before - slack
    shortest = state.share < SHORTEST
    accepted = finite & (above | shortest)
    last = state.sweeps_here + 1 >= most_here
    # A support on which the track is lost now and then is no candidate.
    counted = jnp.where(finite, value, -jnp.inf)
    later_half = 2 * state.sweeps_here >= most_here
    total = state.total + jnp.where(later_half, counted, 0)
    if engine.stochastic:
        maximum = last & finite
        level = total / (most_here - (most_here + 1) // 2)
    else:
        # The trajectory, too, has settled.
        settled = jnp.abs(value - before) < 10 * tolerance
        maximum = accepted & ((settled & (step.decrement < tolerance)) | last)
        level = value
    return _Verdict(accepted, maximum, ~accepted & (last | shortest), total, level)


def _reached(
    point: Point, step: ScoringStep, verdict: _Verdict, plan: Plan
) -> Candidate:
    """The candidate at a point."""
    penalties = plan.row_penalties(point.support)
    deviances = row_deviances(point.model.data.squares(), point.unknowns, plan)
    return Candidate(
        unknowns=point.unknowns,
        support=point.support,
        trajectory=point.model.sweep.path,
        log_likelihood=verdict.level,
        criterion=-2 * verdict.level + jnp.sum(penalties),
        row_criteria=deviances + penalties,
        decrement=step.decrement,
    )


def _hopeless(
    reached: Candidate,
    state: Exchange,
    most_here: Int[Array, ""] | int,
    most_left: Int[Array, ""] | int,
) -> Bool[Array, ""]:
    """Whether the sweeps that are left would not make a support better than the best.

    Not even if each, `most_left` at most, raised the log-likelihood by as much as this
    one did, or as the next step promises.
    """
    rise = reached.log_likelihood - state.at.log_likelihood
    left = jnp.clip(most_here - state.sweeps_here - 1, 0, most_left)
    hoped = 2 * left * jnp.maximum(rise, reached.decrement)
    return ~state.again & (reached.criterion - hoped > state.best.criterion)


class _Decision(NamedTuple):
    """What to do next.

    Attributes:
        best: The best candidate so far.
        change: Whether to change the support.
        retry: Whether to go back to the best candidate, and change it less.
        failed: Whether the ascent ended without a better candidate.
        changes: In how many terms the support differs from that of the best candidate
            before.
    """

    best: Candidate
    change: Bool[Array, ""]
    retry: Bool[Array, ""]
    failed: Bool[Array, ""]
    changes: Int[Array, ""]


def _decide(reached: Candidate, verdict: _Verdict, state: Exchange) -> _Decision:
    """Whether a support is kept, and whether the best is to be changed less at once."""
    ended = where_each(verdict.stuck, state.at, reached)
    over = verdict.maximum | verdict.stuck
    better = over & (ended.criterion < state.best.criterion - 1e-3)
    change = verdict.maximum & (better | state.again)
    failed = (verdict.maximum & ~change) | verdict.stuck
    # The quadratic model promised too much for so many changes at once.
    changes = jnp.sum(reached.support != state.best.support)
    return _Decision(
        best=where_each(better, ended, state.best),
        change=change,
        retry=failed & jnp.isfinite(state.best.criterion) & (changes > 2),
        failed=failed,
        changes=changes,
    )


def _gain(
    state: Exchange, engine: AbstractEngine, most_here: Int[Array, ""] | int
) -> Float[Array, ""] | float:
    """Share of the next step: Robbins and Monro's gain after a third of an ascent."""
    if not engine.stochastic:
        return 1.0
    return 1 / (1.0 + jnp.maximum(state.sweeps_here + 1 - most_here // 3, 0))


def _record(
    state: Exchange,
    point: Point,
    step: ScoringStep,
    verdict: _Verdict,
    reached: Candidate,
    decision: _Decision,
    gain: Float[Array, ""] | float,
) -> Exchange:
    """Where the loop stands now, unless the terms are changed."""
    accepted, retry = verdict.accepted, decision.retry
    ascending = reached._replace(log_likelihood=point.value)
    kept = where_each(accepted, ascending, state.at)
    columns, K = point.model.active, point.support.shape[1]
    on_active = step.parameters.reshape(columns.shape)
    next_step = scatter(on_active, columns, K), step.variances
    going_on = where_each(accepted, next_step, state.step)
    share = jnp.where(accepted, gain, state.share / 3)
    damping = jnp.where(accepted, step.damping, state.damping)
    fewer = jnp.maximum(decision.changes // 4, 1)
    return Exchange(
        at=where_each(retry, state.best, kept),
        step=where_each(retry, no_step(point.unknowns), going_on),
        share=jnp.where(retry, 1.0, share).astype(point.value.dtype),
        damping=jnp.where(retry, 0, damping),
        sweeps_here=jnp.where(retry, 0, state.sweeps_here + 1),
        total=jnp.where(retry, 0, verdict.total),
        limit=jnp.where(retry, fewer, state.limit),
        again=retry | state.again,
        best=decision.best,
        sweeps=state.sweeps + 1,
        done=decision.failed & ~retry,
    )
