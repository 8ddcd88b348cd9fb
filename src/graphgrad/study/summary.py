"""Summaries of fits: means, intervals, medians."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from .plan import Fits, Found, Study

LONG_TAILED = ("rmse", "nrmse", "coefficient_error", "spectral_error", "fit_seconds")
"""Metrics whose median is shown as well."""


class Value(NamedTuple):
    """One number of a table; `half` is half its 95 % interval, NaN if there is none.

    `known` of `fits` fits have a value.
    """

    value: float
    half: float = np.nan
    known: int = 0
    fits: int = 0


class Summary(NamedTuple):
    """Summary of the fits of one method in one cell.

    Attributes:
        values: By metric: means, and medians under the name of the metric with the
            suffix `_median`; `relative_seconds` are medians in any unit; `rejected` is
            a share.
        fits: Number of fits.
        made: Each set of versions and devices used for the fits.
    """

    values: Mapping[str, Value]
    fits: int
    made: tuple[str, ...]


Summaries = Mapping[tuple[str, str], Summary]
"""By label of the cell and name of the method."""


def interval(values: np.ndarray) -> float:
    """Half the 95 % interval of a mean, by Student's t; NaN for a single value.

    Examples:
        >>> round(interval(np.array([1.0, 2.0, 3.0])), 3)
        2.484
    """
    n = len(values)
    if n < 2:
        return np.nan
    return float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(n))


def summarise(found: Found) -> dict[tuple[str, str], Summary]:
    """Summaries of fits, by method and cell."""
    return {place: _summary(fits) for place, fits in found.items()}


def _summary(fits: Fits) -> Summary:
    values = {name: _mean(v, fits.groups) for name, v in fits.metrics.items()}
    for name in LONG_TAILED:
        if name in fits.metrics:
            values[f"{name}_median"] = _median(fits.metrics[name])
    values["seconds"] = _mean(fits.seconds, fits.groups)
    values["relative_seconds"] = _median(fits.seconds)
    gone, n = fits.metrics.get("rejected"), len(fits.seeds)
    if gone is not None and np.isfinite(gone).all():
        values["rejected"] = Value(float(gone.sum() / (gone.sum() + n)), np.nan, n, n)
    made = {
        ", ".join(f"{part} {version}" for part, version in used.items())
        for used in fits.versions
    }
    return Summary(values, n, tuple(sorted(made)))


def _mean(numbers: np.ndarray, groups: np.ndarray | None) -> Value:
    """Over all values; by means of groups, as fits of one group are correlated."""
    on = np.isfinite(numbers)
    known = numbers[on]
    if groups is None:
        apart = known
    else:
        apart = np.array([numbers[on & (groups == g)].mean() for g in set(groups[on])])
    mean = float(np.mean(known)) if len(known) else np.nan
    return Value(mean, interval(apart), len(known), len(numbers))


def _median(numbers: np.ndarray) -> Value:
    known = numbers[np.isfinite(numbers)]
    middle = float(np.median(known)) if len(known) else np.nan
    return Value(middle, np.nan, len(known), len(numbers))


def merged(study: Study, before: Summaries, now: Summaries) -> Summaries:
    """For each method and cell, the version with more fits; if equal, the current one.

    Times belong to one run: a study of times uses the current one, if there is any.
    """
    if study.alone:
        return now or before
    both = {**before, **now}
    return {
        place: max(
            (table[place] for table in (now, before) if place in table),
            key=lambda summary: summary.fits,
        )
        for place in both
    }
