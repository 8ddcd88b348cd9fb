"""The stages of the adaptive solver, each compiled once and run for all starts."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...compiling import compiled, compiled_once
from ...engines.sweep import AbstractEngine
from ..trees import where_each
from .annealing import MOST_UNCHANGED, Annealing, anneal
from .annealing_start import hidden_states
from .candidate import Exchange, begin_exchange, recombined
from .exchange import exchange
from .plan import Plan
from .unknowns import Unknowns, model_unknowns

MULTIPLIERS = (0.5, 2.0, 8.0, 16.0)
"""Multiples of the penalty while annealing: one start for each."""

FEW_TERMS = 16
"""Terms of which random starts may have all."""

LIKELY = 512
"""Random starts of which the likeliest are taken."""


def multipliers_of(starts: Annealing) -> np.ndarray:
    """Multiples of the penalty, one for each start; of fewer starts the middle ones."""
    number = len(starts.step)
    first = (len(MULTIPLIERS) - number) // 2
    dtype = starts.log_likelihood.dtype
    return np.asarray(MULTIPLIERS[first : first + number], dtype)


@compiled
def anneal_starts(
    key, starts, multipliers, plan, until, *, engine, learn, settings
) -> Annealing:
    """Anneal every start, each with a penalty of its own."""

    def one(multiplier: Array, start: Annealing) -> Annealing:
        return anneal(
            key,
            start,
            plan._replace(multiplier=plan.multiplier * multiplier),
            engine=engine,
            learn=learn,
            steps=settings.anneal,
            ramp=settings.ramp,
            until=until,
        )

    return jax.vmap(one)(multipliers, starts)


@compiled_once
def begin_again(before: Annealing, starts: Exchange) -> Annealing:
    """Anneal from recombined starts, unless all starts agree."""
    combined = recombined(starts).at
    parameters = combined.unknowns.parameters
    best = starts.best.criterion
    agree = jnp.max(best) - jnp.min(best) < 0.1
    return before._replace(
        unknowns=combined.unknowns,
        candidates=jnp.broadcast_to(parameters[:, None], before.candidates.shape),
        trajectory=combined.trajectory,
        step=jnp.zeros_like(before.step),
        unchanged=jnp.full_like(before.unchanged, jnp.where(agree, MOST_UNCHANGED, 0)),
    )


@compiled_once
def better_starts(new: Exchange, old: Exchange) -> Exchange:
    """For each start the better one."""
    better = new.best.criterion < old.best.criterion
    return jax.vmap(where_each)(better, new, old)


def with_better_start(starts: Exchange, other: Exchange) -> Exchange:
    """The starts, with another one in place of the worst if it is better."""
    criteria = np.asarray(starts.best.criterion)
    criteria = np.where(np.isfinite(criteria), criteria, np.inf)
    worst = int(np.argmax(criteria))
    if not np.asarray(other.best.criterion)[0] < criteria[worst]:
        return starts

    def put(leaf: Array, new: Array) -> np.ndarray:
        found = np.array(leaf)
        found[worst] = np.asarray(new)[0]
        return found

    return jax.device_put(jax.tree.map(put, starts, other))


@compiled_once
def begin_exchanges(unknowns: Unknowns, trajectories: Array) -> Exchange:
    """Ready to ascend from the support of each start."""
    return jax.vmap(begin_exchange)(unknowns, trajectories)


@compiled_once
def random_starts(key: Array, starts: Annealing, plan: Plan) -> Exchange:
    """Starts with all terms, of random sizes and signs.

    What two terms explain together where a hidden state moves, neither explains while
    it stands still.
    """

    def draw(key: Array, unknowns: Unknowns) -> Exchange:
        unknowns = unknowns._replace(parameters=_random_parameters(key, plan))
        return begin_exchange(unknowns, plan.trajectory)

    keys = jax.random.split(key, len(starts.step))
    return jax.vmap(draw)(keys, starts.unknowns)


@compiled
def likely_starts(
    key: Array, starts: Exchange, plan: Plan, *, engine: AbstractEngine
) -> Exchange:
    """Starts with all terms: the likeliest of many random ones.

    With the process noise that is known. A trajectory that hardly has any, such as that
    of an epidemic, is lost by most coefficients, from which no ascent leads back.
    """
    known = model_unknowns(plan.model)
    noise = jnp.where(known.state_noise > 0, known.state_noise, plan.floor)

    def draw(key: Array) -> tuple[Array, Unknowns, Array]:
        unknowns = known._replace(
            parameters=_random_parameters(key, plan), state_noise=noise
        )
        model = plan.build(unknowns, ("state_noise",))
        found = engine.filter(key, model, plan.ys)
        value = jnp.sum(found.increments)
        path = jnp.concatenate([model.initial_mean[None], found.means])
        sound = jnp.isfinite(value) & jnp.all(jnp.isfinite(path))
        return jnp.where(sound, value, -jnp.inf), unknowns, path

    values, *drawn = jax.vmap(draw)(jax.random.split(key, LIKELY))
    chosen = jnp.argsort(-values)[: len(starts.done)]
    return jax.vmap(begin_exchange)(*jax.tree.map(lambda part: part[chosen], drawn))


def _random_parameters(key: Array, plan: Plan) -> Array:
    """All terms, with random sizes and signs.

    A term changes its state by a share of it in each step, three to a hundred in a
    hundred.
    """
    moving = plan.model.moving(len(plan.ys))
    # A hidden state that is expected at zero is as large as its distribution is wide.
    spread = jnp.sqrt(model_unknowns(plan.model).initial_noise)
    path = plan.trajectory[:-1] + jnp.where(hidden_states(plan.model), spread, 0)
    if plan.model.schedule is not None and plan.model.schedule.inputs is not None:
        path = jnp.concatenate([path, plan.model.schedule.inputs], axis=1)
    size, level = (
        jnp.sqrt(moving @ values**2 / jnp.maximum(jnp.sum(moving), 1))
        for values in (plan.model.library(path), path[:, : plan.model.n_states])
    )
    units = jnp.where(size > 0, level[:, None] / jnp.where(size > 0, size, 1), 0)
    if plan.linear_map is not None:
        moved = jnp.abs(plan.linear_map) * units.ravel()[:, None]
        units = jnp.max(moved, axis=0, keepdims=True)
    size_key, sign_key = jax.random.split(key)
    shape, dtype = plan.free.shape, plan.ys.dtype
    sizes = 0.03 ** jax.random.uniform(size_key, shape, dtype)
    signs = jax.random.rademacher(sign_key, shape, dtype)
    signs = jnp.where(plan.low >= 0, 1, jnp.where(plan.high <= 0, -1, signs))
    amounts = jnp.clip(signs * sizes * units, plan.low, plan.high)
    return jnp.where(plan.free, amounts, 0).astype(dtype)


def exchange_together(
    key, starts, plan, most_here, *, engine, learn, sweeps
) -> Exchange:
    """Ascend and exchange from all starts at once, where many fits are compiled."""

    def one(start: Exchange) -> Exchange:
        return exchange(
            key,
            start,
            plan,
            engine=engine,
            learn=learn,
            sweeps=sweeps,
            most_here=most_here,
        )

    return jax.vmap(one)(starts)


@compiled_once
def recombined_starts(starts: Exchange) -> Exchange:
    """New starts from the equations of all."""
    return recombined(starts)
