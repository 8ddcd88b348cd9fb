"""A loop of a length known at run time only, with a derivative in reverse mode."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array


def repeat(
    step: Callable[[Any, Array, Any], Any],
    start: Any,
    values: Any,
    times: Any,
    most: int,
) -> Any:
    """Take a step several times; differentiable in reverse mode.

    Args:
        step: From what is carried, the number of the step and `values`, to what is
            carried on. It must not close over values that are differentiated.
        start: What is carried, at first. Under `vmap` all of it must vary over the
            batch, or derivatives are wrong.
        values: What all steps share.
        times: Number of steps, which may be known at run time only.
        most: The largest number of steps; with more, derivatives are wrong.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> power = lambda x, n: repeat(lambda y, _, x: y * x, jnp.ones(()), x, n, 8)
        >>> float(power(jnp.array(3.0), 4)), float(jax.grad(power)(jnp.array(3.0), 4))
        (81.0, 108.0)
    """
    return _repeat((start, values), step, jnp.asarray(times), most)


def _run(both: tuple[Any, Any], step: Callable, times: Array) -> Any:
    start, values = both
    return jax.lax.fori_loop(0, times, lambda i, carry: step(carry, i, values), start)


@eqx.filter_custom_vjp
def _repeat(both: tuple[Any, Any], step: Callable, times: Array, most: int) -> Any:
    del most
    return _run(both, step, times)


@_repeat.def_fwd
def _forward(perturbed, both, step, times, most):
    del perturbed, most
    return _run(both, step, times), None


@_repeat.def_bwd
def _backward(residuals, slopes, perturbed, both, step, times, most):
    """Steps backwards, from what was carried before each of them."""
    del residuals, perturbed
    start, values = both

    def keep(i: Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        before, kept = carry
        kept = jax.tree.map(lambda all_, one: all_.at[i].set(one), kept, before)
        return step(before, i, values), kept

    room = jax.tree.map(lambda leaf: jnp.zeros((most, *leaf.shape), leaf.dtype), start)
    _, kept = jax.lax.fori_loop(0, times, keep, (start, room))
    moving, fixed = eqx.partition(values, eqx.is_inexact_array)

    def back(k: Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        slope, total = carry
        i = times - 1 - k
        before = jax.tree.map(lambda leaf: leaf[i], kept)

        def one(before: Any, moving: Any) -> Any:
            return step(before, i, eqx.combine(moving, fixed))

        slope, added = jax.vjp(one, before, moving)[1](slope)
        return slope, jax.tree.map(jnp.add, total, added)

    none = jax.tree.map(jnp.zeros_like, moving)
    return jax.lax.fori_loop(0, times, back, (_filled(slopes, start), none))


def _filled(slopes: Any, like: Any) -> Any:
    """Slopes with zeros where there are none."""
    leaves, structure = jax.tree.flatten(like)
    found = structure.flatten_up_to(slopes)
    return structure.unflatten(
        jnp.zeros_like(leaf) if slope is None else slope
        for leaf, slope in zip(leaves, found, strict=True)
    )
