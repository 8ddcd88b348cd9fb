"""Forecasts of other methods: each is fitted to the first rows, and never again.

A method gets what ours gets: the series, the inputs and the declared season. It returns
forecasts from each origin, NaN where it has none.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ...extras import need
from ..methods.flow_sindy import (
    THRESHOLDS,
    Regression,
    by_bic,
    monomials,
    stlsq_fits,
)
from ..methods.sindy import quiet as quiet_sindy
from ..methods.sindy import sindy
from .sets import RealSet, Series

SPREAD = 1.6448536
"""Half a normal 90 % band, in standard deviations."""

SUBSTEPS = 20
"""Runge-Kutta steps of PySINDy's equations per row."""

FAR = 100.0
"""Ranges of the data beyond which a forecast has diverged, as for ours."""

DELAYS = 6
"""Longest delay of a measured input in an autoregression."""

Forecasts = Float[np.ndarray, "origins horizon Ny 3"]
"""Mean, and lower and upper end of the 90 % band, from each origin."""


class Linear(NamedTuple):
    """y[t] = constant + sum of lags[p] y[t-p-1] + drive e[t], with noise.

    Attributes:
        constant: `(k,)`.
        lags: `(P, k, k)`.
        drive: `(k, m)`.
        noise: Covariance, `(k, k)`.
    """

    constant: np.ndarray
    lags: np.ndarray
    drive: np.ndarray
    noise: np.ndarray

    def forecasts(self, of: RealSet, ys: np.ndarray, driving: np.ndarray) -> Forecasts:
        """Forecasts by the equation, with bands by its moving averages."""
        origins, horizon = of.origins(len(ys)), max(of.horizons)
        before, k = len(self.lags), ys.shape[1]
        past = [ys[origins - p] for p in range(before, 0, -1)]
        weights, covariance, made = [np.eye(k)], np.zeros((k, k)), []
        for h in range(horizon):
            mean = self.constant + driving[origins + h] @ self.drive.T
            for p in range(before):
                mean = mean + past[-1 - p] @ self.lags[p].T
            past.append(mean)
            covariance = covariance + weights[h] @ self.noise @ weights[h].T
            weights.append(
                sum(
                    (weights[h - p] @ self.lags[p] for p in range(min(before, h + 1))),
                    np.zeros((k, k)),
                )
            )
            made.append(_normal(mean, np.sqrt(np.diag(covariance))))
        return np.stack(made, axis=1)


def persistence(of: RealSet, series: Series) -> Forecasts:
    """The last row, with bands from the differences over as many rows in training."""
    ys, origins = series.values, of.origins(len(series.values))
    known, made = ys[: origins[0]], []
    for h in range(1, max(of.horizons) + 1):
        spread = np.std(known[h:] - known[:-h], axis=0)
        made.append(_normal(ys[origins - 1], spread))
    return np.stack(made, axis=1)


