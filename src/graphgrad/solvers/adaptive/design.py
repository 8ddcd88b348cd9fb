"""What multiplies the coefficients: at points, and along data taken as states."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...model import FlowMean, Schedule, StateSpaceModel


def design_rows(
    model: StateSpaceModel, points: Float[Array, "T P Nx"]
) -> tuple[Float[Array, "T P M"], Float[Array, "T P Nx"]]:
    """What multiplies the coefficients at points, step by step, and what is beside."""
    if model.schedule is None:
        return model.mean.design(points)
    return jax.vmap(lambda moment, x: model.mean.at(moment).design(x))(
        model.schedule, points
    )


def design_along(
    model: StateSpaceModel,
    trajectory: Float[Array, "T_plus_1 Nx"],
    interpolated: Bool[Array, "T_plus_1"],
) -> tuple[Float[Array, "T 1 M"], Float[Array, "T 1 Nx"]]:
    """The design along data taken as states.

    A flow need not be known for it: its terms are integrated along a cubic through
    the data.
    """
    before, after = trajectory[:-1], trajectory[1:]
    mean, schedule = model.mean, model.schedule
    if not isinstance(mean, FlowMean):
        return design_rows(model, before[:, None])
    lengths = jnp.ones(len(before), trajectory.dtype)
    good = ~(interpolated[:-1] | interpolated[1:])
    if schedule is not None:
        lengths, good = schedule.pace, good & ~schedule.fresh
    lengths = jnp.maximum(lengths, jnp.finfo(trajectory.dtype).tiny)[:, None]
    slopes = _spline_slopes(trajectory, jnp.where(good[:, None], 1 / lengths, 0))
    drifts = slopes[:-1] * lengths, slopes[1:] * lengths

    def between(moment: Schedule | None, x: Array, x_next: Array, drifts: tuple):
        here = mean if moment is None else mean.at(moment)
        assert isinstance(here, FlowMean)
        terms = here.design_between(x, x_next, drifts)
        return here.starting(terms, x)

    terms, rest = jax.vmap(between)(schedule, before, after, drifts)
    return terms[:, None], rest[:, None]


def _spline_slopes(
    trajectory: Float[Array, "T_plus_1 Nx"], weights: Float[Array, "T 1"]
) -> Float[Array, "T_plus_1 Nx"]:
    """Slopes at the rows of a cubic spline through them, natural at its ends.

    Far nearer to the true ones than differences where rows are few in an oscillation.

    Args:
        trajectory: The rows.
        weights: One over the length of each interval; zero for those that are not to be
            used, where the spline ends and another one begins.
    """
    none = jnp.zeros_like(weights[:1])
    left, right = jnp.concatenate([none, weights]), jnp.concatenate([weights, none])
    pulls = 3 * weights**2 * jnp.diff(trajectory, axis=0)
    nothing = jnp.zeros_like(pulls[:1])
    side = jnp.concatenate([nothing, pulls]) + jnp.concatenate([pulls, nothing])
    diagonal = 2 * (left + right)
    diagonal = jnp.where(diagonal > 0, diagonal, 1)

    def forward(carry: tuple[Array, Array], inputs: tuple):
        ratio, value = carry
        left, diagonal, right, side = inputs
        pivot = diagonal - left * ratio
        here = right / pivot, (side - left * value) / pivot
        return here, here

    def back(later: Array, inputs: tuple[Array, Array]):
        ratio, value = inputs
        here = value - ratio * later
        return here, here

    start = none[0], nothing[0]
    _, solved = jax.lax.scan(forward, start, (left, diagonal, right, side))
    return jax.lax.scan(back, nothing[0], solved, reverse=True)[1]
