"""Long series in chunks of rows: what is large for a row is kept for one chunk."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..model import Schedule, StateSpaceModel

CHUNK = 512
"""Rows of a chunk."""

LONGEST = 2048
"""Rows up to which a series is one chunk: without a loop programs compile faster."""


class Rows(NamedTuple):
    """Some rows of a series, and a trajectory to expand the model about.

    Attributes:
        schedule: Their part of the schedule.
        ys: Observations.
        before: States before them.
        after: States at them.
    """

    schedule: Schedule | None
    ys: Float[Array, "T Ny"]
    before: Float[Array, "T Nx"]
    after: Float[Array, "T Nx"]

    @classmethod
    def of(
        cls,
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
        states: Float[Array, "T_plus_1 Nx"],
    ) -> "Rows":
        """All rows of a series, about states x_0..x_T."""
        return cls(model.schedule, ys, states[:-1], states[1:])


Carry = TypeVar("Carry")
Part = TypeVar("Part")
Found = TypeVar("Found")


def in_chunks(rows: int) -> bool:
    """Whether a series of so many rows is treated in chunks."""
    return rows > LONGEST


def scan_chunks(
    step: Callable[[Carry, Part], tuple[Carry, Found]],
    start: Carry,
    rows: Part,
    *,
    reverse: bool = False,
    most: int | None = None,
) -> tuple[Carry, Found]:
    """Like `jax.lax.scan`, but a step takes a chunk of rows; a short series is one.

    Args:
        step: From what is carried and the rows of a chunk, to what is carried on and
            what is found for each of its rows.
        start: What is carried, at first.
        rows: Arrays with one entry for each row.
        reverse: Whether to go from the last chunk to the first.
        most: Most rows of a chunk, where a row is large.

    Examples:
        >>> import jax.numpy as jnp
        >>> step = lambda total, rows: (total + rows.sum(), total + jnp.cumsum(rows))
        >>> total, sums = scan_chunks(step, jnp.zeros(()), jnp.ones(5000))
        >>> float(total), float(sums[4321])
        (5000.0, 4322.0)
    """
    length = len(jax.tree.leaves(rows)[0])
    size = CHUNK if in_chunks(length) else length
    if most is not None:
        size = min(size, most)
    if size == length:
        return step(start, rows)
    number, rest = divmod(length, size)

    def divided(leaf: jax.Array) -> jax.Array:
        return leaf[: number * size].reshape(number, size, *leaf.shape[1:])

    def joined(*leaves: jax.Array) -> jax.Array:
        whole = leaves[0].reshape(number * size, *leaves[0].shape[2:])
        return jnp.concatenate([whole, *leaves[1:]])

    parts = jax.tree.map(divided, rows)
    if not rest:
        end, found = jax.lax.scan(step, start, parts, reverse=reverse)
        return end, jax.tree.map(joined, found)
    last = jax.tree.map(lambda leaf: leaf[number * size :], rows)
    if reverse:
        start, of_last = step(start, last)
        end, found = jax.lax.scan(step, start, parts, reverse=True)
    else:
        carry, found = jax.lax.scan(step, start, parts)
        end, of_last = step(carry, last)
    return end, jax.tree.map(joined, found, of_last)
