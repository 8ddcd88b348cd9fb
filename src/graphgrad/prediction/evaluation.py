"""Rolling-origin evaluation of forecasts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from ..checks import check_at_least
from ..data.series import is_regular
from ..fits.record import Fit
from .ensemble import Ensemble
from .forecast import Draws
from .rollout import divergence
from .states import filtered_states


class Evaluation(NamedTuple):
    """Errors of forecasts by number of steps ahead.

    Attributes:
        rmse: Root mean squared error of the median forecast, `(horizon, Ny)`.
        persistence: RMSE of the last observed value as a forecast.
        coverage: Share of the observations within the band, `(horizon, Ny)`.
        level: Probability of the band.
        diverged: Share of the members that diverged, by step.
        origins: Number of rows before each forecast.
        forecasts: The median forecasts, `(origins, horizon, Ny)`.
        bands: Ends of their bands, `(origins, horizon, Ny, 2)`.
    """

    rmse: Float[np.ndarray, "horizon Ny"]
    persistence: Float[np.ndarray, "horizon Ny"]
    coverage: Float[np.ndarray, "horizon Ny"]
    level: float
    diverged: Float[np.ndarray, "horizon"]
    origins: Int[np.ndarray, "origins"]
    forecasts: Float[np.ndarray, "origins horizon Ny"]
    bands: Float[np.ndarray, "origins horizon Ny 2"]

    def __str__(self) -> str:
        lines = ["step    RMSE  persistence  in band  diverged"]
        for h, (ours, last, inside) in enumerate(
            zip(self.rmse, self.persistence, self.coverage, strict=True)
        ):
            lines.append(
                f"{h + 1:4d}  {_mean_square(ours):6.3g}  {_mean_square(last):11.3g}  "
                f"{_mean(inside):7.0%}  {self.diverged[h]:8.0%}"
            )
        return "\n".join(lines)


def evaluate(
    key: PRNGKeyArray,
    fit: Fit,
    y: Any,
    *,
    filter_key: PRNGKeyArray,
    horizon: int = 10,
    origins: Any = 10,
    members: int = 200,
    level: float = 0.9,
    times: Any = None,
    inputs: Any = None,
) -> Evaluation:
    """Compare forecasts from several rows of a series with the data.

    Args:
        key: Random key of the draws.
        fit: The fit.
        y: One series with equal steps, not used by the fit.
        filter_key: Random key of the filter.
        horizon: Number of steps of each forecast.
        origins: As for `choose_origins`.
        members: Number of draws.
        level: Probability of the bands.
        times: Times of `y`.
        inputs: Inputs of `y`.
    """
    draws = Draws.of(key, fit, members=members, level=level, steps=horizon)
    panel, data = fit.rows(y, times, inputs)
    series = panel.series[0]
    if len(panel.series) > 1 or not is_regular(series.times, fit.dt):
        raise ValueError(
            "`y` must be one series whose rows are dt apart, got another. Evaluate "
            "each series separately; fill missing rows with NaN."
        )
    chosen = choose_origins(origins, len(series.values), horizon)
    driving = fit.drivers(inputs, panel)
    filtered = filtered_states(filter_key, fit.engine, data)[0][0]
    distributions = draws.distributions(data, filtered)
    forecasts, gone = [], []
    for origin in chosen.tolist():
        future = None
        if driving is not None:
            future = driving.series[0].values[origin - 1 : origin + horizon]
        states, observed = draws.after(distributions, origin - 1, horizon, future)
        forecasts.append(observed)
        gone.append(divergence(states.members, level)[0])
    return evaluation(series.values, chosen, forecasts, np.mean(gone, axis=0))


def choose_origins(origins: Any, rows: int, horizon: int) -> Int[np.ndarray, "origins"]:
    """Number of rows before each origin.

    Args:
        origins: How many, spread over the second half of the series; or a list.
        rows: Number of rows.
        horizon: Number of rows after each origin.

    Examples:
        >>> choose_origins(3, rows=100, horizon=10).tolist()
        [50, 70, 90]
    """
    last = rows - check_at_least("horizon", horizon, 1, "Try 10.")
    if last < 1:
        raise ValueError(
            f"`horizon` must be below the number of rows, {rows}, got {horizon}. Give "
            "fewer steps or more rows."
        )
    if isinstance(origins, Sequence | np.ndarray):
        chosen = np.array([check_at_least("origins", o, 1, "Try 10.") for o in origins])
    else:
        number = check_at_least("origins", origins, 1, "Try 10.")
        chosen = np.unique(np.linspace(min(rows // 2, last), last, number).astype(int))
    if not len(chosen) or chosen.min() < 1 or chosen.max() > last:
        raise ValueError(
            f"`origins` must be between 1 and {last}, so that {horizon} of the {rows} "
            f"rows are left, got {chosen.tolist()}. Give fewer steps or more rows."
        )
    return chosen


def evaluation(
    ys: Float[np.ndarray, "T Ny"],
    origins: Int[np.ndarray, "origins"],
    forecasts: list[Ensemble],
    diverged: Float[np.ndarray, "horizon"],
) -> Evaluation:
    """Errors of forecasts of observations, one per origin."""
    horizon = forecasts[0].members.shape[1]
    truth = np.stack([ys[o : o + horizon] for o in origins])
    medians = np.stack([forecast.median for forecast in forecasts])
    bands = np.stack([forecast.band() for forecast in forecasts])
    last = np.stack([_last_seen(ys[:o]) for o in origins])[:, None]
    observed = ~np.isnan(truth) & ~np.isnan(bands[..., 0])
    inside = (bands[..., 0] <= truth) & (truth <= bands[..., 1])
    share = np.where(observed, inside, 0).sum(axis=0) / np.maximum(
        observed.sum(axis=0), 1
    )
    return Evaluation(
        rmse=_rmse(medians - truth),
        persistence=_rmse(last - truth),
        coverage=np.where(observed.any(axis=0), share, np.nan),
        level=forecasts[0].level,
        diverged=diverged,
        origins=origins,
        forecasts=medians,
        bands=bands,
    )


def _last_seen(ys: np.ndarray) -> np.ndarray:
    """The last observed value of each column; NaN if none."""
    return np.array(
        [c[~np.isnan(c)][-1] if (~np.isnan(c)).any() else np.nan for c in ys.T]
    )


def _rmse(errors: np.ndarray) -> np.ndarray:
    """RMSE over origins, of observed entries."""
    observed = ~np.isnan(errors)
    squares = np.where(observed, errors, 0) ** 2
    mean = squares.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    return np.where(observed.any(axis=0), np.sqrt(mean), np.nan)


def _mean_square(errors: np.ndarray) -> float:
    observed = errors[~np.isnan(errors)]
    return float(np.sqrt(np.mean(observed**2))) if len(observed) else np.nan


def _mean(shares: np.ndarray) -> float:
    observed = shares[~np.isnan(shares)]
    return float(np.mean(observed)) if len(observed) else np.nan
