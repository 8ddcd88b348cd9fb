"""Statistics in the parameters, which are pooled where coefficients are tied."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .plan import Plan
from .screening import screen
from .statistics import Completed, Statistics


def active_columns(
    data: Completed, keep: Bool[Array, "R K"], plan: Plan, size: int
) -> Int[Array, "Nx A"]:
    """Columns of the terms in play: all of them where coefficients are tied."""
    Nx, M = plan.base.shape
    if plan.linear_map is not None or size == M:
        return jnp.broadcast_to(jnp.arange(M), (Nx, M))
    return screen(data, keep & plan.free, plan.free, size)


def pooled_statistics(
    sums: Statistics, noise: Float[Array, "Nx"], plan: Plan
) -> tuple[Statistics, Float[Array, "R"]]:
    """Sums in the parameters and the noise they go with; one row where tied."""
    if plan.linear_map is None:
        return sums, noise
    tied = plan.linear_map.reshape(*plan.base.shape, -1)
    gram = jnp.einsum("nap,nab,nbq->pq", tied, sums.gram / noise[:, None, None], tied)
    cross = plan.parameter_gradient(sums.cross / noise[:, None])
    square = jnp.sum(sums.square / noise)
    return Statistics(gram[None], cross, square[None]), jnp.ones(1, gram.dtype)
