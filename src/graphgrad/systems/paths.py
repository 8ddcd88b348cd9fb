"""Draws of a path that say when they diverge, and redraw when asked to."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .schemes import AbstractMove


class DivergenceError(ValueError):
    """No draw stayed bounded."""


class SystemSimulation(NamedTuple):
    """A path, what is seen of it, and how it came about.

    Attributes:
        states: x_0 to x_T, from the end of the spin-up on.
        observations: y_1 to y_T.
        diverged_at: First row of `states` that is not finite or not within the bound;
            None when there is none.
        rejected: Number of draws thrown away before this one.
        message: The same in words, with advice.
    """

    states: Float[Array, "T_plus_1 Nx"]
    observations: Float[Array, "T Nx"]
    diverged_at: int | None
    rejected: int
    message: str


def draw(
    key: PRNGKeyArray,
    move: AbstractMove,
    start: Float[Array, "Nx"],
    spread: Float[Array, "Nx"],
    steps: int,
    *,
    spin_up: int,
    bound: float,
    max_redraws: int | None,
    label: str,
) -> SystemSimulation:
    """The first draw, or the first that stays within the bound.

    Args:
        key: Random key; draw number n uses it folded with n.
        move: How a state moves over an interval.
        start: Where the path begins.
        spread: Standard deviations of the measurement noise.
        steps: Number of observations.
        spin_up: Intervals before the first state that is kept.
        bound: Size at which a state counts as lost.
        max_redraws: How many draws may be thrown away; None takes the first as it is.
        label: What to call the system in messages.
    """
    rule, last = f"|x| < {bound:g}", max_redraws or 0
    # One draw first, since most systems need no more; then many side by side, as many
    # as fit easily into memory.
    many = int(np.clip(10_000_000 // (steps * len(start)), 1, 64))
    first, size = 0, 1
    while first <= last:
        states, observations, left = _draws(
            key,
            jnp.arange(first, first + size),
            move,
            start,
            spread,
            jnp.asarray(bound),
            steps,
            spin_up,
        )
        left = np.asarray(left)
        within = np.flatnonzero(left[: last + 1 - first] < 0)
        if within.size:
            n = int(within[0])
            return SystemSimulation(
                states[n],
                observations[n],
                diverged_at=None,
                rejected=first + n,
                message=f"{label} stayed within {rule}.",
            )
        if max_redraws is None:
            return SystemSimulation(
                states[0],
                observations[0],
                diverged_at=int(left[0]),
                rejected=0,
                message=f"{label} left {rule} at step {left[0]} of {steps}; "
                "use a smaller dt or bounded=True.",
            )
        first, size = first + size, many
    raise DivergenceError(
        f"{label} left {rule} in all of {last + 1} draws of {steps} steps. "
        "Use a smaller `dt`, fewer `steps` or a larger `max_redraws`."
    )


@eqx.filter_jit
def _draws(
    key: PRNGKeyArray,
    numbers: Int[Array, "N"],
    move: AbstractMove,
    start: Float[Array, "Nx"],
    spread: Float[Array, "Nx"],
    bound: Float[Array, ""],
    steps: int,
    spin_up: int,
) -> tuple[Array, Array, Int[Array, "N"]]:
    """Paths of several draws, and the step at which each left the bound, or -1."""

    def interval(x: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
        x = move(key, x)
        return x, x

    def one(number: Array) -> tuple[Array, Array, Array]:
        # As `simulate` uses its key, so that both draw the same path of a map.
        _, move_key, see_key = jax.random.split(jax.random.fold_in(key, number), 3)
        keys = jax.random.split(move_key, spin_up + steps)
        _, path = jax.lax.scan(interval, start, keys)
        noise = jax.random.normal(see_key, path.shape, path.dtype)
        observations = path + noise * spread
        states = jnp.concatenate([start[None], path])[spin_up:]
        # NaN compares as false, so it counts as out of bounds.
        within = jnp.all(jnp.abs(states) < bound, axis=-1)
        left = jnp.where(jnp.all(within), -1, jnp.argmin(within))
        return states, observations[spin_up:], left

    return jax.vmap(one)(numbers)
