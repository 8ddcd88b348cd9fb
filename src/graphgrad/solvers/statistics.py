"""The completed data of a sweep and their statistics, equation by equation.

Given the hidden path, the equations are regressions of x_t on the terms of x_{t-1}.
Each equation has a set of active terms of its own, so that the cost follows the terms
in play: no matrix of all terms by all terms is ever formed. Statistics are about the
coefficients of the sweep: they hold residuals, not states, so that sums of squares do
not cancel in single precision.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..engines.sweep import Sweep
from ..model import (
    AbstractScaleNoise,
    FlowMean,
    GaussianNoise,
    Schedule,
    StateSpaceModel,
)


class Completed(NamedTuple):
    """Weighted rows of the completed data.

    Attributes:
        terms: phi(x_{t-1}), times the length of the step.
        residuals: x_t - C phi(x_{t-1}).
        weights: Weights of the rows, for each equation or for all: the larger the
            noise of a step is beside that of others, the less it counts.
        spread: Variances of the states about their rows, weighted and summed.
    """

    terms: Float[Array, "rows M"]
    residuals: Float[Array, "rows Nx"]
    weights: Float[Array, "rows #Nx"]
    spread: Float[Array, "Nx"]

    def squares(self) -> Float[Array, "Nx"]:
        """Expected sums of squared residuals."""
        return jnp.sum(self.weights * self.residuals**2, axis=0) + self.spread

    def pulls(self) -> Float[Array, "Nx M"]:
        """Weighted sums of residuals times terms."""
        return (self.residuals * self.weights).T @ self.terms


class Statistics(NamedTuple):
    """Sums over the completed data, for each equation and its active terms.

    Attributes:
        gram: Of products of terms.
        cross: Of residuals times terms.
        square: Of squared residuals.
    """

    gram: Float[Array, "Nx A A"]
    cross: Float[Array, "Nx A"]
    square: Float[Array, "Nx"]

    def about(self, step: Float[Array, "Nx A"]) -> "Statistics":
        """The same sums about coefficients that are a step away."""
        moved = jnp.einsum("nab,nb->na", self.gram, step)
        return Statistics(self.gram, self.cross - moved, self.squares(step))

    def scale(self, noise: Float[Array, "Nx"]) -> Float[Array, "Nx A"]:
        """Slopes of the squares, over the noise, that chance alone gives."""
        size = jnp.sqrt(jnp.einsum("naa->na", self.gram) * noise[:, None])
        return jnp.maximum(size, jnp.finfo(size.dtype).tiny)

    def squares(self, step: Float[Array, "*L Nx A"]) -> Float[Array, "*L Nx"]:
        """Squared residuals after a step."""
        moved = jnp.einsum("nab,...nb->...na", self.gram, step)
        change = jnp.sum(step * (moved - 2 * self.cross), axis=-1)
        return jnp.maximum(self.square + change, 0)


def complete(sweep: Sweep, model: StateSpaceModel) -> Completed:
    """The rows of a sweep by a model."""
    terms, rest = design_rows(model, sweep.before)
    return completed(sweep, model, terms, rest)


def completed(
    sweep: Sweep,
    model: StateSpaceModel,
    terms: Float[Array, "T P M"],
    rest: Float[Array, "T P Nx"],
) -> Completed:
    """The rows of a sweep by a model, from their design."""
    T, P, Nx = sweep.before.shape
    spread = jnp.diagonal(sweep.spread, axis1=1, axis2=2)
    residuals = sweep.after - rest - terms @ model.coefficients.T
    transition, weights = model.transition, sweep.weights[:, :, None]
    noise = transition.noise
    assert isinstance(noise, AbstractScaleNoise)
    same = transition.same_noise and isinstance(noise, GaussianNoise)
    if not (same and model.schedule is None):
        precision = noise.variances / sweep.variances
        if model.schedule is not None:
            precision = jnp.where(model.schedule.fresh[:, None, None], 0, precision)
        weights, spread = weights * precision, spread * precision[:, 0]
    return Completed(
        terms.reshape(T * P, -1),
        residuals.reshape(T * P, Nx),
        weights.reshape(T * P, -1),
        jnp.sum(spread, axis=0),
    )


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
    path: Float[Array, "T_plus_1 Nx"],
    unsure: Bool[Array, "T_plus_1"],
) -> tuple[Float[Array, "T 1 M"], Float[Array, "T 1 Nx"]]:
    """The design along data taken as states.

    A flow need not be known for it: its terms are integrated along a cubic through
    the data.
    """
    before, after = path[:-1], path[1:]
    mean, schedule = model.mean, model.schedule
    if not isinstance(mean, FlowMean):
        return design_rows(model, before[:, None])
    lengths = jnp.ones(len(before), path.dtype)
    good = ~(unsure[:-1] | unsure[1:])
    if schedule is not None:
        lengths, good = schedule.pace, good & ~schedule.fresh
    lengths = jnp.maximum(lengths, jnp.finfo(path.dtype).tiny)[:, None]
    slopes = _spline_slopes(path, jnp.where(good[:, None], 1 / lengths, 0))
    drifts = slopes[:-1] * lengths, slopes[1:] * lengths

    def between(moment: Schedule | None, x: Array, x_next: Array, drifts: tuple):
        here = mean if moment is None else mean.at(moment)
        assert isinstance(here, FlowMean)
        terms = here.design_between(x, x_next, drifts)
        return here.starting(terms, x)

    terms, rest = jax.vmap(between)(schedule, before, after, drifts)
    return terms[:, None], rest[:, None]


def _spline_slopes(
    path: Float[Array, "T_plus_1 Nx"], weights: Float[Array, "T 1"]
) -> Float[Array, "T_plus_1 Nx"]:
    """Slopes at the rows of a cubic spline through them, natural at its ends.

    Far nearer to the true ones than differences where rows are few in an oscillation.

    Args:
        path: The rows.
        weights: One over the length of each interval; zero for those that are not to be
            used, where the spline ends and another one begins.
    """
    none = jnp.zeros_like(weights[:1])
    left, right = jnp.concatenate([none, weights]), jnp.concatenate([weights, none])
    pulls = 3 * weights**2 * jnp.diff(path, axis=0)
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


def statistics(data: Completed, active: Int[Array, "Nx A"]) -> Statistics:
    """Sums over rows, one equation after the other."""
    square = data.squares()
    shared = data.weights.shape[1] == 1
    if shared and active.shape[1] == data.terms.shape[1]:
        # All terms for all: the same sums for all.
        weighted = data.terms * data.weights
        gram = jnp.broadcast_to(
            weighted.T @ data.terms, (*active.shape, active.shape[1])
        )
        return Statistics(gram, data.residuals.T @ weighted, square)

    def equation(inputs: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        columns, residual, weights = inputs
        terms = data.terms[:, columns]
        weighted = terms * weights[:, None]
        return weighted.T @ terms, residual @ weighted

    weights = jnp.broadcast_to(data.weights.T, data.residuals.T.shape)
    gram, cross = jax.lax.map(equation, (active, data.residuals.T, weights))
    return Statistics(gram, cross, square)


def active_size(n_terms: int) -> int:
    """How many terms an equation may have in play: all of them where that is cheap."""
    return n_terms if n_terms <= 256 else 64


def screen(
    data: Completed,
    keep: Bool[Array, "Nx M"],
    allowed: Bool[Array, "Nx M"],
    size: int,
    stand_ins: Float[Array, "Nx M"] | None = None,
) -> Int[Array, "Nx size"]:
    """For each equation, the columns to keep and those that explain most of the rest.

    Args:
        data: The completed data.
        keep: Terms that are in play already.
        allowed: Terms that may be in play.
        size: Number of columns an equation.
        stand_ins: How well each term would stand in for one that is kept; those that
            do best take turns with those that explain most.
    """
    Nx, M = keep.shape
    if size == M:
        return jnp.broadcast_to(jnp.arange(M), (Nx, M))
    sizes = data.weights.T @ data.terms**2
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
        terms: Terms along a path.
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


def averaged(
    old: Statistics,
    old_active: Int[Array, "Nx A"],
    new: Statistics,
    active: Int[Array, "Nx A"],
    gain: Float[Array, ""],
) -> Statistics:
    """Running means of statistics; where a term was not in play, the new ones alone."""
    same = active[:, :, None] == old_active[:, None, :]
    known = jnp.any(same, axis=-1)
    move = same.astype(new.gram.dtype)
    gram = jnp.einsum("nab,nbc,ndc->nad", move, old.gram, move)
    cross = jnp.einsum("nab,nb->na", move, old.cross)

    def mix(before: Array, after: Array) -> Array:
        return before + gain * (after - before)

    both = known[:, :, None] & known[:, None, :]
    return Statistics(
        jnp.where(both, mix(gram, new.gram), new.gram),
        jnp.where(known, mix(cross, new.cross), new.cross),
        mix(old.square, new.square),
    )
