"""Weighted lasso by coordinate descent, for many equations and penalties at once."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

BLOCK = 32
"""Coordinates that descend together before all others hear of it."""


class Lasso(NamedTuple):
    """Where coordinate descent stopped.

    Attributes:
        coefficients: The minimiser.
        violation: Largest breach of the optimality conditions, relative to the
            threshold's scale `sqrt(gram_jj noise)`.
        rounds: Rounds over all coordinates that were made.
    """

    coefficients: Float[Array, "*L Nx A"]
    violation: Float[Array, ""]
    rounds: Int[Array, ""]


def lasso(
    gram: Float[Array, "Nx A A"],
    linear: Float[Array, "Nx A"],
    thresholds: Float[Array, "*L Nx A"],
    start: Float[Array, "*L Nx A"],
    scale: Float[Array, "Nx A"],
    *,
    box: tuple[Float[Array, "Nx A"], Float[Array, "Nx A"]] | None = None,
    tolerance: float = 1e-3,
    max_rounds: int = 100,
) -> Lasso:
    """Minimise 1/2 c'Gc - h'c + sum_j t_j |c_j| for each equation and each penalty.

    Args:
        gram: G of each equation.
        linear: h of each equation.
        thresholds: t.
        start: Where to start, usually the solution of a neighbouring problem.
        scale: Unit of the thresholds, for the stop.
        box: Lowest and highest values of the coefficients; zero is between them.
        tolerance: Largest relative breach of the optimality conditions to stop at.
        max_rounds: Most rounds over all coordinates.

    Examples:
        >>> import jax.numpy as jnp
        >>> G, h = jnp.eye(2)[None], jnp.array([[3.0, 0.5]])
        >>> one = jnp.ones((1, 2))
        >>> lasso(G, h, one, jnp.zeros((1, 2)), one).coefficients.tolist()
        [[2.0, 0.0]]
    """
    A = linear.shape[-1]
    blocks = -(-A // BLOCK)
    size = -(-A // blocks)
    added = (0, blocks * size - A)  # what is added stays zero

    def padded(values: Array, fill: float = 0) -> Array:
        wide = [(0, 0)] * (values.ndim - 1) + [added]
        return jnp.pad(values, wide, constant_values=fill)

    gram = jnp.pad(gram, [(0, 0), added, added])
    linear, start = padded(linear), padded(start)
    scale, thresholds = padded(scale, 1), padded(thresholds, jnp.inf)
    box = None if box is None else (padded(box[0]), padded(box[1]))
    diagonal = jnp.einsum("naa->na", gram)
    diagonal = jnp.where(diagonal > 0, diagonal, 1)

    def violation(c: Array, slope: Array) -> Array:
        toward = jnp.sign(slope) * jnp.maximum(jnp.abs(slope) - thresholds, 0)
        push = jnp.where(c != 0, slope - thresholds * jnp.sign(c), toward)
        if box is not None:  # an end holds what is pushed outward
            held = ((c <= box[0]) & (push < 0)) | ((c >= box[1]) & (push > 0))
            push = jnp.where(held, 0, push)
        return jnp.max(jnp.abs(push) / scale)

    def one_block(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        c, slope = carry

        def here(values: Array, axis: int = -1) -> Array:
            return jax.lax.dynamic_slice_in_dim(values, k * size, size, axis)

        strip = here(gram, 1)
        block, own, height = here(strip), here(diagonal), here(thresholds)
        ends = None if box is None else tuple(map(here, box))

        def coordinate(j: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            c, slope = carry
            pull = slope[..., j] + own[:, j] * c[..., j]
            shrunk = jnp.maximum(jnp.abs(pull) - height[..., j], 0)
            new = jnp.sign(pull) * shrunk / own[:, j]
            if ends is not None:
                new = jnp.clip(new, ends[0][:, j], ends[1][:, j])
            slope = slope - (new - c[..., j])[..., None] * block[:, j]
            return c.at[..., j].set(new), slope

        before = here(c)
        start = before, here(slope)
        after, _ = jax.lax.fori_loop(0, size, coordinate, start)
        # All other slopes at once: they are not looked at before.
        slope = slope - jnp.einsum("...na,nab->...nb", after - before, strip)
        return jax.lax.dynamic_update_slice_in_dim(c, after, k * size, -1), slope

    def one_round(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        c, slope, rounds = carry
        c, slope = jax.lax.fori_loop(0, blocks, one_block, (c, slope))
        return c, slope, rounds + 1

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        c, slope, rounds = carry
        return (violation(c, slope) > tolerance) & (rounds < max_rounds)

    slope = linear - jnp.einsum("nab,...nb->...na", gram, start)
    c, slope, rounds = jax.lax.while_loop(
        unfinished, one_round, (start, slope, jnp.zeros((), int))
    )
    return Lasso(c[..., :A], violation(c, slope), rounds)
