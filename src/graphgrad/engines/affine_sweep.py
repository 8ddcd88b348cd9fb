"""One smoother pass over an affine model, and its score, in chunks of rows.

Forwards, a long series leaves the filtered distributions only. Backwards, each chunk is
filtered once more: that costs less than to keep all that the filter finds.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .affine import (
    AffineRow,
    Filtered,
    Smoothed,
    adjoint,
    filter_rows,
    row_derivatives,
    smooth,
)
from .chunks import Rows, in_chunks, scan_chunks
from .linalg import root, symmetric
from .sweep import Sweep

State = tuple[Float[Array, "Nx"], Float[Array, "Nx Nx"]]
"""Mean and covariance of a state."""

States = tuple[Float[Array, "_ Nx"], Float[Array, "_ Nx Nx"]]
"""The same of several states."""


class SweepRows(NamedTuple):
    """What a sweep finds for some rows.

    Attributes:
        increment: Log-density of each row, given those before.
        filtered: Filtered means.
        smoothed: Smoothed means.
        before: As for `Sweep`.
        after: As for `Sweep`.
        spread: As for `Sweep`.
        variances: As for `Sweep`.
    """

    increment: Float[Array, "T"]
    filtered: Float[Array, "T Nx"]
    smoothed: Float[Array, "T Nx"]
    before: Float[Array, "T P Nx"]
    after: Float[Array, "T P Nx"]
    spread: Float[Array, "T Nx Nx"]
    variances: Float[Array, "T #P Nx"]

    @classmethod
    def of(cls, filtered: Filtered, smoothed: Smoothed) -> "SweepRows":
        """Smoothed pairs of states as points."""
        before, after, spread = jax.vmap(_pair_points)(
            smoothed.means[:-1],
            smoothed.covariances[:-1],
            smoothed.means[1:],
            smoothed.covariances[1:],
            smoothed.cross,
        )
        return cls(
            increment=filtered.increment,
            filtered=filtered.mean,
            smoothed=smoothed.means[1:],
            before=before,
            after=after,
            spread=spread,
            variances=filtered.row.variances[:, None],
        )

    def sweep(self, first: Float[Array, "Nx"]) -> Sweep:
        """The sweep, with the smoothed mean of x_0."""
        shape, dtype = self.before.shape[:2], self.before.dtype
        return Sweep(
            log_likelihood=jnp.sum(self.increment),
            filtered=self.filtered,
            before=self.before,
            after=self.after,
            weights=jnp.full(shape, 1 / shape[1], dtype),
            spread=self.spread,
            variances=self.variances,
            path=jnp.concatenate([first[None], self.smoothed]),
        )


def affine_sweep(
    start: State,
    expand: Callable[[Any, Rows], AffineRow],
    values: Any,
    rows: Rows,
    *,
    scored: bool,
) -> tuple[Sweep, tuple[State, Any]]:
    """A sweep, and the derivatives of its log-likelihood.

    Args:
        start: Mean and covariance of x_0.
        expand: The affine model of some rows, from parameters.
        values: The parameters.
        rows: All rows.
        scored: Whether to take derivatives in the parameters.

    Returns:
        The sweep; derivatives in the start and, if asked for, in the parameters.
    """

    def forward(state: State, rows: Rows) -> tuple[State, States]:
        found = filter_rows(state, expand(values, rows), rows.ys)
        kept = found.mean, found.covariance
        return (found.mean[-1], found.covariance[-1]), kept

    def backward(carry: tuple[State, Any], inputs: tuple[Rows, States]):
        (later, score), (rows, before) = carry, inputs
        state = before[0][0], before[1][0]
        pull_back = None
        if scored:
            affine, pull_back = jax.vjp(lambda values: expand(values, rows), values)
        else:
            affine = expand(values, rows)
        filtered = filter_rows(state, affine, rows.ys)
        back = adjoint(filtered, later)
        if pull_back is not None:
            (added,) = pull_back(row_derivatives(state, filtered, back))
            score = jax.tree.map(jnp.add, score, added)
        found = SweepRows.of(filtered, smooth(state, filtered, back))
        return ((back.slope[0], back.curvature[0]), score), found

    before = jax.tree.map(lambda leaf: leaf[None], start)
    if in_chunks(len(rows.ys)):
        _, kept = scan_chunks(forward, start, rows)
        before = jax.tree.map(
            lambda first, rest: jnp.concatenate([first, rest[:-1]]), before, kept
        )
    none = jax.tree.map(jnp.zeros_like, (start, values if scored else None))
    ((q, M), score), found = scan_chunks(backward, none, (rows, before), reverse=True)
    slopes = q, (jnp.outer(q, q) - M) / 2
    return found.sweep(start[0] + start[1] @ q), (slopes, score)


def affine_log_likelihood(
    start: State,
    expand: Callable[[Any, Rows], AffineRow],
    values: Any,
    rows: Rows,
) -> Float[Array, ""]:
    """Log-likelihood of an affine model; arguments as for `affine_sweep`."""

    def forward(carry: tuple[State, Array], rows: Rows):
        state, total = carry
        found = filter_rows(state, expand(values, rows), rows.ys)
        state = found.mean[-1], found.covariance[-1]
        return (state, total + jnp.sum(found.increment)), None

    none = jnp.zeros((), rows.before.dtype)
    return scan_chunks(forward, (start, none), rows)[0][1]


def _pair_points(
    m: Array, P: Array, m_next: Array, P_next: Array, cross: Array
) -> tuple[Array, Array, Array]:
    """Points of x_{t-1}, means of x_t given each, and the covariance about them."""
    L = root(P)
    follow = jax.scipy.linalg.solve_triangular(L, cross.T, lower=True).T
    spread = symmetric(P_next - follow @ follow.T)
    return m + _points(L), m_next + _points(follow), spread


def _points(factor: Float[Array, "Nx Nx"]) -> Float[Array, "P Nx"]:
    """The points of `cubature` times a factor."""
    half = math.sqrt(len(factor)) * factor.T
    return jnp.concatenate([half, -half])
