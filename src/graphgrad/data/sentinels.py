"""Numbers that stand for missing values, such as -9999."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .series import Panel

SENTINELS = (
    *(-9, -99, -999, -9999, -99999, -999999, 99, 999, 9999, 99999, 999999),
    *(-99.9, -999.9, -9999.9, 99.9, 999.9, 9999.9, -99.99, -999.99, 99.99, 999.99),
    *(-200, -8888, -7777, 1e20, -1e20, 1e30, -1e30, 1e36),
)
"""Numbers that tables use for missing values."""

APART = 2.0
"""Distance from the other values, in multiples of their range, of a suspicious one."""


def suspected(values: np.ndarray) -> tuple[float, int] | None:
    """A number that probably means missing, and how often it occurs.

    It is one of `SENTINELS`, the largest or the smallest value, and far away from all
    others, more than twice their range.

    Examples:
        >>> suspected(np.array([1.0, 2.0, -9999.0, 3.0, -9999.0]))
        (-9999.0, 2)
        >>> suspected(np.array([-9999.0, -9998.0, -9997.0]))
    """
    there = values[np.isfinite(values)]
    if len(there) < 3:
        return None
    for end in (float(there.min()), float(there.max())):
        if end not in SENTINELS:
            continue
        others = there[there != end]
        if len(others) < 2:
            continue
        low, high = float(others.min()), float(others.max())
        gap = low - end if end < low else end - high
        if gap > APART * max(high - low, abs(low), abs(high)):
            return end, int((there == end).sum())
    return None


def check_sentinels(table: Mapping[str, np.ndarray]) -> None:
    """Raise an error for a number that probably means missing; the user is to decide.

    Args:
        table: Columns by name.
    """
    for mark, found in _found(table):
        raise ValueError(
            f"`data` must mark missing values, got {found}. Give --missing {mark:g} "
            "if it means missing, or --missing none if it is a value."
        )


def warn_of_sentinels(name: str, panel: Panel) -> None:
    """Warn of numbers that probably mean missing, in data that are no file.

    Args:
        name: Name of the argument of `fit`.
        panel: The data.
    """
    whole = np.concatenate([series.values for series in panel.series])
    names = panel.names or range(panel.n_columns)
    for mark, found in _found(dict(zip(names, whole.T, strict=True))):
        warnings.warn(
            f"`{name}` must mark missing values by NaN, got {found}. If it means "
            f"missing, replace it, for a pandas frame by `{name}.replace({mark:g}, "
            "float('nan'))`; it is fitted as a value.",
            stacklevel=5,
        )


def _found(table: Mapping[Any, np.ndarray]) -> Iterator[tuple[float, str]]:
    """Numbers of columns that probably mean missing, and where they are."""
    for name, values in table.items():
        found = suspected(values)
        if found is not None:
            mark, count = found
            others = values[np.isfinite(values) & (values != mark)]
            yield (
                mark,
                f"{mark:g} {_often(count)} in column {name!r}, whose other values are "
                f"from {others.min():g} to {others.max():g}",
            )


def mark_missing(values: np.ndarray, marks: Sequence[float]) -> np.ndarray:
    """Values with these numbers replaced by NaN."""
    return np.where(np.isin(values, marks), np.nan, values) if len(marks) else values


def _often(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
