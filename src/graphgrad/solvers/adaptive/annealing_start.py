"""Where annealing begins: a lasso of the data on the terms of the data before."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...engines.sweep import Sweep, drawn_variances
from ...model import StateSpaceModel
from .annealing import PENALTIES, Annealing
from .columns import gather, scatter
from .design import design_along
from .lasso import lasso
from .plan import Plan
from .pooling import active_columns, pooled_statistics
from .screening import active_size
from .statistics import completed, statistics
from .unknowns import model_unknowns


def begin(plan: Plan, share: Float[Array, ""]) -> Annealing:
    """A lasso of the data on the terms of the data before; its residuals' variance.

    Args:
        plan: What stays the same.
        share: How far a hidden state moves in a step, as a variance relative to that
            of its initial distribution.
    """
    model, Nx = plan.model, plan.model.n_states
    design = design_along(model, plan.trajectory, plan.interpolated)
    data = completed(_as_sweep(plan), model.with_coefficients(plan.base), *design)
    M = data.terms.shape[1]
    rows = jnp.maximum(jnp.sum(data.weights > 0, axis=0), 1)
    own = model.library.incidence[:Nx]
    own = jnp.asarray((own != 0) & ((own != 0).sum(axis=0) == 1))  # of one state each
    active = active_columns(data, own, plan, active_size(M))
    sums = statistics(data, active)
    steps = squared_steps(plan.trajectory, model)
    columns = active if plan.linear_map is None else plan.all_columns()
    hidden = hidden_states(model) & ~plan.exact
    # A trajectory that is not seen tells nothing.
    pooled, unit = pooled_statistics(sums, jnp.where(hidden, jnp.inf, steps), plan)
    scale = pooled.scale(unit)
    height = jnp.where(gather(plan.free, columns), 0.1 * scale, jnp.inf)
    box = gather(plan.low, columns), gather(plan.high, columns)
    start = jnp.zeros_like(scale)
    found = lasso(pooled.gram, pooled.cross, height, start, scale, box=box)
    parameters = scatter(found.coefficients, columns, plan.free.shape[1])
    away = gather(plan.departures(parameters), active)
    noise = jnp.maximum(sums.squares(away) / rows, plan.floor)
    # What is not seen stays as it is, but for its noise: the equations that contain it
    # tell where it must have been.
    parameters = jnp.where(plan.of_rows(hidden), plan.identity, parameters)
    moved = share * model_unknowns(model).initial_noise / model.mean.noise_length()
    noise = jnp.where(hidden, moved, noise)
    noise = jnp.where(plan.exact, plan.floor, noise)
    return Annealing(
        unknowns=model_unknowns(model)._replace(
            parameters=parameters, state_noise=noise
        ),
        candidates=jnp.broadcast_to(parameters, (len(PENALTIES), *plan.free.shape)),
        statistics=sums.about(gather(plan.departures(parameters), active)),
        active=active,
        trajectory=plan.trajectory,
        log_likelihood=jnp.asarray(-jnp.inf, plan.ys.dtype),
        step=jnp.zeros((), int),
        unchanged=jnp.zeros((), int),
    )


def squared_steps(
    trajectory: Float[Array, "T_plus_1 Nx"], model: StateSpaceModel
) -> Float[Array, "Nx"]:
    """Mean squares of the steps of a trajectory, without that from its first state."""
    moving = model.moving(len(trajectory) - 1)[1:]
    squares = jnp.diff(trajectory[1:], axis=0) ** 2
    return moving @ squares / jnp.maximum(jnp.sum(moving), 1)


def hidden_states(model: StateSpaceModel) -> Bool[Array, "Nx"]:
    """Which states an observation does not tell."""
    seen = jax.jacfwd(model.observation.mean)(model.initial_mean)
    return jnp.diag(jnp.linalg.pinv(seen) @ seen) < 0.5


def _as_sweep(plan: Plan) -> Sweep:
    """The data as if they were the states, where they are near."""
    T, Nx = len(plan.ys), plan.model.n_states
    before, after = plan.trajectory[:-1, None], plan.trajectory[1:, None]
    return Sweep(
        log_likelihood=jnp.zeros((), before.dtype),
        filtered=plan.trajectory[1:],
        before=before,
        after=after,
        weights=(~(plan.interpolated[:-1] | plan.interpolated[1:])).astype(
            before.dtype
        )[:, None],
        spread=jnp.zeros((T, Nx, Nx), before.dtype),
        variances=drawn_variances(plan.model, before, after),
        path=plan.trajectory,
    )
