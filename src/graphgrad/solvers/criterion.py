"""What a term costs: extended BIC, flat or cheaper for terms of low degree."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..library import AbstractLibrary


def extended_bic_price(
    ys: Float[Array, "T Ny"], p: Int[Array, ""] | int
) -> Float[Array, ""]:
    """What the extended BIC charges for a coefficient (Chen and Chen, 2008).

    log n + 2 log p, with n the number of observations, each entry of the data one, and
    p the number of all coefficients that might be nonzero.
    """
    n = jnp.sum(~jnp.isnan(ys))
    return jnp.log(n.astype(ys.dtype)) + 2 * jnp.log(jnp.asarray(p, ys.dtype))


def term_degrees(library: AbstractLibrary) -> Int[np.ndarray, "M"]:
    """Degree of each term; a function of states counts as the states in it do."""
    return np.ceil(np.abs(np.asarray(library.incidence)).sum(axis=0)).astype(int)


def price_by_degree(
    ys: Float[Array, "T Ny"],
    degrees: Int[Array | np.ndarray, "R K"],
    open_: Bool[Array, "R K"],
    highest: int,
) -> Float[Array, "R K"]:
    """Charge log n + 2 log p_k + 4 k log 2 for each of the p_k terms of degree k.

    The prior behind it falls to a quarter with every degree and is flat within one, so
    that the few terms of low degree are cheaper than the many of a high one.
    """
    price = jnp.zeros(degrees.shape, ys.dtype)
    for k in range(highest + 1):
        mine = degrees == k
        count = jnp.maximum(jnp.sum(open_ & mine), 1)
        price_k = extended_bic_price(ys, count) + 4 * k * np.log(2)
        price = jnp.where(mine, price_k, price)
    return price
