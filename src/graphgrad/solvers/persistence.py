"""How predictions do beside persistence, which says that nothing changes."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def against_persistence(
    predicted: Float[Array, "T_minus_1 Ny"],
    ys: Float[Array, "T Ny"],
    length: Int[Array, ""] | int,
) -> Float[Array, ""]:
    """Squared error of predictions of y_2..y_T over that of the observation before."""
    used = jnp.arange(1, ys.shape[0])[:, None] < length
    # Pairs of which one is missing say nothing.
    used = used & ~jnp.isnan(jnp.diff(ys, axis=0))

    def squared(errors: Array) -> Array:
        return jnp.sum(jnp.where(used, errors**2, 0), axis=0)

    tiny = jnp.finfo(ys.dtype).tiny
    persistent = squared(jnp.diff(ys, axis=0))
    ratios = squared(ys[1:] - predicted) / jnp.maximum(persistent, tiny)
    compared = jnp.any(used, axis=0)
    mean = jnp.sum(jnp.where(compared, ratios, 0)) / jnp.maximum(jnp.sum(compared), 1)
    return jnp.where(jnp.any(compared), mean, 0)
