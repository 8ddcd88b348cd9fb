"""The strongest period of series, by least squares."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

FEWEST_CYCLES = 2.0
"""Fewest cycles in the longest series of a period that is found."""

LARGEST_CHANCE = 0.01
"""Largest probability of a peak of white noise that is as high."""


def strongest_period(
    times: Sequence[Float[np.ndarray, "_"]],
    values: Sequence[Float[np.ndarray, "_ Ny"]],
) -> float | None:
    """The period whose sine and cosine reduce the squares most; None if by chance.

    Each column is compared with a parabola in time. Missing values are left out. The
    chance of a peak is that of Fisher's test (Proc. R. Soc. A 125, 1929).

    Args:
        times: Times of the rows of each series.
        values: The series.

    Examples:
        >>> t = np.arange(100.0)
        >>> y = np.sin(2 * np.pi * t / 12) + 0.01 * t
        >>> round(strongest_period([t], [y[:, None]]), 2)
        12.0
    """
    longest = max(range(len(times)), key=lambda i: len(times[i]))
    t, y = times[longest], values[longest]
    span, step = float(t[-1] - t[0]), float(np.median(np.diff(t)))
    cycles = np.arange(FEWEST_CYCLES, span / (2 * step) - 0.5, 0.25)
    parts = [_parabola(t, column) for column in y.T]
    parts = [(when, left) for when, left in parts if len(when) > 10 and left.any()]
    if not len(cycles) or not parts:
        return None
    shares = np.array([_share(parts, span / n) for n in cycles])
    best = int(np.argmax(shares))
    n = min(len(when) for when, _ in parts)
    # By white noise a share exceeds s with probability (1 - s)^((n - 3) / 2).
    chance = len(cycles) * (1 - shares[best]) ** ((n - 5) / 2)
    if chance > LARGEST_CHANCE:
        return None
    near = np.linspace(cycles[best] - 0.25, cycles[best] + 0.25, 101)
    finest = near[np.argmax([_share(parts, span / n) for n in near])]
    return float(f"{span / finest:.4g}")


def _parabola(t: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of a column less a parabola, where there are any."""
    there = np.isfinite(column)
    when, found = t[there], column[there]
    if len(when) < 4:
        return when, found
    unit = (when - when.mean()) / max(float(np.ptp(when)), 1e-300)
    design = np.stack([unit**k for k in range(3)], axis=1)
    return when, found - design @ np.linalg.lstsq(design, found, rcond=None)[0]


def _share(parts: list[tuple[np.ndarray, np.ndarray]], period: float) -> float:
    """Largest share of the squares of a column that a period explains."""
    shares = []
    for when, left in parts:
        angle = 2 * np.pi * when / period
        design = np.stack([np.sin(angle), np.cos(angle), np.ones_like(angle)], axis=1)
        rest = left - design @ np.linalg.lstsq(design, left, rcond=None)[0]
        shares.append(1 - float(rest @ rest) / float(left @ left))
    return max(shares)
