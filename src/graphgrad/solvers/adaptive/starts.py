"""What a fit begins with: the plan, from data and constraints, and all starts."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...compiling import compiled_once
from ...model import (
    ConstraintSet,
    FlowMean,
    StateSpaceModel,
    filled,
    in_long_gaps,
)
from ..criterion import AbstractCriterion, Terms, own_states, term_degrees
from .annealing import Annealing
from .annealing_start import begin, squared_steps
from .plan import Plan
from .unknowns import model_unknowns

LONG_GAP = 4.5
"""Steps between observations from which on no straight line is laid between them."""

HIDDEN_STEPS = (1e-1, 1e-2, 1e-3, 1e-4)
"""Variance of a step of a hidden state in each start, relative to that of x_0."""

LEAST_NOISE = 1e-6
"""Least variance of the process noise of a step, over the mean square of steps."""


@compiled_once
def begin_fit(
    ys: Array,
    model: StateSpaceModel,
    criterion: AbstractCriterion,
    multiplier: Array,
    constraints: ConstraintSet,
    learn: tuple[str, ...],
    gaps: bool,
) -> tuple[Plan, Annealing]:
    """The plan, and all starts."""
    plan = _plan(ys, model, criterion, multiplier, constraints, learn, gaps)
    # Of so many terms starts take long, and the extreme ones find the least.
    few = plan.few_starts and model.sees_all_states
    steps = HIDDEN_STEPS[1:3] if few else HIDDEN_STEPS
    shares = jnp.asarray(steps, plan.ys.dtype)
    return plan, jax.vmap(lambda share: begin(plan, share))(shares)


def _plan(
    ys: Array,
    model: StateSpaceModel,
    criterion: AbstractCriterion,
    multiplier: Array,
    constraints: ConstraintSet,
    learn: tuple[str, ...],
    gaps: bool,
) -> Plan:
    ys = jnp.asarray(ys)
    states = filled(ys)
    start = model.initial_mean
    if not model.sees_all_states:
        # Least squares about the initial mean, where what is not seen stays.
        seen = jax.jacfwd(model.observation.mean)(start)
        away = states - model.observation.mean(start)
        states = start + away @ jnp.linalg.pinv(seen).T
    sources = jnp.asarray(constraints.sources)
    trajectory = jnp.concatenate([model.initial_mean[None], states])
    trajectory = _delayed(trajectory, model, sources)
    # The first state is no datum.
    interpolated = jnp.concatenate([jnp.array([True]), long_gaps(ys, model)])
    return Plan(
        ys=ys,
        model=model,
        base=jnp.asarray(constraints.base, ys.dtype),
        zero=jnp.asarray(constraints.zero, ys.dtype),
        low=jnp.asarray(constraints.low, ys.dtype),
        high=jnp.asarray(constraints.high, ys.dtype),
        identity=jnp.asarray(constraints.identity, ys.dtype),
        linear_map=None
        if constraints.linear_map is None
        else jnp.asarray(constraints.linear_map, ys.dtype),
        floor=_floor(trajectory, model, learn, sources >= 0),
        criterion=criterion,
        terms=_terms(model, constraints),
        multiplier=multiplier,
        trajectory=trajectory,
        interpolated=interpolated,
        long_gaps=interpolated if gaps else None,
        free_noise=jnp.array(True),
        sources=sources,
    )


begin_later = compiled_once(_plan)
"""The plan of a fit that goes on from another one; arguments as for `begin_fit`."""


def _delayed(trajectory: Array, model: StateSpaceModel, sources: Array) -> Array:
    """A trajectory in which states that are others a step before are that."""
    fresh = model.moving(len(trajectory) - 1)[:, None] == 0

    def shift(_: Array, x: Array) -> Array:
        before = jnp.where(fresh, x[1:], x[:-1])[:, sources]
        return x.at[1:].set(jnp.where(sources >= 0, before, x[1:]))

    # A state two steps before is the one before a step before.
    return jax.lax.fori_loop(0, trajectory.shape[1], shift, trajectory)


def long_gaps(ys: Array, model: StateSpaceModel) -> Array:
    """Rows between observations so far apart that a straight line is no guess."""
    pace = jnp.ones(len(ys)) if model.schedule is None else model.schedule.pace
    return in_long_gaps(ys, jnp.cumsum(pace), LONG_GAP)


def _terms(model: StateSpaceModel, constraints: ConstraintSet) -> Terms:
    """The parameters with the degrees of their terms."""
    shape = constraints.base.shape
    degrees = np.broadcast_to(term_degrees(model.library), shape)
    own = own_states(model.library, shape[0])
    highest = int(degrees.max())
    if constraints.linear_map is not None:
        # The highest of those that a parameter moves; own if all of them are.
        moved = jnp.asarray(constraints.linear_map) != 0
        others = jnp.any(moved & ~own.reshape(-1, 1), axis=0)
        own = (jnp.any(moved, axis=0) & ~others)[None]
        moved = jnp.where(moved, degrees.reshape(-1, 1), 0)
        degrees = jnp.max(moved, axis=0, initial=0)[None]
    return Terms.of(jnp.asarray(constraints.free), degrees, highest, own)


def _floor(
    trajectory: Array, model: StateSpaceModel, learn: tuple[str, ...], exact: Array
) -> Float[Array, "Nx"]:
    """Lowest variances of the process noise.

    As small as keeps logarithms finite and filters sound, unless they are known.
    """
    known = model_unknowns(model)
    least = LEAST_NOISE * squared_steps(trajectory, model)
    # Of what is not seen, as a share of its first distribution.
    least = jnp.where(least > 0, least, LEAST_NOISE * known.initial_noise)
    if isinstance(model.mean, FlowMean):
        least = least / model.mean.interval
    if "state_noise" in learn:
        return jnp.where(exact, known.state_noise, least)
    return jnp.maximum(known.state_noise, jnp.where(known.state_noise > 0, 0, least))
