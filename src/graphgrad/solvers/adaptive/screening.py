"""Which terms of a large library are looked at: those that explain most."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .statistics import Completed, CompletedSums


def active_size(n_terms: int) -> int:
    """How many terms an equation may have in play: all of them where they are few."""
    return n_terms if n_terms <= 256 else 64


def screen(
    data: Completed | CompletedSums,
    keep: Bool[Array, "Nx M"],
    allowed: Bool[Array, "Nx M"],
    size: int,
    stand_ins: Float[Array, "Nx M"] | None = None,
) -> Int[Array, "Nx size"]:
    """For each equation, the columns to keep and those that explain most of the rest.

    Args:
        data: The completed data, or sums over them.
        keep: Terms that are in play already.
        allowed: Terms that may be in play.
        size: Number of columns an equation.
        stand_ins: How well each term would stand in for one that is kept; those that
            do best take turns with those that explain most.
    """
    Nx, M = keep.shape
    if size == M:
        return jnp.broadcast_to(jnp.arange(M), (Nx, M))
    sizes = data.sizes()
    tiny = jnp.finfo(sizes.dtype).tiny
    explained = data.pulls() ** 2 / jnp.maximum(sizes, tiny)
    score = explained
    if stand_ins is not None:
        score = jnp.maximum(_ranks(explained), _ranks(stand_ins))
    score = jnp.where(keep, jnp.inf, jnp.where(allowed, score, -1))
    return jax.lax.top_k(score, size)[1]


def _ranks(values: Float[Array, "Nx M"]) -> Float[Array, "Nx M"]:
    """The place of each entry in its row, the largest highest."""
    return jnp.argsort(jnp.argsort(values, axis=1), axis=1).astype(values.dtype)


def stand_ins(
    terms: Float[Array, "T M"],
    residuals: Float[Array, "T Nx"],
    departures: Float[Array, "Nx M"],
    most: int = 16,
) -> Float[Array, "Nx M"]:
    """How well each term explains what one of the model's terms explains.

    A wrong term hides the right one: beside it, the right one explains nothing. So each
    of a row's terms is left out in turn; what counts is the largest squared correlation
    with what is missed then.

    Args:
        terms: Terms along a trajectory.
        residuals: What the model misses along it.
        departures: Coefficients of the model.
        most: Largest number of terms of an equation that are left out in turn.
    """
    most = min(most, departures.shape[1])
    columns = jax.lax.top_k((departures != 0).astype(terms.dtype), most)[1]
    left_out = jnp.take_along_axis(departures, columns, axis=1)
    missed = residuals[:, :, None] + terms[:, columns] * left_out
    size = jnp.sqrt(jnp.sum(terms**2, axis=0))
    lengths = jnp.sqrt(jnp.sum(missed**2, axis=0))
    tiny = jnp.finfo(terms.dtype).tiny
    unit, missed = terms / jnp.maximum(size, tiny), missed / jnp.maximum(lengths, tiny)
    match = jnp.einsum("tnk,tm->nkm", missed, unit) ** 2
    return jnp.max(jnp.where((left_out != 0)[:, :, None], match, 0), axis=1)
