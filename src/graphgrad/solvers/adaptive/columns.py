"""Arrays of all terms and of the active ones, a set for each equation."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def gather(
    dense: Float[Array, "*L Nx M"] | Bool[Array, "*L Nx M"], active: Int[Array, "Nx A"]
) -> Array:
    """Entries of the active terms."""
    index = jnp.broadcast_to(active, (*dense.shape[:-2], *active.shape))
    return jnp.take_along_axis(dense, index, axis=-1)


def scatter(values: Array, active: Int[Array, "Nx A"], n_terms: int) -> Array:
    """Entries of the active terms in their places, zeros elsewhere."""
    dense = jnp.zeros((*values.shape[:-1], n_terms), values.dtype)
    rows = jnp.arange(len(active))[:, None]
    return dense.at[..., rows, active].set(values)
