"""The stages of the adaptive solver, each compiled once and run for all starts."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..compiling import compiled
from ..library.degrees import default_states
from ..model import LinearGaussian, StateSpaceModel, filled, in_long_gaps
from ..model.constraints import Knowledge
from .anneal import STILL, Annealing, Plan, anneal, begin, identity
from .refine import Refinement, begin_refinement, crossed, refine, where_each
from .unknowns import Unknowns, given

GAMMAS = (0.5, 2.0, 8.0, 16.0)
"""How dear a term is while annealing: one start for each."""


LONG_GAP = 4.5
"""Steps between observations from which on a straight line is no guess of the path."""

HIDDEN_STEPS = (1e-1, 1e-2, 1e-3, 1e-4)
"""Variance of a step of a hidden state, over that of its initial law, in each start."""


@compiled
def begin_fit(
    ys: Array,
    model: StateSpaceModel,
    weight: Array,
    told: Knowledge,
    form: str,
    learn: tuple[str, ...],
) -> tuple[Plan, Annealing]:
    """The plan, and all starts."""
    ys = jnp.asarray(ys)
    states = filled(ys)
    zero = jnp.zeros_like(model.coefficients)
    if form == "rate":
        zero = zero + _identity(model)
    base = jnp.where(told.open, zero, told.values)
    floor = given(model).state_noise
    if "state_noise" in learn:
        # So low that it only keeps logarithms finite.
        floor = 1e-6 * jnp.mean(jnp.diff(states, axis=0) ** 2) * jnp.ones_like(floor)
    start = model.initial_mean
    if not isinstance(model.observation, LinearGaussian) or (
        model.observation.matrix is not None
    ):
        # Least squares about the initial mean, where what is not seen stays.
        seen = jax.jacfwd(model.observation.mean)(start)
        away = states - model.observation.mean(start)
        states = start + away @ jnp.linalg.pinv(seen).T
    path = jnp.concatenate([model.initial_mean[None], states])
    pace = jnp.ones(len(ys)) if model.schedule is None else model.schedule.pace
    unsure = in_long_gaps(ys, jnp.cumsum(pace), LONG_GAP)
    plan = Plan(
        ys=ys,
        model=model,
        base=base,
        zero=zero,
        open=jnp.asarray(told.open),
        signs=jnp.asarray(told.signs, ys.dtype),
        floor=floor,
        weight=weight,
        path=path,
        # The first state is no datum.
        unsure=jnp.concatenate([jnp.array([True]), unsure]),
        free=jnp.array(True),
    )
    shares = jnp.asarray(HIDDEN_STEPS, ys.dtype)
    return plan, jax.vmap(lambda share: begin(plan, share))(shares)


@compiled
def anneal_starts(key, starts, plan, until, *, engine, learn, settings) -> Annealing:
    """Anneal every start, each with a price of its own."""

    def one(gamma: Array, start: Annealing) -> Annealing:
        return anneal(
            key,
            start,
            plan._replace(weight=plan.weight * gamma),
            engine=engine,
            learn=learn,
            steps=settings.anneal,
            ramp=settings.ramp,
            until=until,
        )

    return jax.vmap(one)(jnp.asarray(GAMMAS, plan.ys.dtype), starts)


@compiled
def begin_again(before: Annealing, starts: Refinement, plan: Plan) -> Annealing:
    """Anneal from crossed starts, unless all starts agree."""
    crossing = crossed(starts, plan).at
    away = crossing.unknowns.coefficients - plan.base
    best = starts.best.criterion
    agree = jnp.max(best) - jnp.min(best) < 0.1
    return before._replace(
        unknowns=crossing.unknowns,
        candidates=jnp.broadcast_to(away[:, None], before.candidates.shape),
        path=crossing.path,
        step=jnp.zeros_like(before.step),
        still=jnp.full_like(before.still, jnp.where(agree, STILL, 0)),
    )


@compiled
def better_starts(new: Refinement, old: Refinement) -> Refinement:
    """For each start the better one."""
    better = new.best.criterion < old.best.criterion
    return jax.vmap(where_each)(better, new, old)


@compiled
def begin_climbs(unknowns: Unknowns, paths: Array, plan: Plan) -> Refinement:
    """Ready to climb from the support of each start."""
    return jax.vmap(lambda u, path: begin_refinement(u, path, plan))(unknowns, paths)


def with_known_noise(starts: Refinement, plan: Plan) -> Refinement:
    """Begin again from the best of each start, with the state noise that is known."""
    unknowns = starts.best.unknowns
    noise = given(plan.model).state_noise
    noise = jnp.broadcast_to(noise, unknowns.state_noise.shape)
    unknowns = unknowns._replace(state_noise=noise)
    return begin_climbs(unknowns, starts.best.path, plan)


@compiled
def refine_starts(
    key, starts, plan, until, climb, *, engine, learn, settings
) -> Refinement:
    """Climb and exchange, from every start."""

    def one(start: Refinement) -> Refinement:
        return refine(
            jax.random.fold_in(key, settings.anneal),
            start,
            plan,
            engine=engine,
            learn=learn,
            sweeps=settings.sweeps,
            until=until,
            climb=climb,
        )

    return jax.vmap(one)(starts)


@compiled
def crossed_starts(starts: Refinement, plan: Plan) -> Refinement:
    """New starts from the equations of all."""
    return crossed(starts, plan)


def _identity(model: StateSpaceModel) -> np.ndarray:
    """C of the map that leaves every state as it is."""
    still = identity(model)
    missing = np.flatnonzero(still.sum(axis=1) == 0)
    if len(missing):
        raise ValueError(
            "`form` must be 'map' for a library without the term "
            f"{default_states(model.n_states)[missing[0]]!r}, got 'rate'. Add the "
            "states to the library."
        )
    return still
