"""Resampling schemes: the ancestors a_t of Alg. 1 and 2, line 6.

Every scheme takes log-weights and returns K ancestors, among them particle j K w_j
times on average; they differ in the variance of these numbers.

Cumulative weights are integers: each weight is rounded to a multiple of about 2^-30,
and the sum is exact. A cumulative sum of floats that is computed in parallel is neither
monotone nor constant across a particle of zero weight, and it loses the fraction of
K c_j as K grows. With integers, a particle of zero weight is never chosen and no index
is out of range.
"""

from collections.abc import Callable, MutableMapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .. import registries

Resampling = Callable[[PRNGKeyArray, Float[Array, "K"]], Int[Array, "K"]]
"""Function from a random key and log-weights to the indices of the ancestors."""

_BITS = 30  # Cumulative weights end at 2^30 or just below: int32 with a bit to spare.


def multinomial(key: PRNGKeyArray, log_weights: Float[Array, "K"]) -> Int[Array, "K"]:
    """Independent draws from Categorical(w), as in Alg. 1 and 2, line 6.

    Args:
        key: Random key.
        log_weights: Log-weights, normalised or not. Entries that are not finite are
            never chosen; if none is finite every particle is its own ancestor.

    Returns:
        K indices from 0 to K - 1, of type int32.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> log_weights = jnp.log(jnp.array([0.0, 1.0, 0.0]))
        >>> multinomial(jax.random.key(0), log_weights).tolist()
        [1, 1, 1]
    """
    weights, alive = _weights(log_weights)
    return _or_stay(alive, _categorical(key, weights))


def systematic(key: PRNGKeyArray, log_weights: Float[Array, "K"]) -> Int[Array, "K"]:
    """One uniform number for all: points (k + u) / K in the cumulative weights.

    Every particle gets K w copies, rounded down or up. Ancestors are in ascending
    order, as for `stratified`.

    Args:
        key: Random key.
        log_weights: As for `multinomial`.

    Returns:
        K indices from 0 to K - 1, of type int32.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> log_weights = jnp.log(jnp.array([0.5, 0.0, 0.25, 0.25]))
        >>> systematic(jax.random.key(0), log_weights).tolist()
        [0, 0, 2, 3]
    """
    weights, alive = _weights(log_weights)
    whole, fraction, bits = _cumulative_counts(weights)
    uniform = _uniform(key, (), bits)
    return _or_stay(alive, _ancestors(whole + (uniform < fraction)))


def stratified(key: PRNGKeyArray, log_weights: Float[Array, "K"]) -> Int[Array, "K"]:
    """One uniform number per particle: points (k + u_k) / K in the cumulative weights.

    Args:
        key: Random key.
        log_weights: As for `multinomial`.

    Returns:
        K indices from 0 to K - 1, of type int32.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> log_weights = jnp.log(jnp.array([0.5, 0.0, 0.25, 0.25]))
        >>> stratified(jax.random.key(0), log_weights).tolist()
        [0, 0, 2, 3]
    """
    weights, alive = _weights(log_weights)
    whole, fraction, bits = _cumulative_counts(weights)
    uniforms = _uniform(key, weights.shape, bits)
    # Only one of the points can lie on either side of c_j: that of stratum K c_j.
    uniform = uniforms.at[whole].get(mode="clip")
    return _or_stay(alive, _ancestors(whole + (uniform < fraction)))


