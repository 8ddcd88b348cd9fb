"""Series smoothed without equations, as states to begin with.

A trajectory is the closer to the data, and the smaller its second differences, the
better (Whittaker, 1923). How much of each counts is chosen for every column by
generalised cross-validation (Craven and Wahba, Numer. Math. 31, 1979).
"""

import numpy as np
from jaxtyping import Bool, Float

LEAST_ROWS, MOST_ROWS = 8, 1024
"""Rows of a series that is smoothed."""

STRENGTHS = 10.0 ** np.arange(-3, 8, 0.5)
"""Multiples of the squared second differences that are tried."""


def smoothed_series(
    rows: Float[np.ndarray, "T Nx"],
    lengths: Float[np.ndarray, "T"],
    fresh: Bool[np.ndarray, "T"],
) -> Float[np.ndarray, "T Nx"]:
    """Each series of some rows, smoothed.

    Args:
        rows: The data.
        lengths: Time from the row before, in usual intervals.
        fresh: Rows that start a series.

    Examples:
        >>> t = np.linspace(0, 6, 100)[:, None]
        >>> data = np.sin(t) + 0.1 * np.random.default_rng(0).normal(size=(100, 1))
        >>> near = smoothed_series(data, np.ones(100), np.arange(100) == 0)
        >>> np.std(near - np.sin(t)) < np.std(data - np.sin(t)) / 2
        np.True_
    """
    starts = np.flatnonzero(fresh | (np.arange(len(rows)) == 0))
    ends = np.append(starts[1:], len(rows))
    found = np.array(rows, float)
    for start, end in zip(starts, ends, strict=True):
        steps = np.asarray(lengths, float)[start + 1 : end]
        if LEAST_ROWS <= end - start <= MOST_ROWS and (steps > 0).all():
            found[start:end] = _smoothed(found[start:end], steps)
    return found


def _smoothed(
    rows: Float[np.ndarray, "n Nx"], steps: Float[np.ndarray, "m"]
) -> Float[np.ndarray, "n Nx"]:
    n = len(rows)
    slopes = np.diff(np.eye(n), axis=0) / steps[:, None]
    bends = np.diff(slopes, axis=0) / np.sqrt((steps[1:] + steps[:-1]) / 2)[:, None]
    values, vectors = np.linalg.eigh(bends.T @ bends)
    parts = vectors.T @ rows
    shrunk = 1 / (1 + STRENGTHS[:, None] * np.maximum(values, 0))
    left = n - shrunk.sum(axis=1)
    squares = ((1 - shrunk) ** 2) @ parts**2
    best = np.argmin(squares / left[:, None] ** 2, axis=0)
    return vectors @ (shrunk[best].T * parts)
