"""What a fit begins with: the plan, from data and constraints, and all starts."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...compiling import compiled
from ...model import FlowMean, LinearGaussian, StateSpaceModel, filled, in_long_gaps
from ...model.knowledge import Knowledge
from ..criterion import AbstractCriterion, observed_values, term_degrees
from .annealing import Annealing
from .annealing_start import begin
from .plan import Plan
from .unknowns import given

LONG_GAP = 4.5
"""Steps between observations from which on a straight line is no guess of the path."""

HIDDEN_STEPS = (1e-1, 1e-2, 1e-3, 1e-4)
"""Variance of a step of a hidden state, over that of its initial law, in each start."""

LEAST_NOISE = 1e-6
"""Least variance of the process noise of a step, over the mean square of steps."""


@compiled
def begin_fit(
    ys: Array,
    model: StateSpaceModel,
    criterion: AbstractCriterion,
    multiplier: Array,
    told: Knowledge,
    learn: tuple[str, ...],
    gaps: bool,
) -> tuple[Plan, Annealing]:
    """The plan, and all starts."""
    ys = jnp.asarray(ys)
    states = filled(ys)
    start = model.initial_mean
    if not sees_all_states(model):
        # Least squares about the initial mean, where what is not seen stays.
        seen = jax.jacfwd(model.observation.mean)(start)
        away = states - model.observation.mean(start)
        states = start + away @ jnp.linalg.pinv(seen).T
    path = jnp.concatenate([model.initial_mean[None], states])
    # The first state is no datum.
    unsure = jnp.concatenate([jnp.array([True]), long_gaps(ys, model)])
    open_ = jnp.asarray(told.open)
    plan = Plan(
        ys=ys,
        model=model,
        base=jnp.asarray(told.base, ys.dtype),
        zero=jnp.asarray(told.zero, ys.dtype),
        open=open_,
        low=jnp.asarray(told.low, ys.dtype),
        high=jnp.asarray(told.high, ys.dtype),
        still=jnp.asarray(told.still, ys.dtype),
        ties=None if told.ties is None else jnp.asarray(told.ties, ys.dtype),
        floor=_floor(path, model, learn),
        criterion=criterion,
        penalty=_penalty(ys, criterion, model, told, open_),
        multiplier=multiplier,
        path=path,
        unsure=unsure,
        doubts=unsure if gaps else None,
        free=jnp.array(True),
    )
    shares = jnp.asarray(HIDDEN_STEPS, ys.dtype)
    return plan, jax.vmap(lambda share: begin(plan, share))(shares)


def long_gaps(ys: Array, model: StateSpaceModel) -> Array:
    """Rows between observations so far apart that a straight line is no guess."""
    pace = jnp.ones(len(ys)) if model.schedule is None else model.schedule.pace
    return in_long_gaps(ys, jnp.cumsum(pace), LONG_GAP)


def _penalty(
    ys: Array,
    criterion: AbstractCriterion,
    model: StateSpaceModel,
    told: Knowledge,
    open_: Array,
) -> Float[Array, "R K"]:
    """The criterion's penalty of each parameter."""
    degrees = np.broadcast_to(term_degrees(model.library), told.base.shape)
    highest = int(degrees.max())
    if told.ties is not None:  # the highest of those that a parameter moves
        moved = jnp.where(jnp.asarray(told.ties) != 0, degrees.reshape(-1, 1), 0)
        degrees = jnp.max(moved, axis=0, initial=0)[None]
    return criterion.penalties(observed_values(ys), open_, degrees, highest)


def _floor(
    path: Array, model: StateSpaceModel, learn: tuple[str, ...]
) -> Float[Array, "Nx"]:
    """Lowest variances of the process noise.

    As small as keeps logarithms finite and filters sound, unless they are known.
    """
    known = given(model)
    least = LEAST_NOISE * jnp.mean(jnp.diff(path[1:], axis=0) ** 2, axis=0)
    # Of what is not seen, as a share of its first distribution.
    least = jnp.where(least > 0, least, LEAST_NOISE * known.initial_noise)
    if isinstance(model.mean, FlowMean):
        least = least / model.mean.interval
    if "state_noise" in learn:
        return least
    return jnp.maximum(known.state_noise, jnp.where(known.state_noise > 0, 0, least))


def sees_all_states(model: StateSpaceModel) -> bool:
    """Whether an observation is the state itself, with Gaussian noise."""
    seen = model.observation
    return isinstance(seen, LinearGaussian) and seen.matrix is None
