"""How many Runge-Kutta steps an interval of a flow takes, by step doubling.

A step is short enough if the data cannot tell it from half of it: if neither the
log-likelihood nor the states after one interval, beside the measurement noise, change
by what matters. Errors fall with the fourth power of the number of steps.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ...compiling import compiled_once
from ...engines.gaussian import GaussianSmoother, along, one_step_ahead
from ...model import FlowMean, StateSpaceModel
from .unknowns import model_unknowns

SIZES = (1, 2, 4, 8, 16)
"""Steps an interval that are tried; twice as many must be possible."""

TOLERANCE = 0.1
"""Largest change of the log-likelihood, and of the sum of squared states."""

ROUGH = 1e-3
"""Largest change of states, in their deviations, of a first guess."""

LEAST_MEMORY = 0.1
"""Of where a state was, the share left after an interval, below which none is."""

ALTERNATES = -5.0
"""Deviations of the correlation of errors from which on rows alternate."""


class Doubling(NamedTuple):
    """What changes when the number of steps is doubled, and what an interval leaves.

    Attributes:
        likelihood: Change of the log-likelihood.
        squares: Sum of squared changes of what is seen of the states after one
            interval, over the variances of the measurement noise.
        memory: Norm of the derivative of the state after an interval in the one
            before, in units of the states' deviations; the median over intervals.
    """

    likelihood: Float[Array, ""]
    squares: Float[Array, ""]
    memory: Float[Array, ""]


def substeps_of(model: StateSpaceModel) -> Int[Array, ""]:
    """Steps an interval; 1 for what is no flow."""
    mean = model.transition.mean
    return mean.substeps if isinstance(mean, FlowMean) else jnp.asarray(1)


def with_substeps(model: StateSpaceModel, substeps: int | Array) -> StateSpaceModel:
    """The same flow with another number of steps an interval."""
    mean = model.mean
    if not isinstance(mean, FlowMean):
        return model
    return model.with_mean(mean.with_substeps(substeps))


@compiled_once
def doubling(
    model: StateSpaceModel, ys: Array, trajectory: Float[Array, "T_plus_1 Nx"]
) -> Doubling:
    """What changes, for a fitted flow along its trajectory."""
    finer = with_substeps(model, 2 * substeps_of(model))
    engine = GaussianSmoother()
    values = [engine.log_likelihood(m, ys, trajectory) for m in (model, finer)]
    seen = model.observation.mean
    change = seen(along(model, trajectory[:-1])) - seen(along(finer, trajectory[:-1]))
    used = jnp.where(
        jnp.isnan(ys), 0, change**2 / model_unknowns(model).observation_noise
    )
    scale = _deviations(model, trajectory)

    def memory(moment, x: Array) -> Array:
        slope = model.at(moment).transition.expand(x).slope
        slope = slope * scale / scale[:, None]
        return jnp.sqrt(jnp.sum(slope**2))

    memories = jax.vmap(memory)(model.schedule, trajectory[:-1])
    typical = jnp.nanmedian(_of_moves(model, memories))
    return Doubling(jnp.abs(values[0] - values[1]), jnp.sum(used), typical)


def first_size(model: StateSpaceModel, trajectory: Float[Array, "T_plus_1 Nx"]) -> int:
    """Steps an interval with which a first guess of a flow can be followed at all."""
    for size in SIZES:
        if float(_change(with_substeps(model, size), trajectory)) < ROUGH:
            return size
    return SIZES[-1]


@compiled_once
def _change(model: StateSpaceModel, trajectory: Array) -> Float[Array, ""]:
    """What doubling changes of most states after an interval, in their deviations."""
    finer = with_substeps(model, 2 * substeps_of(model))
    change = along(model, trajectory[:-1]) - along(finer, trajectory[:-1])
    size = jnp.max(jnp.abs(change) / _deviations(model, trajectory), axis=1)
    size = jnp.where(jnp.isfinite(size), size, jnp.inf)
    return jnp.nanquantile(_of_moves(model, size), 0.9)


def _deviations(
    model: StateSpaceModel, trajectory: Float[Array, "T_plus_1 Nx"]
) -> Float[Array, "Nx"]:
    """Standard deviations of the states before each step."""
    states, moving = trajectory[:-1], model.moving(len(trajectory) - 1)
    count = jnp.maximum(jnp.sum(moving), 1)
    away = states - moving @ states / count
    size = jnp.sqrt(moving @ away**2 / count)
    return jnp.maximum(size, jnp.finfo(size.dtype).tiny)


def _of_moves(model: StateSpaceModel, values: Float[Array, "T"]) -> Float[Array, "T"]:
    """Values of steps, NaN where a series starts."""
    return jnp.where(model.moving(len(values)) > 0, values, jnp.nan)


@compiled_once
def alternation(
    model: StateSpaceModel, ys: Array, filtered: Float[Array, "T Nx"]
) -> Float[Array, ""]:
    """Lowest correlation of one-step errors of a column from row to row.

    In deviations of what chance makes of a right model.
    """
    errors = ys - one_step_ahead(model, filtered)
    used = ~jnp.isnan(errors)
    count = jnp.maximum(jnp.sum(used, axis=0), 1)
    mean = jnp.sum(jnp.where(used, errors, 0), axis=0) / count
    away = jnp.where(used, errors - mean, 0)
    pairs = jnp.sum(used[1:] & used[:-1], axis=0)
    size = jnp.maximum(jnp.sum(away**2, axis=0) / count, jnp.finfo(ys.dtype).tiny)
    products = jnp.sum(away[1:] * away[:-1], axis=0) / jnp.maximum(pairs, 1)
    return jnp.min(products / size * jnp.sqrt(pairs))


def next_size(found: Doubling, substeps: int) -> int | None:
    """How many steps are enough: fewer, as many, more, or None if no number is."""
    worst = max(float(found.likelihood), float(found.squares)) / TOLERANCE
    if not np.isfinite(worst):
        worst = 4.0**8
    # Errors fall with the fourth power of the number, their squares with the eighth.
    needed = substeps * worst ** (1 / 8)
    if worst > 1:
        needed = max(needed, 2 * substeps)
    for size in SIZES:
        if size >= 0.95 * needed:
            return size
    return SIZES[-1] if substeps < SIZES[-1] else None
