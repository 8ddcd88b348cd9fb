"""From a first support to the best one: likelihood ascent and exchange of terms.

One loop. On a support, scoring steps climb the likelihood of the data: the gradient is
Fisher's identity on the sweep's completed data, the metric is the information of the
innovations, and a handful of steps suffices. At the top, gradient and information over
all active terms are a quadratic model of the log-likelihood, on which terms are added,
dropped and exchanged at the price that the criterion puts on each. The new support is
climbed in turn, and kept if the criterion fell.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...engines.sweep import AbstractEngine
from ..trees import all_finite, where_each
from .columns import gather, scatter
from .plan import Plan
from .quadratic_model import look
from .statistics import Completed
from .subset import best_subset, inverse_on, price_path
from .unknowns import Unknowns, learn_initial
from .variances import NOISE_PRIOR, free_variances, noise_prior

TOLERANCE = 0.01
"""Rise in log-likelihood that is too small to climb on for."""

SHORTEST = 0.05
"""Shortest share of a scoring step that is tried."""

MOST_CHANGES = 100
"""Changes of the support that may be made at once."""

MOST_TERMS = 160
"""Terms of a support that is built from nothing."""


class Candidate(NamedTuple):
    """A support that was climbed, and how it does.

    Attributes:
        unknowns: Coefficients and noises at the top.
        support: The parameters that are not zero: the terms, if none are tied.
        path: Path of the last sweep.
        log_likelihood: At the top.
        criterion: Extended BIC, lower is better.
        costs: The same for each row of parameters, as if the completed data were data.
        decrement: Rise in log-likelihood that another step promises.
    """

    unknowns: Unknowns
    support: Bool[Array, "R K"]
    path: Float[Array, "T_plus_1 Nx"]
    log_likelihood: Float[Array, ""]
    criterion: Float[Array, ""]
    costs: Float[Array, "R"]
    decrement: Float[Array, ""]


class Refinement(NamedTuple):
    """Where the loop stands.

    Attributes:
        at: The candidate being climbed, at the last point that was accepted.
        move: The step to take from there: parameters and logarithms of variances.
        size: Share of the step to take.
        damping: Levenberg and Marquardt's, of the step.
        climb: Number of sweeps on this support.
        total: Log-likelihoods over the later half of a noisy climb, summed.
        limit: Most changes of the support to make at once.
        back: Whether this is the best candidate again, to change it less.
        best: The best candidate so far.
        sweeps: Number of sweeps in all.
        done: Whether no change of the support pays.
    """

    at: Candidate
    move: tuple[Float[Array, "R K"], Float[Array, "m"]]
    size: Float[Array, ""]
    damping: Float[Array, ""]
    climb: Int[Array, ""]
    total: Float[Array, ""]
    limit: Int[Array, ""]
    back: Bool[Array, ""]
    best: Candidate
    sweeps: Int[Array, ""]
    done: Bool[Array, ""]


def begin_refinement(
    unknowns: Unknowns, path: Float[Array, "T_plus_1 Nx"], plan: Plan
) -> Refinement:
    """Ready to climb from a first support."""
    low = jnp.asarray(-jnp.inf, path.dtype)
    at = Candidate(
        unknowns=unknowns,
        support=unknowns.parameters != 0,
        path=path,
        log_likelihood=low,
        criterion=-low,
        costs=jnp.full(len(plan.open), jnp.inf, path.dtype),
        decrement=-low,
    )
    zero = jnp.zeros((), int)
    return Refinement(
        at=at,
        move=_no_move(unknowns),
        size=jnp.ones((), path.dtype),
        damping=jnp.zeros((), path.dtype),
        climb=zero,
        total=jnp.zeros((), path.dtype),
        limit=jnp.full((), MOST_CHANGES, int),
        back=jnp.array(False),
        best=at,
        sweeps=zero,
        done=jnp.array(False),
    )


def refine(
    key: PRNGKeyArray,
    state: Refinement,
    plan: Plan,
    *,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    sweeps: int,
    until: Int[Array, ""] | int,
    climb: Int[Array, ""] | int = 12,
) -> Refinement:
    """Climb and exchange until no change pays, `sweeps` are done, or `until` are.

    Args:
        key: Random key of the fit.
        state: Where to go on from.
        plan: What stays the same.
        engine: How the hidden path is inferred.
        learn: What is learnt beside the coefficients.
        sweeps: Most sweeps in all.
        until: Number of sweeps to stop at, to go on later.
        climb: Most sweeps on one support; a stochastic engine makes all of them.
    """

    def unfinished(state: Refinement) -> Bool[Array, ""]:
        return ~state.done & (state.sweeps < jnp.minimum(sweeps, until))

    def step(state: Refinement) -> Refinement:
        return _step(key, state, plan, engine, learn, climb)

    return jax.lax.while_loop(unfinished, step, state)


def _step(
    key: PRNGKeyArray,
    state: Refinement,
    plan: Plan,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    climb: Int[Array, ""] | int,
) -> Refinement:
    at, price = state.at, plan.term_penalties
    K = plan.open.shape[1]
    unknowns = _moved(at.unknowns, state.move, state.size, learn, plan.floor)
    inside = jnp.clip(unknowns.parameters, plan.low, plan.high)
    # A term that would have the wrong sign is none.
    wrong = (inside == 0) & (unknowns.parameters != 0)
    unknowns = unknowns._replace(parameters=inside)
    terms = at.support & ~wrong
    model = plan.build(unknowns, learn)
    # One key for all sweeps on a support and all supports: common random numbers.
    # Fresh ones within a climb, over which a noisy engine is averaged.
    noises = tuple(name for name in learn if name.endswith("_noise"))
    sweep, data, active, support, gradient, slope, known = look(
        jax.random.fold_in(key, state.climb),
        model,
        terms,
        at.path,
        plan,
        engine,
        noise=noises,
    )
    if "initial" in learn:
        unknowns = learn_initial(sweep, unknowns)
    # A noise that hardly hides the states makes steps too long along what the data
    # hardly tell: damped once one was too long, less once one was not.
    long = (state.size < 1) & (not engine.stochastic)
    damping = jnp.where(long, jnp.maximum(10 * state.damping, 1e-4), state.damping / 10)
    damping = jnp.where(damping < 1e-6, 0, jnp.minimum(damping, 100))
    damping = damping.astype(gradient.dtype)
    # Coefficients and noises in one block matrix: one factorisation.
    n, m = len(support), len(state.move[1])
    metric = known.coefficients + damping * jnp.diag(jnp.diag(known.coefficients))
    matrix = jnp.zeros((n + m, n + m), gradient.dtype).at[:n, :n].set(metric)
    slope = slope + NOISE_PRIOR if noises else jnp.zeros_like(slope)
    if known.noise is not None:
        # The information on a small variance vanishes with it: damped, or steps
        # overshoot.
        diagonal = 1 + 100 * damping * jnp.diag(known.noise)
        matrix = matrix.at[n:, n:].set(known.noise + jnp.diag(diagonal))
    here = gather(inside, active).ravel()
    low, high = (gather(end, active).ravel() for end in (plan.low, plan.high))
    # An end other than zero holds what is pushed outward.
    held = ((here <= low) & (gradient < 0)) | ((here >= high) & (gradient > 0))
    free = jnp.concatenate(
        [support & ~(held & (here != 0)), free_variances(unknowns, learn, plan)]
    )
    inverse = inverse_on(matrix, free)
    rise = inverse[:n, :n] @ gradient
    noise_move = jnp.clip(inverse[n:, n:] @ slope, -1, 1)
    # The expected information may be less than the curvature: a variance that was
    # passed by is come back to by half, or it would be passed by for ever.
    back = noise_move * state.move[1] < 0
    noise_move = jnp.where(back, noise_move / 2, noise_move)
    lowest = jnp.pad(unknowns.state_noise <= plan.floor, (0, m - len(plan.floor)))
    noise_move = jnp.where(lowest, jnp.maximum(noise_move, 0), noise_move)
    decrement = gradient @ rise + slope @ noise_move
    value = sweep.log_likelihood
    value += noise_prior(unknowns, learn, plan)
    finite = all_finite((value, rise, sweep.path, decrement))
    slack = jnp.inf if engine.stochastic else 0.05
    # The likelihood is that of the map made affine about the last path. Where even the
    # shortest steps lose, the path has moved: go on from what it gives now.
    above = (value >= at.log_likelihood - slack) | jnp.any(wrong)
    accepted = finite & (above | (state.size < SHORTEST))
    last = state.climb + 1 >= climb
    # A support on which the track is lost now and then is no candidate.
    held = jnp.where(finite, value, -jnp.inf)
    total = state.total + jnp.where(2 * state.climb >= climb, held, 0)
    if engine.stochastic:
        top = last & finite
        level = total / (climb - (climb + 1) // 2)
    else:
        # The path, too, has settled.
        settled = jnp.abs(value - at.log_likelihood) < 10 * TOLERANCE
        top = accepted & ((settled & (decrement < TOLERANCE)) | last)
        level = value
    stuck = ~accepted & (last | (state.size < SHORTEST))
    paid = jnp.where(terms, price, 0)
    reached = Candidate(
        unknowns=unknowns,
        support=terms,
        path=sweep.path,
        log_likelihood=level,
        criterion=-2 * level + jnp.sum(paid),
        costs=_costs(data, unknowns, plan) + jnp.sum(paid, axis=1),
        decrement=decrement,
    )
    ended = where_each(stuck, at, reached)
    better = (top | stuck) & (ended.criterion < state.best.criterion - 1e-3)
    best = where_each(better, ended, state.best)
    fresh = top & (better | state.back)
    limit = jnp.where(fresh, state.limit, 0)
    quadratic = metric, gradient + metric @ here
    signs = one_sign(low, high)
    price = gather(price, active).ravel()
    found = best_subset(*quadratic, support, inverse[:n, :n], price, limit, signs)
    # From nothing, too: a support with too many terms can be hard to leave.
    limit = jnp.where(limit < MOST_CHANGES, 0, limit)
    prices = price * jnp.array([8.0, 4.0, 2.0, 1.0])[:, None]
    other = price_path(*quadratic, prices, limit, signs, most=MOST_TERMS)
    other = jax.tree.map(lambda leaf: leaf[-1], other)
    found = where_each((limit > 0) & (other.cost < found.cost - 1e-3), other, found)
    next_support = scatter(found.support.reshape(active.shape), active, K)
    amounts = scatter(found.coefficients.reshape(active.shape), active, K)
    proposed = Candidate(
        unknowns=unknowns._replace(parameters=jnp.clip(amounts, plan.low, plan.high)),
        support=next_support,
        path=sweep.path,
        log_likelihood=jnp.full_like(value, -jnp.inf),
        criterion=jnp.full_like(value, jnp.inf),
        costs=jnp.full_like(at.costs, jnp.inf),
        decrement=jnp.full_like(value, jnp.inf),
    )
    failed = (top & ~fresh) | stuck
    # The quadratic model promised too much for so many changes at once.
    changes = jnp.sum(terms != state.best.support)
    again = failed & jnp.isfinite(state.best.criterion) & (changes > 2)
    unchanged = jnp.all(next_support == terms)
    done = (fresh & unchanged) | (failed & ~again)
    climbing = where_each(accepted, reached._replace(log_likelihood=value), at)
    climbing = where_each(again, state.best, climbing)
    limit = jnp.where(fresh, MOST_CHANGES, state.limit)
    limit = jnp.where(again, jnp.maximum(changes // 4, 1), limit)
    restart = fresh | again
    # Robbins and Monro's gain, once the climb is half over.
    gain = 1.0
    if engine.stochastic:
        gain = 1 / (1.0 + jnp.maximum(state.climb + 1 - climb // 3, 0))
    size = jnp.where(accepted, gain, state.size / 3)
    move = (scatter(rise.reshape(active.shape), active, K), noise_move)
    move = where_each(accepted, move, state.move)
    return Refinement(
        at=where_each(fresh, proposed, climbing),
        move=where_each(restart, _no_move(unknowns), move),
        size=jnp.where(restart, 1.0, size).astype(value.dtype),
        damping=jnp.where(restart, 0, jnp.where(accepted, damping, state.damping)),
        climb=jnp.where(restart, 0, state.climb + 1),
        total=jnp.where(restart, 0, total),
        limit=limit,
        back=jnp.where(restart, again, state.back),
        best=best,
        sweeps=state.sweeps + 1,
        done=done,
    )


def _costs(data: Completed, unknowns: Unknowns, plan: Plan) -> Float[Array, "R"]:
    """-2 log-likelihood of the completed data, for each equation or all together."""
    noise = unknowns.state_noise
    costs = data.squares() / noise + plan.moves * jnp.log(noise)
    return costs if plan.ties is None else jnp.sum(costs, keepdims=True)


def one_sign(low: Float[Array, "n"], high: Float[Array, "n"]) -> Float[Array, "n"]:
    """1 or -1 where a parameter may have this sign only, else 0."""
    return (low >= 0).astype(low.dtype) - (high <= 0)


def crossed(starts: Refinement, plan: Plan) -> Refinement:
    """New starts: each equation from the start that explains it best.

    Equations are nearly independent given the path, so that several starts that each
    have some of them wrong can have all of them right together. The first takes from
    all; each other one leaves one out.
    """
    best = starts.best
    number, rows = best.costs.shape
    states = best.unknowns.state_noise.shape[1]
    winner, every = jnp.argmin(best.criterion), jnp.arange(rows)

    def mix(left_out: Array) -> Refinement:
        allowed = (jnp.arange(number) != left_out) | (left_out == 0)
        chosen = jnp.argmin(jnp.where(allowed[:, None], best.costs, jnp.inf), axis=0)
        each = jnp.broadcast_to(chosen, (states,))
        unknowns = jax.tree.map(lambda leaf: leaf[winner], best.unknowns)
        unknowns = unknowns._replace(
            parameters=best.unknowns.parameters[chosen, every],
            state_noise=best.unknowns.state_noise[each, jnp.arange(states)],
        )
        return begin_refinement(unknowns, best.path[winner], plan)

    return jax.vmap(mix)(jnp.arange(number))


def _moved(
    unknowns: Unknowns,
    move: tuple[Array, Array],
    size: Array,
    learn: tuple[str, ...],
    floor: Array,
) -> Unknowns:
    """Unknowns after a share of a step; variances move on a logarithmic scale."""
    Nx = len(unknowns.state_noise)
    factor = jnp.exp(size * move[1])
    unknowns = unknowns._replace(parameters=unknowns.parameters + size * move[0])
    if "state_noise" in learn:
        q = jnp.maximum(unknowns.state_noise * factor[:Nx], floor)
        unknowns = unknowns._replace(state_noise=q)
    if "observation_noise" in learn:
        r = unknowns.observation_noise * factor[Nx:]
        unknowns = unknowns._replace(observation_noise=r)
    return unknowns


def _no_move(unknowns: Unknowns) -> tuple[Array, Array]:
    noises = jnp.concatenate([unknowns.state_noise, unknowns.observation_noise])
    return jnp.zeros_like(unknowns.parameters), jnp.zeros_like(noises)
