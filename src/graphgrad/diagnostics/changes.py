"""Tests of standardised residuals for changes of their size, and for breaks.

Of a right fit they are nearly independent values of one distribution, which is normal.
A size that depends on what came before, on what was predicted or on time says that the
noise is of another kind, whose mean the equations may still describe.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import kolmogorov, stdtr

from .skill import FEWEST, normal_tail

REACH = 5
"""Rows before in which large residuals count, with weights from 1 down to 1/5."""

WINDOWS = (1, 2, 4, 8)
"""Numbers of rows of which all residuals may be off at once."""

Parts = Sequence[Float[np.ndarray, "..."]]
"""Arrays of several series, one row per row of the data; NaN if missing."""


class Change(NamedTuple):
    """What a test of the size of residuals found.

    Attributes:
        number: The correlation, or the ratio of sizes, that is tested.
        p_value: Its probability by chance.
        text: What it says of the residuals.
    """

    number: float
    p_value: float
    text: str = ""


NONE = Change(0.0, 1.0)


def change_of_size(parts: Parts, levels: Parts | None = None) -> Change:
    """The most significant of the tests of a column, its p-value that of all of them.

    Args:
        parts: Residuals of each series.
        levels: What was predicted for them; not tested if None.
    """
    found = [clustering(parts), step_of_size(parts)]
    if levels is not None:
        found.append(growth(np.concatenate(parts), np.concatenate(levels)))
    least = min(found, key=lambda change: change.p_value)
    return least._replace(p_value=min(1.0, len(found) * least.p_value))


def clustering(parts: Parts) -> Change:
    """Whether large residuals follow large ones, as where the noise changes slowly.

    The correlation of absolute values with a weighted sum of those in the `REACH` rows
    before, one-sided: the score test for such a memory of squares (Lee and King,
    Journal of Business and Economic Statistics 11, 1993), with absolute values, which
    outliers move less. Missing values count as average ones.

    Examples:
        >>> noise = np.random.default_rng(0).normal(size=200)
        >>> clustering([noise]).p_value > 0.01
        True
        >>> clustering([noise * np.repeat([1, 4, 1, 4], 50)]).p_value < 1e-6
        True
    """
    known = [np.isfinite(part) for part in parts]
    n = int(sum(each.sum() for each in known))
    if n < FEWEST:
        return NONE
    centre = np.nanmean(np.abs(np.concatenate(parts)))
    weights = np.concatenate([[0.0], 1 - np.arange(REACH) / REACH])
    now, past = [], []
    for part, there in zip(parts, known, strict=True):
        away = np.where(there, np.abs(part) - centre, 0.0)
        before = np.convolve(away, weights)[: len(away)]
        now.append(away)
        past.append(np.where(there, before, 0.0))
    size, before = np.concatenate(now), np.concatenate(past)
    spread = math.sqrt(float(size @ size) * float(before @ before))
    if not spread > 0:
        return NONE
    r = float(size @ before) / spread
    text = f"vary in size, and large ones follow large ones: correlation {r:.2f}"
    return Change(r, normal_tail(r * math.sqrt(n)), text)


def growth(residuals: Float[np.ndarray, "n"], levels: Float[np.ndarray, "n"]) -> Change:
    """Whether the size of residuals follows what was predicted.

    The rank correlation of Spearman, which no few large values decide.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> noise, level = rng.normal(size=200), rng.uniform(1, 5, 200)
        >>> growth(noise, level).p_value > 0.01, growth(level * noise, level)[1] < 1e-6
        (True, True)
    """
    used = np.isfinite(residuals) & np.isfinite(levels)
    size, level = np.abs(residuals[used]), levels[used]
    if len(size) < FEWEST or not np.ptp(size) > 0 or not np.ptp(level) > 0:
        return NONE
    r, n = float(np.corrcoef(_ranks(size), _ranks(level))[0, 1]), len(size)
    t = abs(r) * math.sqrt((n - 2) / max((1 - r) * (1 + r), 1e-300))
    way = "larger" if r > 0 else "smaller"
    text = f"are {way} where the predicted value is larger: rank correlation {r:.2f}"
    return Change(r, float(2 * stdtr(n - 2, -t)), text)


def _ranks(values: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Ranks; equal values have their mean."""
    _, place, number = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(number) - (number - 1) / 2)[place]