def residual(key: PRNGKeyArray, log_weights: Float[Array, "K"]) -> Int[Array, "K"]:
    """The integer part of K w copies deterministically, the rest drawn independently.

    Args:
        key: Random key.
        log_weights: As for `multinomial`.

    Returns:
        K indices from 0 to K - 1, of type int32.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> log_weights = jnp.log(jnp.array([0.5, 0.0, 0.25, 0.25]))
        >>> residual(jax.random.key(0), log_weights).tolist()
        [0, 0, 2, 3]
    """
    weights, alive = _weights(log_weights)
    expected = len(weights) * weights
    # K w that is an integer up to rounding counts as one.
    slack = 1 + 8 * jnp.finfo(weights.dtype).eps
    copies = jnp.floor(expected * slack)
    rest = jnp.maximum(expected - copies, 0)
    certain = jnp.cumsum(copies.astype(jnp.int32))
    ancestors = jnp.where(
        jnp.arange(len(weights)) < certain[-1],
        _ancestors(certain),
        _categorical(key, rest / jnp.maximum(jnp.sum(rest), 1 / len(weights))),
    )
    return _or_stay(alive, ancestors)


RESAMPLING: MutableMapping[str, Resampling] = registries.RESAMPLING
"""The schemes by name."""


def _weights(
    log_weights: Float[Array, "K"],
) -> tuple[Float[Array, "K"], Bool[Array, ""]]:
    """Normalised weights, and whether any is finite; no gradient (Alg. 2, line 6)."""
    log_weights = jax.lax.stop_gradient(log_weights)
    finite = jnp.isfinite(log_weights)
    log_weights = jnp.where(finite, log_weights, -jnp.inf)
    alive = jnp.any(finite)
    weights = jnp.exp(log_weights - jnp.where(alive, jnp.max(log_weights), 0))
    return weights / jnp.maximum(jnp.sum(weights), 1), alive


def _or_stay(alive: Bool[Array, ""], ancestors: Int[Array, "K"]) -> Int[Array, "K"]:
    return jnp.where(alive, ancestors, jnp.arange(len(ancestors), dtype=jnp.int32))


def _cumulative(weights: Float[Array, "K"], total: int) -> Int[Array, "K"]:
    """Cumulative weights as integers that end at `total` exactly."""
    steps = jnp.cumsum(jnp.round(weights * total).astype(jnp.int32))
    # Each weight was rounded, so the sum is slightly off. Distribute the excess in
    # proportion, by a function that preserves order and equality.
    excess = (steps[-1] - total).astype(weights.dtype)
    share = steps.astype(weights.dtype) / jnp.maximum(steps[-1], 1)
    return steps - jnp.floor(excess * share).astype(jnp.int32)


def _cumulative_counts(
    weights: Float[Array, "K"],
) -> tuple[Int[Array, "K"], Int[Array, "K"], int]:
    """K c_j as an integer part and a fraction, and the bits of the fraction."""
    bits = _BITS - (len(weights) - 1).bit_length()
    cumulative = _cumulative(weights, len(weights) << bits)
    return cumulative >> bits, cumulative & ((1 << bits) - 1), bits


def _uniform(key: PRNGKeyArray, shape: tuple[int, ...], bits: int) -> Int[Array, "..."]:
    """Uniform integers below 2^bits."""
    return (jax.random.bits(key, shape, jnp.uint32) >> (32 - bits)).astype(jnp.int32)


def _categorical(key: PRNGKeyArray, weights: Float[Array, "K"]) -> Int[Array, "K"]:
    """K independent draws, by bisection of the cumulative weights.

    Draws in ascending order by exponential spacings would allow a merge in O(K), but
    measure 1.1 to 2.5 times slower for K from 100 to 10 000 (benchmarks/resampling.py).
    """
    cumulative = _cumulative(weights, 1 << _BITS)
    points = _uniform(key, weights.shape, _BITS)
    return jnp.searchsorted(cumulative, points, side="right").astype(jnp.int32)


def _ancestors(below: Int[Array, "K"]) -> Int[Array, "K"]:
    """Ancestors of points in ascending order, of which `below[j]` lie below c_j.

    The ancestor of point k is the number of j whose c_j it reaches: count the j by
    `below[j]` and add up. This costs O(K), where comparing all pairs costs O(K^2).
    """
    met = jnp.zeros_like(below).at[below].add(1, mode="drop", indices_are_sorted=True)
    return jnp.cumsum(met)
