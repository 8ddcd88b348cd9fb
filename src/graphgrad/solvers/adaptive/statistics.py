"""The completed data of a sweep and their statistics, equation by equation.

Given the hidden states, the equations are regressions of x_t on the terms of x_{t-1}.
Each equation has a set of active terms of its own, so that the cost follows the terms
in play: no matrix of all terms by all terms is ever formed. Statistics are about the
coefficients of the sweep: they hold residuals, not states, so that sums of squares do
not cancel in single precision.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...engines.chunks import scan_chunks
from ...engines.sweep import AbstractEngine, Sweep
from ...model import (
    AbstractScaleNoise,
    GaussianNoise,
    Schedule,
    StateSpaceModel,
)
from .design import design_rows

MOST_POINTS = 12
"""Points a row that are taken; of more, two stand for all."""


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

    def sizes(self) -> Float[Array, "#Nx M"]:
        """Weighted sums of squared terms."""
        return self.weights.T @ self.terms**2


class CompletedSums(NamedTuple):
    """Sums over the completed data, of which no row is kept.

    Attributes:
        square: Of squared residuals.
        pull: Of residuals times terms.
        size: Of squared terms.
    """

    square: Float[Array, "Nx"]
    pull: Float[Array, "Nx M"]
    size: Float[Array, "#Nx M"]

    def squares(self) -> Float[Array, "Nx"]:
        """Expected sums of squared residuals."""
        return self.square

    def pulls(self) -> Float[Array, "Nx M"]:
        """Weighted sums of residuals times terms."""
        return self.pull

    def sizes(self) -> Float[Array, "#Nx M"]:
        """Weighted sums of squared terms."""
        return self.size


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


def complete(sweep: Sweep, model: StateSpaceModel, engine: AbstractEngine) -> Completed:
    """The rows of an engine's sweep by a model."""
    if not engine.stochastic and sweep.before.shape[1] > MOST_POINTS:
        sweep = sweep.thinned()
    terms, rest = design_rows(model, sweep.before)
    return completed(sweep, model, terms, rest)


def completed_sums(
    sweep: Sweep, model: StateSpaceModel, engine: AbstractEngine
) -> CompletedSums:
    """Sums over the rows of an engine's sweep by a model, in chunks."""

    def sums(rows: tuple[Sweep, Schedule | None]) -> CompletedSums:
        sweep, schedule = rows
        here = model.with_schedule(schedule)
        data = complete(sweep, here, engine)
        return CompletedSums(data.squares(), data.pulls(), data.sizes())

    def chunk(total: CompletedSums, rows: tuple[Sweep, Schedule | None]):
        return jax.tree.map(jnp.add, total, sums(rows)), None

    # What is one number, or has one row more, is no part of the completed data.
    each = sweep._replace(log_likelihood=sweep.weights[:, 0], path=sweep.filtered)
    rows = each, model.schedule
    none = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(sums, rows)
    )
    return scan_chunks(chunk, none, rows)[0]


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
        if same:  # as much for all equations: one over the length of the step
            precision = precision[:, :, :1]
        if model.schedule is not None:
            precision = jnp.where(model.schedule.fresh[:, None, None], 0, precision)
        weights, spread = weights * precision, spread * precision[:, 0]
    return Completed(
        terms.reshape(T * P, -1),
        residuals.reshape(T * P, Nx),
        weights.reshape(T * P, -1),
        jnp.sum(spread, axis=0),
    )


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
