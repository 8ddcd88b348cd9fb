"""Draws of a path that say when they diverge, and redraw when asked to."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..model import StateSpaceModel, simulate


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
    model: StateSpaceModel,
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
        model: What to draw from, starting at its initial mean.
        steps: Number of observations.
        spin_up: Steps before the first state that is kept.
        bound: Size at which a state counts as lost.
        max_redraws: How many draws may be thrown away; None takes the first as it is.
        label: What to call the system in messages.
    """
    rule, last = f"|x| < {bound:g}", max_redraws or 0
    # One draw first, since most systems need no more; then many side by side, as many
    # as fit easily into memory.
    many = int(np.clip(10_000_000 // (steps * model.n_states), 1, 64))
    first, size = 0, 1
    while first <= last:
        states, observations, left = _draws(
            key,
            jnp.arange(first, first + size),
            model,
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
    model: StateSpaceModel,
    bound: Float[Array, ""],
    steps: int,
    spin_up: int,
) -> tuple[Array, Array, Int[Array, "N"]]:
    """Paths of several draws, and the step at which each left the bound, or -1."""

    def one(number: Array) -> tuple[Array, Array, Array]:
        path = simulate(
            jax.random.fold_in(key, number),
            model,
            steps=spin_up + steps,
            initial=model.initial_mean,
        )
        states = path.states[spin_up:]
        # NaN compares as false, so it counts as out of bounds.
        within = jnp.all(jnp.abs(states) < bound, axis=-1)
        left = jnp.where(jnp.all(within), -1, jnp.argmin(within))
        return states, path.observations[spin_up:], left

    return jax.vmap(one)(numbers)
