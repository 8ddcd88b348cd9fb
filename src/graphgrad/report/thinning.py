"""Fewer points per plot, without hiding extreme values."""

import numpy as np
from jaxtyping import Bool, Float, Int

# Slightly more than the pixel columns of a panel on a wide screen.
MOST_ROWS = 1200


def thin(
    *values: Float[np.ndarray, "T"], most: int = MOST_ROWS
) -> Int[np.ndarray, "kept"]:
    """Rows to draw: the lowest and the highest of each group, for each of the values.

    All rows are kept if there are at most `most`. Rows that are NaN in all values are
    not drawn.

    Examples:
        >>> wave = np.sin(np.arange(10_000.0))
        >>> wave[1234] = 5
        >>> kept = thin(wave, most=100)
        >>> len(kept) <= 100, 1234 in kept
        (True, True)
    """
    known = np.flatnonzero(np.any([np.isfinite(v) for v in values], axis=0))
    if len(known) <= most:
        return known
    stretches = np.array_split(known, max(1, (most - 2) // (2 * len(values))))
    kept = {int(known[0]), int(known[-1])}
    for rows in stretches:
        for each in values:
            part = each[rows]
            if np.isfinite(part).any():
                kept.add(int(rows[np.nanargmin(part)]))
                kept.add(int(rows[np.nanargmax(part)]))
    return np.array(sorted(kept))


def sample(
    values: Float[np.ndarray, "T"],
    *,
    always: Bool[np.ndarray, "T"],
    most: int = MOST_ROWS,
) -> tuple[Int[np.ndarray, "kept"], int]:
    """Evenly spaced non-NaN rows, so that the density of dots is preserved.

    Args:
        values: Values to draw; NaN is skipped.
        always: Rows to keep in addition, unless they are too many.
        most: Number of rows to keep.

    Returns:
        The rows, and the stride between them; 1 if all are kept.

    Examples:
        >>> rows, each = sample(np.arange(10.0), always=np.arange(10) == 7, most=6)
        >>> rows.tolist(), each
        ([0, 4, 7, 8], 4)
    """
    known = np.flatnonzero(np.isfinite(values))
    if len(known) <= most:
        return known, 1
    each = -(-len(known) // (most // 2))
    extra = np.flatnonzero(always & np.isfinite(values))
    kept = known[::each]
    return (np.union1d(kept, extra) if len(extra) <= most // 2 else kept), each


def runs(missing: Bool[np.ndarray, "T"]) -> list[tuple[int, int]]:
    """First and last row of each run of missing values.

    Examples:
        >>> runs(np.array([False, True, True, False, True]))
        [(1, 2), (4, 4)]
    """
    change = np.diff(np.concatenate([[0], missing.astype(int), [0]]))
    first, after = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    return list(zip(first.tolist(), (after - 1).tolist(), strict=True))
