"""Input checks: each message names the argument, rule, value and remedy."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def check_at_least(name: str, value: Any, least: int, remedy: str) -> int:
    """Return `value` as an int, or raise if it is not a whole number >= `least`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(
            f"`{name}` must be a whole number of at least {least}, "
            f"got {value!r}. {remedy}"
        )
    return int(value)


def check_positive(name: str, value: Any, remedy: str) -> float:
    """Return `value` as a float, or raise if it is not positive and finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number > 0):
        raise ValueError(
            f"`{name}` must be a positive finite number, got {value!r}. {remedy}"
        )
    return number


def check_variances(name: str, value: Any) -> np.ndarray:
    """Return a number or a vector, or raise if it is not positive."""
    remedy = "Give one positive number, or one for each coordinate."
    array = check_finite(name, value, remedy)
    if array.ndim > 1 or (array <= 0).any():
        raise ValueError(
            f"`{name}` must be positive, as a number or a vector, got {value!r}. "
            f"{remedy}"
        )
    return array


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return `value`, or raise with the list of choices."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(map(repr, choices))}, got "
            f"{value!r:.90}."
        )
    return value


def check_numbers(name: str, value: Any, remedy: str) -> np.ndarray:
    """Return `value` as an array of floats, or raise if it cannot be converted."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` must hold numbers: {error}. {remedy}") from error


def check_finite(name: str, value: Any, remedy: str) -> np.ndarray:
    """Return `value` as an array of floats, or report where it is not finite."""
    array = check_numbers(name, value, remedy)
    bad = np.argwhere(~np.isfinite(np.atleast_1d(array)))
    if len(bad):  # Not `bad.size`: it is 0 for a single number.
        where = tuple(int(i) for i in bad[0])
        found = f"{np.atleast_1d(array)[where]}"
        if array.ndim:
            found += f" at index {where} ({len(bad)} such entries)"
        raise ValueError(f"`{name}` must be finite, got {found}. {remedy}")
    return array


def check_shape(
    name: str, shape: tuple[int, ...], expected: tuple[int, ...], remedy: str
) -> None:
    """Raise if `name` does not have the expected shape."""
    if tuple(shape) != tuple(expected):
        raise ValueError(
            f"`{name}` must have shape {tuple(expected)}, got {tuple(shape)}. {remedy}"
        )


def check_covariance(name: str, value: Any, size: int) -> np.ndarray:
    """Return a covariance as `(size,)` variances or a `(size, size)` matrix.

    A number is the variance of every coordinate.
    """
    remedy = (
        f"Give one variance, {size} variances, or a symmetric positive definite "
        f"({size}, {size}) matrix."
    )
    array = check_finite(name, value, remedy)
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.ndim == 1:
        check_shape(name, array.shape, (size,), remedy)
        if (array <= 0).any():
            raise ValueError(
                f"`{name}` must be positive definite, got a variance of "
                f"{array.min()}. {remedy}"
            )
        return array
    check_shape(name, array.shape, (size, size), remedy)
    lowest = np.linalg.eigvalsh((array + array.T) / 2).min()
    symmetric = np.allclose(array, array.T)
    if not symmetric or lowest <= 0:
        fault = (
            f"a matrix whose smallest eigenvalue is {lowest:.3g}"
            if symmetric
            else "a matrix that differs from its transpose"
        )
        raise ValueError(
            f"`{name}` must be symmetric positive definite, got {fault}. {remedy}"
        )
    return array


def check_series(name: str, value: Any, *, n_columns: int, least: int) -> np.ndarray:
    """Return a time series as a `(T, Ny)` array with T of at least `least`.

    NaN marks missing values; every column needs at least one observation.
    """
    remedy = "Give one row per time step and one column per observed quantity."
    array = check_numbers(name, value, remedy)
    check_finite(
        name, np.where(np.isnan(array), 0, array), f"NaN marks missing values. {remedy}"
    )
    if array.ndim != 2:
        raise ValueError(
            f"`{name}` must be a (T, Ny) array, got shape {array.shape}. {remedy}"
        )
    if array.shape[0] < least:
        raise ValueError(
            f"`{name}` must have at least {least} rows, got {array.shape[0]}. {remedy}"
        )
    check_shape(name, array.shape, (array.shape[0], n_columns), remedy)
    empty = np.flatnonzero(np.isnan(array).all(axis=0))
    if len(empty):
        raise ValueError(
            f"`{name}` must have an observation in every column, got none in column "
            f"{int(empty[0])}. Drop it: a state may be unobserved."
        )
    return array


def shortened(names: Sequence[str], most: int = 6) -> str:
    """The first names, with dots for the others.

    Examples:
        >>> shortened(["x", "y", "z"], most=2)
        'x, y, ...'
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, ..."
