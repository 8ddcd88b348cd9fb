"""One-step predictions of a fit beside those of persistence and an autoregression."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..data.series import is_regular
from ..fits.record import Fit
from .baselines import LagModel, fit_ar

FEWEST = 20
"""Fewest predictions that are compared."""


class Skill(NamedTuple):
    """Root mean squared errors of one-step predictions of a column, on the same rows.

    Attributes:
        column: Name of the column.
        error: That of the fit.
        r2: Share of the variance that the fit predicts.
        persistence: Error of persistence: each value as the last one observed.
        autoregression: Error of an autoregression, as expected on other data from its
            number of parameters; NaN for uneven intervals.
        order: Order of the autoregression.
        p_persistence: Probability of a fit so much worse than persistence by chance.
        p_autoregression: Likewise for the autoregression.
    """

    column: str
    error: float
    r2: float
    persistence: float
    autoregression: float
    order: int
    p_persistence: float
    p_autoregression: float


def one_step_errors(fit: Fit) -> list[Float[np.ndarray, "length Ny"]] | None:
    """Observations less their one-step predictions, for each series.

    NaN where nothing was observed, and in the first row of a series from which the
    initial state is estimated. None for a fit without predictions: by a solver of the
    paper, or from an older file.
    """
    predicted = getattr(fit.solution, "predicted", None)
    if predicted is None or not np.isfinite(predicted).any():
        return None
    predicted = np.asarray(predicted)
    errors = []
    for series, rows in zip(fit.panel.series, fit.data.rows, strict=True):
        part = series.values - predicted[rows]
        part[: int(fit.begins_anywhere)] = np.nan
        errors.append(part)
    return errors


def one_step_skill(fit: Fit) -> list[Skill]:
    """Compare the one-step predictions of each column; empty without predictions."""
    errors = one_step_errors(fit)
    if errors is None:
        return []
    values = [series.values for series in fit.panel.series]
    last, intervals = zip(
        *(_last(part, fit.times(i)) for i, part in enumerate(values)), strict=True
    )
    own, weights = np.concatenate(errors), 1 / np.concatenate(intervals)
    persistent = np.concatenate(values) - np.concatenate(last)
    model: LagModel | None = None
    regressive = np.full_like(own, np.nan)
    if all(is_regular(series.times, fit.dt) for series in fit.panel.series):
        model = fit_ar(values)
        parts = [part - model.one_step(part) for part in values]
        regressive = np.concatenate(parts)
    whole = np.concatenate(values)
    return [
        _skill(
            name,
            *(each[:, j] for each in (whole, own, persistent, regressive, weights)),
            order=0 if model is None else int(model.n_parameters[j]) - 1,
        )
        for j, name in enumerate(fit.columns)
    ]


def _last(values: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last value observed before each row, and the time since then."""
    rows = np.arange(len(values))[:, None]
    latest = np.maximum.accumulate(np.where(np.isnan(values), -1, rows), axis=0)
    before = np.concatenate([np.full((1, values.shape[1]), -1), latest[:-1]])
    known, there = before >= 0, np.maximum(before, 0)
    last = np.where(known, np.take_along_axis(values, there, axis=0), np.nan)
    return last, np.where(known, times[:, None] - times[there], np.nan)


def _skill(
    name: str,
    values: np.ndarray,
    own: np.ndarray,
    persistent: np.ndarray,
    regressive: np.ndarray,
    weights: np.ndarray,
    order: int,
) -> Skill:
    """Compare the predictions of one column, each pair on the rows of both."""
    used = np.isfinite(own) & np.isfinite(persistent)
    both = used & np.isfinite(regressive)
    n, k = int(both.sum()), order + 1
    # Akaike's final prediction error: the autoregression was fitted to these rows.
    factor = (n + k) / (n - k) if n > k else np.inf
    regressive = regressive * math.sqrt(factor)
    variance = np.var(values[used]) if used.any() else np.nan
    return Skill(
        column=name,
        error=_rms(own[used]),
        r2=float(1 - np.mean(own[used] ** 2) / variance) if variance > 0 else np.nan,
        persistence=_rms(persistent[used]),
        autoregression=_rms(regressive[both]),
        order=order,
        p_persistence=worse(own[used], persistent[used], weights[used]),
        p_autoregression=worse(own[both], regressive[both], weights[both]),
    )


def _rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2))) if len(errors) else np.nan


def worse(
    own: Float[np.ndarray, "n"],
    other: Float[np.ndarray, "n"],
    weights: Float[np.ndarray, "n"],
) -> float:
    """Probability of errors so much larger than others by chance; 1 for too few.

    The one-sided test of Diebold and Mariano (Journal of Business and Economic
    Statistics 13, 1995) on weighted squared errors.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> one, two = rng.normal(size=(2, 100))
        >>> worse(one, two, np.ones(100)) > 0.01
        True
        >>> worse(2 * one, two, np.ones(100)) < 1e-6
        True
    """
    gaps, n = weights * (own**2 - other**2), len(own)
    if n < FEWEST or not np.isfinite(gaps).all():
        return 1.0
    away = gaps - gaps.mean()
    # Newey and West's variance of the mean.
    reach = int(n ** (1 / 3))
    variance = np.mean(away**2)
    for lag in range(1, reach + 1):
        share = 1 - lag / (reach + 1)
        variance += 2 * share * np.sum(away[lag:] * away[:-lag]) / n
    if not variance > 0:
        return 1.0
    return normal_tail(float(gaps.mean() / math.sqrt(variance / n)))


def normal_tail(z: float) -> float:
    """Survival function of the standard normal distribution."""
    return math.erfc(z / math.sqrt(2)) / 2
