"""What both sides of the format share: names, hashes, and what may be stored."""

import hashlib
import math
from typing import Any

import numpy as np

FORMAT = "graphgrad/2"
FORMER = "graphgrad/1"
HEADER, ARRAYS = "model.json", "arrays.npz"


def data_hash(array: Any) -> str:
    """SHA-256 of an array's type, shape and bytes: equal for equal data alone.

    Examples:
        >>> data_hash(np.zeros(2)) == data_hash(np.zeros(2))
        True
        >>> data_hash(np.zeros(2)) == data_hash(np.zeros((1, 2)))
        False
    """
    plain = np.asarray(array)
    if plain.dtype.hasobject:
        raise ValueError(
            f"`array` must hold numbers, got {plain.dtype}. Convert it with `astype`."
        )
    found = hashlib.sha256(f"{plain.dtype.str} {plain.shape} ".encode())
    found.update(np.ascontiguousarray(plain).tobytes())
    return found.hexdigest()


def check_plain(name: str, value: Any) -> None:
    """Say which entry JSON cannot hold exactly."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ValueError(f"`{name}` must have text as keys, got {key!r}.")
            check_plain(f"{name}[{key!r}]", inner)
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            check_plain(f"{name}[{i}]", inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            f"`{name}` must be finite, got {value}. Use None, or an array."
        )
    elif value is not None and type(value) not in (str, bool, int, float):
        raise ValueError(
            f"`{name}` must be text, a number, a truth value, None, a list or a "
            f"dictionary, got {type(value).__name__}. Put arrays among the arrays."
        )


def storable_name(name: Any) -> bool:
    """Whether an array may have this name: no path, nothing odd."""
    return isinstance(name, str) and name.isidentifier() and name.isascii()


def storable_dtype(dtype: np.dtype) -> bool:
    """Whether an array may be of this type: numbers that every machine has."""
    sizes = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}
    return dtype.itemsize in {**sizes, "c": (8, 16)}.get(dtype.kind, ())
