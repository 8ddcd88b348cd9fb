"""Scores of forecasts of real series, with intervals by blocks of origins."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from .peers import Forecasts
from .runs import OURS, Results
from .sets import FORECASTS, RealSet, Series

DRAWS = 1000
"""Bootstrap draws of an interval."""

TOLERANCE = 1.05
"""Largest error that counts as good as the best other one."""

HELD = (0.80, 0.97)
"""Shares within 90 % bands that count as right."""


class Interval(NamedTuple):
    """An estimate with its 90 % interval."""

    value: float
    low: float
    high: float


class Score(NamedTuple):
    """Forecasts of a method at one horizon.

    Attributes:
        error: Root mean squared error over columns and origins, in standard deviations
            of each column in training; infinite if a forecast diverged.
        held: Share of the rows within 90 % bands; None without bands.
    """

    error: Interval
    held: Interval | None


class SetScores(NamedTuple):
    """Scores of all methods on a set.

    Attributes:
        origins: Number of forecasts.
        scores: By method, one per horizon of the set.
        ratios: Error of ours divided by the lowest of the others, one per horizon.
        best: Method with that lowest error, one per horizon.
    """

    origins: int
    scores: Mapping[str, tuple[Score, ...]]
    ratios: tuple[Interval, ...]
    best: tuple[str, ...]

    @property
    def judged(self) -> bool:
        """Whether there are enough forecasts."""
        return self.origins >= FORECASTS

    @property
    def as_good(self) -> bool:
        """At most 5 % worse than the best of the others at every horizon."""
        return all(ratio.value <= TOLERANCE for ratio in self.ratios)

    @property
    def better(self) -> bool:
        """Better than all others at every horizon."""
        return all(ratio.value < 1 for ratio in self.ratios)

    @property
    def held(self) -> bool:
        """Whether the bands hold 80 to 97 % at every horizon."""
        shares = [score.held for score in self.scores[OURS]]
        return all(s is not None and HELD[0] <= s.value <= HELD[1] for s in shares)


def score_set(name: str, of: RealSet, results: Results) -> SetScores | None:
    """Scores of a set; None if ours or all others were not run."""
    series = of.series()
    squares, inside = {}, {}
    for (whose, method), result in results.items():
        if whose == name and not np.isnan(result.forecasts[..., 0]).all():
            squares[method], inside[method] = losses(of, series, result.forecasts)
    others = [method for method in squares if method != OURS]
    if OURS not in squares or not others:
        return None
    origins = len(squares[OURS])
    picks = _blocks(origins, max(of.horizons))
    scores = {
        method: tuple(
            Score(
                _interval(squares[method][:, h], picks, root=True),
                None
                if inside[method] is None
                else _interval(inside[method][:, h], picks),
            )
            for h in range(len(of.horizons))
        )
        for method in squares
    }
    ratios, best = [], []
    for h in range(len(of.horizons)):
        lowest = min(others, key=lambda method, h=h: scores[method][h].error.value)
        ratios.append(_ratio(squares[OURS][:, h], squares[lowest][:, h], picks))
        best.append(lowest)
    return SetScores(origins, scores, tuple(ratios), tuple(best))


def losses(
    of: RealSet, series: Series, forecasts: Forecasts
) -> tuple[
    Float[np.ndarray, "origins horizons"],
    Float[np.ndarray, "origins horizons"] | None,
]:
    """Squared errors in training variances, and shares of columns within the bands."""
    ys, origins = series.values, of.origins(len(series.values))
    at = np.array(of.horizons) - 1
    truth = ys[origins[:, None] + at]
    made = forecasts[:, at]
    size = ys[: origins[0]].std(axis=0)
    square = np.mean(((made[..., 0] - truth) / size) ** 2, axis=2)
    square = np.where(np.isnan(square), np.inf, square)
    if np.isnan(made[..., 1]).all():
        return square, None
    within: Bool[np.ndarray, "origins horizons Ny"] = (made[..., 1] <= truth) & (
        truth <= made[..., 2]
    )
    return square, within.mean(axis=2)


def _blocks(n: int, length: int) -> np.ndarray:
    """Indices of origins, `(DRAWS, n)`: neighbours share most of their future."""
    rng = np.random.default_rng(0)
    starts = rng.integers(0, n, (DRAWS, -(-n // length)))
    whole = (starts[..., None] + np.arange(length)) % n
    return whole.reshape(DRAWS, -1)[:, :n]


def _ends(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.05, 0.95], method="nearest")
    return float(low), float(high)


def _interval(values: np.ndarray, picks: np.ndarray, root: bool = False) -> Interval:
    change = np.sqrt if root else np.asarray
    drawn = change(values[picks].mean(axis=1))
    return Interval(float(change(values.mean())), *_ends(drawn))


def _ratio(ours: np.ndarray, other: np.ndarray, picks: np.ndarray) -> Interval:
    drawn = np.sqrt(ours[picks].mean(axis=1) / other[picks].mean(axis=1))
    return Interval(float(np.sqrt(ours.mean() / other.mean())), *_ends(drawn))
