"""Columns that are copies of others: the same numbers, up to a factor and an offset.

No data can distinguish terms of two such columns, and the difference between
the columns has no noise, which the likelihood would follow in place of the data.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

LEAST_CHANGES = 5
"""Fewest changes from row to row: short or rounded columns with fewer may coincide."""

ROUNDING = 16 * np.finfo(float).eps
"""Largest difference from a copy, relative to the largest numbers that make it up."""

ALIKE = 1 - 1e-6
"""Least correlation of columns that are compared number by number."""

BLOCK = 256
"""Columns that are compared with all others at a time, to bound memory."""

MOST = 4000
"""Most columns that are compared: no fit of more of them fits into memory."""


class Copy(NamedTuple):
    """A column that is a factor times another one plus an offset.

    Attributes:
        first: Index of the other column.
        second: Index of this column.
        factor: The factor.
        offset: The offset.
        rows: Number of rows in which they are observed.
    """

    first: int
    second: int
    factor: float
    offset: float
    rows: int

    def words(self, names: Sequence[str]) -> str:
        """What was found, for a message.

        Examples:
            >>> Copy(0, 1, 1.8, 32.0, 40).words(["column 'c'", "column 'f'"])
            "1.8 times column 'c' plus 32 as column 'f', in all 40 rows with numbers"
        """
        times = "" if self.factor == 1 else f"{self.factor:.6g} times "
        plus = f" plus {self.offset:.6g}" if self.offset else ""
        return (
            f"{times}{names[self.first]}{plus} as {names[self.second]}, in all "
            f"{self.rows} rows with numbers"
        )


def find_copies(values: Float[np.ndarray, "T n"]) -> Iterator[Copy]:
    """Pairs of columns with numbers in the same rows, of which one is a copy.

    Constant columns are no copies, nor are columns that change in fewer than
    `LEAST_CHANGES` rows.

    Examples:
        >>> celsius = np.array([20.1, 20.4, 19.8, 21.3, 22.0, 21.7])
        >>> (copy,) = find_copies(np.stack([celsius, 1.8 * celsius + 32], axis=1))
        >>> round(copy.factor, 9), round(copy.offset, 9)
        (1.8, 32.0)
    """
    if values.shape[1] > MOST:
        return
    seen = np.isfinite(values)
    alike: dict[bytes, list[int]] = {}
    for j in range(values.shape[1]):
        column = values[seen[:, j], j]
        if np.count_nonzero(np.diff(column)) >= LEAST_CHANGES:
            alike.setdefault(np.packbits(seen[:, j]).tobytes(), []).append(j)
    for members in alike.values():
        if len(members) > 1:
            part = values[seen[:, members[0]]][:, members]
            for first, second in _correlated(part):
                found = _line(part[:, first], part[:, second])
                if found is not None:
                    at = members[first], members[second]
                    yield Copy(*at, *found, len(part))


def _correlated(values: Float[np.ndarray, "T n"]) -> Iterator[tuple[int, int]]:
    """Pairs of columns whose correlation is almost 1 or -1."""
    scaled = values / np.abs(values).max(axis=0)
    scaled = scaled - scaled.mean(axis=0)
    size = np.linalg.norm(scaled, axis=0)
    scaled = scaled / np.where(size > 0, size, 1)
    for begin in range(0, values.shape[1], BLOCK):
        correlation = np.abs(scaled[:, begin : begin + BLOCK].T @ scaled)
        for first, second in np.argwhere(correlation > ALIKE):
            if begin + first < second:
                yield begin + int(first), int(second)


@np.errstate(all="ignore")
def _line(
    one: Float[np.ndarray, "T"], other: Float[np.ndarray, "T"]
) -> tuple[float, float] | None:
    """Factor and offset from one column to the other; None if it is no copy."""
    low, high = int(np.argmin(one)), int(np.argmax(one))
    factor = (other[high] - other[low]) / (one[high] - one[low])
    sizes = np.abs(other).max() + abs(factor) * np.abs(one).max()
    off = np.abs(other - other[low] - factor * (one - one[low])).max()
    if not off <= ROUNDING * sizes:
        return None
    if abs(factor - 1) < 1e-9:
        factor = 1.0
    offset = other[low] - factor * one[low]
    return float(factor), float(offset if abs(offset) > ROUNDING * sizes else 0)