def autoregression(of: RealSet, series: Series) -> Forecasts:
    """An autoregression of each column by statsmodels, of the order of lowest AIC.

    The delays of measured inputs, up to 6, are selected by AIC as well.
    """
    ar = need("statsmodels.tsa.ar_model", extra="peers", who="The study `real`")
    first, columns = int(of.origins(len(series.values))[0]), []
    most = min(int(10 * np.log10(first)), first // 4)
    for y in series.values.T:
        best: Any = None
        for delays in range(DELAYS + 1 if of.measured else 1):
            driving = _driving(of, series, delays)
            known, given = y[DELAYS:first], driving[DELAYS:first]
            options = {"exog": given} if given.shape[1] else {}
            with _quiet():
                order = ar.ar_select_order(known, most, ic="aic", **options).ar_lags
                found = ar.AutoReg(known, order or 0, hold_back=most, **options).fit()
            if best is None or found.aic < best[0]:
                n = len(order or ())
                lags, drive = found.params[1 : 1 + n], found.params[1 + n :]
                model = Linear(
                    found.params[:1],
                    lags[:, None, None],
                    drive[None],
                    np.array([[found.sigma2]]),
                )
                best = found.aic, model, driving
        columns.append(best[1].forecasts(of, y[:, None], best[2]))
    return np.concatenate(columns, axis=2)


def vector_autoregression(of: RealSet, series: Series) -> Forecasts:
    """A VAR of all columns by statsmodels, of the order of lowest AIC.

    Measured inputs are columns of it, not known in advance. NaN for a single column.
    """
    ys, us = series
    season = np.zeros((len(ys), 0))
    if us is not None:
        measured, season = np.split(us, [len(of.measured)], axis=1)
        ys = np.column_stack([ys, measured])
    first, k = int(of.origins(len(ys))[0]), ys.shape[1]
    if k == 1:
        shape = (len(of.origins(len(ys))), max(of.horizons), 1, 3)
        return np.full(shape, np.nan)
    models = need("statsmodels.tsa.api", extra="peers", who="The study `real`")
    given = season[:first] if season.shape[1] else None
    with _quiet():
        fitted = models.VAR(ys[:first], exog=given).fit(
            min(int(12 * (first / 100) ** 0.25), first // (4 * k)), ic="aic"
        )
    params = np.asarray(fitted.params)
    m = season.shape[1]
    model = Linear(
        params[0],
        np.asarray(fitted.coefs).reshape(-1, k, k),
        params[1 : 1 + m].T,
        np.asarray(fitted.sigma_u),
    )
    return model.forecasts(of, ys, season)[:, :, : len(of.columns)]


def pysindy(of: RealSet, series: Series) -> Forecasts:
    """PySINDy's flow of degree 2, without bands.

    STLSQ on finite differences of the rows, with the threshold of lowest BIC.
    """
    ys, us = series
    first, k = int(of.origins(len(ys))[0]), ys.shape[1]
    inputs = np.zeros((len(ys), 0)) if us is None else us
    both = np.column_stack([ys, inputs])
    scale = np.std(both[:first], axis=0)
    both = both / scale
    with quiet_sindy(0):
        rates = np.asarray(sindy().FiniteDifference()(both[:first, :k], 1.0))
        data = Regression(monomials(both[:first], 2), rates)
        _, A = by_bic(data, stlsq_fits(data, THRESHOLDS), None)
    origins, made = of.origins(len(ys)), []
    x, far = both[origins - 1, :k], FAR * np.ptp(both[:first, :k], axis=0)
    for h in range(max(of.horizons)):
        u = both[origins + h, k:]

        def rate(x: np.ndarray, u: np.ndarray = u) -> np.ndarray:
            return monomials(np.column_stack([x, u]), 2) @ A.T

        for _ in range(SUBSTEPS):
            x = _runge_kutta(rate, x, 1 / SUBSTEPS)
            x = np.where(np.abs(x).max(axis=1, keepdims=True) < far, x, np.nan)
        made.append(x * scale[:k])
    mean = np.stack(made, axis=1)
    return np.stack([mean, *(2 * [np.full_like(mean, np.nan)])], axis=-1)


PEERS: dict[str, Callable[[RealSet, Series], Forecasts]] = {
    "persistence": persistence,
    "AR": autoregression,
    "VAR": vector_autoregression,
    "PySINDy": pysindy,
}
"""Other methods by name."""


def _driving(of: RealSet, series: Series, delays: int) -> np.ndarray:
    """Inputs, and measured ones also with delays; the first rows repeat the first."""
    if series.inputs is None:
        return np.zeros((len(series.values), 0))
    measured = series.inputs[:, : len(of.measured)]
    late = [
        np.concatenate([measured[:1].repeat(d, axis=0), measured[: len(measured) - d]])
        for d in range(1, delays + 1)
    ]
    return np.column_stack([series.inputs, *late])


def _normal(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Mean and ends of the band."""
    return np.stack([mean, mean - SPREAD * spread, mean + SPREAD * spread], axis=-1)


def _runge_kutta(rate: Callable, x: np.ndarray, step: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        a = rate(x)
        b = rate(x + step / 2 * a)
        c = rate(x + step / 2 * b)
        return x + step / 6 * (a + 2 * b + 2 * c + rate(x + step * c))


@contextmanager
def _quiet() -> Iterator[None]:
    """Statsmodels warns of indices without dates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
