"""Initial scales of noise variances and initial states, from the data."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

LEAST_SHARE = 1e-6
"""Smallest initial variance, relative to that of the column."""


class Scales(NamedTuple):
    """Scales of each column.

    Attributes:
        noise: Variance of the measurement noise, from second differences.
        motion: Mean squared step, less the contribution of that noise.
        spread: Variance of the column.
    """

    noise: Float[np.ndarray, "Ny"]
    motion: Float[np.ndarray, "Ny"]
    spread: Float[np.ndarray, "Ny"]


def initial_scales(series: Sequence[Float[np.ndarray, "_ Ny"]]) -> Scales:
    """Estimate the scales of all columns from one or several series.

    Second differences of a smooth signal are those of the noise, whose variance is a
    sixth of their mean square. First differences have twice the variance of the noise,
    plus the motion. Missing values are skipped.

    Examples:
        >>> import numpy as np
        >>> line = np.arange(100.0)[:, None]
        >>> noise = np.random.default_rng(0).normal(size=(100, 1))
        >>> initial_scales([line + noise]).noise.round(1).tolist()
        [0.8]
    """
    columns = zip(*(_columns(ys) for ys in series), strict=True)
    rows = [_scales([part for part in column if len(part)]) for column in columns]
    return Scales(*(np.array(values) for values in zip(*rows, strict=True)))


def _columns(ys: np.ndarray) -> list[np.ndarray]:
    return [column[~np.isnan(column)] for column in ys.T]


def _scales(parts: list[np.ndarray]) -> tuple[float, float, float]:
    whole = np.concatenate(parts)
    spread = float(np.var(whole)) or float(np.mean(whole**2)) or 1.0
    first, second = (
        np.concatenate(
            [np.diff(part, n) ** 2 if len(part) > n else part[:0] for part in parts]
        )
        for n in (1, 2)
    )
    # Without differences, half of the variance is attributed to noise.
    noise = float(np.mean(second)) / 6 if len(second) else spread / 2
    step = float(np.mean(first)) if len(first) else spread
    noise = max(noise, LEAST_SHARE * spread)
    return noise, max(step - 2 * noise, step / 20, LEAST_SHARE * spread), spread


def first_values(
    ys: Float[np.ndarray, "T Ny"], otherwise: Float[np.ndarray, "Ny"]
) -> Float[np.ndarray, "Ny"]:
    """The first observed value of each column, or `otherwise` if there is none."""
    return np.array(
        [
            column[0] if len(column) else value
            for column, value in zip(_columns(ys), otherwise, strict=True)
        ]
    )


def first_speeds(
    times: Sequence[Float[np.ndarray, "_"]],
    values: Sequence[Float[np.ndarray, "_"]],
    noise: float,
) -> tuple[Float[np.ndarray, "series"], float]:
    """Initial rate of change of a quantity in each series, and its variance.

    It is computed over as many rows as the motion needs to exceed the noise.

    Args:
        times: Times of the rows of each series.
        values: The quantity, NaN if not observed.
        noise: Variance of the measurement noise.

    Examples:
        >>> import numpy as np
        >>> t = np.arange(50.0)
        >>> speeds, variance = first_speeds([t], [3 * t], 1e-6)
        >>> speeds.round(3).tolist(), round(variance, 3)
        ([3.0], 9.0)
    """
    there = [~np.isnan(x) for x in values]
    parts = [
        (t[observed], x[observed])
        for t, x, observed in zip(times, values, there, strict=True)
    ]
    longest = max(len(x) for _, x in parts)
    lag, squares, spans = 1, 0.0, 1.0
    while True:
        moves = np.concatenate([x[lag:] - x[:-lag] for _, x in parts if len(x) > lag])
        gone = np.concatenate([t[lag:] - t[:-lag] for t, x in parts if len(x) > lag])
        squares, spans = float(np.mean(moves**2)), float(np.mean(gone**2))
        if squares > 10 * noise or 2 * lag > max(1, longest // 8):
            break
        lag *= 2
    variance = max(squares - 2 * noise, squares / 20) / spans or 1.0
    ahead = max(lag, 2) + 1
    slopes = [
        np.polyfit(t[:ahead], x[:ahead], 1)[0] if len(x) >= 2 else 0.0 for t, x in parts
    ]
    return np.array(slopes), variance
