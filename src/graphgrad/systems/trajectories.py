"""Simulated trajectories that report divergence and are redrawn on request."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .schemes import AbstractMove


class DivergenceError(ValueError):
    """No draw stayed within the bound."""


class SystemSimulation(NamedTuple):
    """A trajectory, its observations, and how they were drawn.

    Attributes:
        states: x_0 to x_T, after the spin-up.
        observations: y_1 to y_T.
        diverged_at: First row of `states` that is not finite or not within the bound;
            None if there is none.
        rejected: Number of rejected draws before this one.
        message: Summary in words, with advice.
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
        move: Draws the state after an interval.
        start: Initial state.
        spread: Standard deviations of the measurement noise.
        steps: Number of observations.
        spin_up: Intervals before the first state that is kept.
        bound: Size at which a state counts as diverged.
        max_redraws: Maximum number of rejected draws; None returns the first as it is.
        label: Name of the system in messages.
    """
    rule, last = f"|x| < {bound:g}", max_redraws or 0
    # A single draw first, since most systems need only one; then batches that fit
    # easily into memory.
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
    """Several trajectories, and the step at which each left the bound, or -1."""

    def interval(x: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
        x = move(key, x)
        return x, x

    def one(number: Array) -> tuple[Array, Array, Array]:
        # Same use of the key as `simulate`, so that both draw the same trajectory of a
        # map.
        _, move_key, see_key = jax.random.split(jax.random.fold_in(key, number), 3)
        keys = jax.random.split(move_key, spin_up + steps)
        _, xs = jax.lax.scan(interval, start, keys)
        noise = jax.random.normal(see_key, xs.shape, xs.dtype)
        observations = xs + noise * spread
        states = jnp.concatenate([start[None], xs])[spin_up:]
        # NaN compares as false, so it counts as out of bounds.
        within = jnp.all(jnp.abs(states) < bound, axis=-1)
        left = jnp.where(jnp.all(within), -1, jnp.argmin(within))
        return states, observations[spin_up:], left

    return jax.vmap(one)(numbers)