def step_of_size(parts: Parts) -> Change:
    """Whether residuals are larger or smaller from a row on.

    The largest cumulated sum of absolute values less their mean, which has the
    distribution of Kolmogorov (Brown, Durbin and Evans, Journal of the Royal
    Statistical Society B 37, 1975; with absolute values in place of squares).

    Examples:
        >>> noise = np.random.default_rng(0).normal(size=200)
        >>> step_of_size([noise]).p_value > 0.01
        True
        >>> step_of_size([noise * np.repeat([1, 3], 100)]).text
        'are ... times as large after the first ... of 200 rows'
    """
    whole = np.abs(np.concatenate(parts))
    rows = np.flatnonzero(np.isfinite(whole))
    size = whole[rows]
    if len(rows) < FEWEST or not size.std() > 0:
        return NONE
    sums = np.abs(np.cumsum(size - size.mean()))[:-1] / size.std()
    place = int(np.argmax(sums)) + 1
    p = float(kolmogorov(sums[place - 1] / math.sqrt(len(size))))
    before, after = float(size[:place].mean()), float(size[place:].mean())
    of = f"the first {rows[place]} of {len(whole)} rows"
    if not before > 0:
        return Change(math.inf, p, f"are zero in {of}, and not later")
    ratio = after / before
    return Change(ratio, p, f"are {ratio:.2g} times as large after {of}")


def sudden_break(parts: Sequence[Float[np.ndarray, "_ Ny"]]) -> Change:
    """Whether residuals of all columns are off at once, for some rows, as after a jump.

    A filter takes a jump for a slow state and follows it within some rows, so that
    cumulated sums of all residuals do not see it. The sums over `WINDOWS` rows, made
    independent between columns, have squares that are chi-squared; their largest is
    tested by Bonferroni's bound (Chu, Hornik and Kuan, Biometrika 82, 1995, of moving
    sums).

    Examples:
        >>> noise = np.random.default_rng(0).normal(size=(200, 2))
        >>> sudden_break([noise]).p_value > 0.01
        True
        >>> noise[100:103] += [[5, 4], [3, 2], [1, 1]]
        >>> found = sudden_break([noise])
        >>> found.text, found.p_value < 1e-3
        ('of all columns are far off in 2 rows from row 101 on', True)
    """
    from scipy import stats  # slow to import, and most commands do without it

    whole = np.concatenate(parts)
    known = np.isfinite(whole)
    whole = whole[:, known.sum(axis=0) >= FEWEST]
    known = np.isfinite(whole)
    spread = np.array([np.std(c[k]) for c, k in zip(whole.T, known.T, strict=True)])
    if not len(spread) or not (spread > 0).all():
        return NONE
    centre = np.array([np.mean(c[k]) for c, k in zip(whole.T, known.T, strict=True)])
    z = np.where(known, (whole - centre) / spread, 0.0)
    sizes, axes = np.linalg.eigh(z.T @ z / len(z))
    kept = sizes > 1e-6
    z = z @ axes[:, kept] / np.sqrt(sizes[kept])
    sums = np.concatenate([np.zeros((1, z.shape[1])), np.cumsum(z, axis=0)])
    best = NONE
    for rows in (w for w in WINDOWS if w < len(z)):
        squares = np.sum((sums[rows:] - sums[:-rows]) ** 2, axis=1) / rows
        first = int(np.argmax(squares))
        p = float(stats.chi2.sf(squares[first], z.shape[1]))
        p = min(1.0, len(WINDOWS) * len(squares) * p)
        if p < best.p_value:
            often = f"{rows} rows from row {first + 1} on" if rows > 1 else ""
            text = f"of all columns are far off in {often or f'row {first + 1}'}"
            best = Change(float(first + 1), p, text)
    return best
