"""How predictions do beside persistence, which says that nothing changes."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..model import Schedule


def against_persistence(
    predicted: Float[Array, "T_minus_1 Ny"],
    ys: Float[Array, "T Ny"],
    length: Int[Array, ""] | int,
    fresh: Bool[Array, "T"] | None = None,
) -> Float[Array, ""]:
    """Squared error of predictions of y_2..y_T over that of the observation before.

    Args:
        predicted: The predictions.
        ys: The rows.
        length: Number of rows that are used.
        fresh: Where a new series starts, if there are several.
    """
    used = jnp.arange(1, ys.shape[0])[:, None] < length
    # Pairs of which one is missing say nothing.
    used = used & ~jnp.isnan(jnp.diff(ys, axis=0))
    if fresh is not None:
        used = used & ~fresh[1:, None]

    def squared(errors: Array) -> Array:
        return jnp.sum(jnp.where(used, errors**2, 0), axis=0)

    tiny = jnp.finfo(ys.dtype).tiny
    persistent = squared(jnp.diff(ys, axis=0))
    ratios = squared(ys[1:] - predicted) / jnp.maximum(persistent, tiny)
    compared = jnp.any(used, axis=0)
    mean = jnp.sum(jnp.where(compared, ratios, 0)) / jnp.maximum(jnp.sum(compared), 1)
    return jnp.where(jnp.any(compared), mean, 0)


def persistence_ratio(
    schedule: Schedule | None,
    log_likelihood: Float[Array, ""],
    predicted: Float[Array, "T Ny"],
    ys: Float[Array, "T Ny"],
) -> Float[Array, ""]:
    """Error of one-step predictions over that of persistence; below 1 is better.

    Over even steps it is the ratio of squared errors. Over uneven ones errors grow with
    the interval, for persistence as well, so that likelihoods are compared: those of
    the model and of a random walk over the same intervals.
    """
    if schedule is None:
        return against_persistence(predicted[1:], ys, len(ys))
    even = against_persistence(predicted[1:], ys, len(ys), schedule.fresh)
    seen = ~jnp.isnan(ys)
    # The step before the first row of a series is arbitrary.
    observed = jnp.any(seen, axis=1) & ~schedule.fresh
    paces = jnp.where(observed, schedule.pace, jnp.nan)[1:]
    uneven = jnp.nanmax(paces) > (1 + 1e-6) * jnp.nanmin(paces)
    gain = log_likelihood - random_walk_log_likelihood(ys, schedule)
    return jnp.where(uneven, jnp.exp(-2 * gain / jnp.maximum(jnp.sum(seen), 1)), even)


def random_walk_log_likelihood(
    ys: Float[Array, "T Ny"], schedule: Schedule
) -> Float[Array, ""]:
    """Log-likelihood of random walks over the intervals, one for each column.

    The variance of a step is proportional to the time since the last observation. The
    first observation of a series is normal about the mean of the column.
    """
    rows = jnp.arange(len(ys))[:, None]
    seen, clock = ~jnp.isnan(ys), jnp.cumsum(schedule.pace)
    begins = jax.lax.cummax(jnp.where(schedule.fresh[:, None], rows, 0))
    latest = jax.lax.cummax(jnp.where(seen, rows, -1))
    before = jnp.concatenate([jnp.full((1, ys.shape[1]), -1), latest[:-1]])
    paired = seen & (before >= begins)
    there = jnp.maximum(before, 0)
    time = jnp.where(paired, clock[:, None] - clock[there], 1)
    moved = jnp.where(paired, ys - jnp.take_along_axis(ys, there, axis=0), 0)

    def normal(squares: Array, times: Array, used: Array) -> Array:
        count = jnp.maximum(jnp.sum(used, axis=0), 1)
        variance = jnp.sum(jnp.where(used, squares / times, 0), axis=0) / count
        variance = jnp.maximum(variance, jnp.finfo(ys.dtype).tiny)
        return (
            -jnp.sum(jnp.where(used, jnp.log(2 * jnp.pi * variance * times) + 1, 0)) / 2
        )

    walk = normal(moved**2, time, paired)
    away = jnp.where(seen, ys - jnp.nanmean(ys, axis=0), 0)
    spread = jnp.sum(away**2, axis=0) / jnp.maximum(jnp.sum(seen, axis=0), 1)
    spread = jnp.maximum(spread, jnp.finfo(ys.dtype).tiny)
    first = jnp.log(2 * jnp.pi * spread) + away**2 / spread
    return walk - jnp.sum(jnp.where(seen & ~paired, first, 0)) / 2
