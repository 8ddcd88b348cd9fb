"""Helpers on trees of arrays."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int


def all_finite(tree: Any) -> Array:
    """Whether every number in a tree is finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(a)) for a in jax.tree.leaves(tree)]))


def where_each(condition: Bool[Array, ""], new: Any, old: Any) -> Any:
    """The one tree or the other, whole."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def entry(tree: Any, index: Int[Array, ""] | int) -> Any:
    """The tree of one entry along the first axis of every leaf."""
    return jax.tree.map(lambda leaf: leaf[index], tree)


def host_entry(tree: Any, index: int) -> Any:
    """One entry of stacked arrays, taken without compiling anything."""
    return jax.device_put(jax.tree.map(lambda leaf: np.asarray(leaf)[index], tree))
