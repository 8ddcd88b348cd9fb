"""Pickles of an estimator: arrays of JAX keep their precision.

JAX restores a pickled array in the precision that it is set to, which is single unless
the user chose otherwise. So its arrays are pickled as those of NumPy.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class StoredArray:
    """An array of JAX in a pickle.

    Args:
        values: The array.
    """

    def __init__(self, values: np.ndarray) -> None:
        self.values = values


def stored(state: Any) -> Any:
    """Attributes of an estimator for a pickle, each array in it once."""
    arrays: dict[int, StoredArray] = {}

    def store(leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array) or _is_key(leaf):
            return leaf
        return arrays.setdefault(id(leaf), StoredArray(np.asarray(leaf)))

    return jax.tree.map(store, state)


def restored(state: Any) -> Any:
    """The attributes again, in double precision where they were.

    Examples:
        >>> import pickle
        >>> with jax.enable_x64(True):
        ...     state = {"a": jax.numpy.ones(2)}
        >>> text = pickle.dumps(stored(state))
        >>> restored(pickle.loads(text))["a"].dtype, pickle.loads(
        ...     pickle.dumps(state))["a"].dtype
        (dtype('float64'), dtype('float32'))
    """
    arrays: dict[int, jax.Array] = {}

    def restore(leaf: Any) -> Any:
        if not isinstance(leaf, StoredArray):
            return leaf
        if id(leaf) not in arrays:
            arrays[id(leaf)] = jax.device_put(leaf.values)
        return arrays[id(leaf)]

    with jax.enable_x64(True):
        return jax.tree.map(restore, state)


def _is_key(leaf: jax.Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
