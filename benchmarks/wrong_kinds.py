"""Kinds of data that no model of the class fits, or that mislead: `wrong_models.py`.

All have 200 rows of two columns, which do not act on each other unless `acts` says so.
`seen_by` was written before the first fit: which check can see the kind, and why.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.signal import lfilter

ROWS, BURN = 200, 200
"""Rows of a series, and rows before them that are left out."""

DT = 0.25
"""Interval between rows of the kinds that are flows."""


class Kind(NamedTuple):
    """A kind of data.

    Attributes:
        title: What it is.
        draw: A series, from a random generator.
        seen_by: The check that can see it, and why; empty if none can.
        remark: Why none can, or what is right to find.
        flow: Whether `dt` is given, so that a flow is the default.
        acts: Pairs (a, b) of columns with b acting on a.
        possible: Whether a model of the class can be right, so that `converged` is not
            false.
    """

    title: str
    draw: Callable[[Generator], np.ndarray]
    seen_by: str = ""
    remark: str = ""
    flow: bool = False
    acts: tuple[tuple[int, int], ...] = ()
    possible: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the estimator: the defaults, and `dt` of a flow."""
        return {"dt": DT} if self.flow else {}


def _noise(rng: Generator, rows: int = ROWS + BURN) -> np.ndarray:
    return rng.normal(size=(rows, 2))


def _ar(shocks: np.ndarray, weight: float = 0.7) -> np.ndarray:
    """Two autoregressions of order one, without their first rows."""
    return np.asarray(lfilter([1.0], [1.0, -weight], shocks, axis=0))[-ROWS:]


def _iterate(step: Callable[[np.ndarray], np.ndarray], rng: Generator) -> np.ndarray:
    """A map of each column, with a little measurement noise."""
    x, found = rng.uniform(0.2, 0.8, 2), []
    for _ in range(ROWS + BURN):
        x = step(x)
        found.append(x)
    kept = np.array(found[-ROWS:])
    return kept + 0.02 * kept.std(axis=0) * _noise(rng, ROWS)


def _broken_weight(rng: Generator) -> np.ndarray:
    x, found = np.zeros(2), []
    for t in range(ROWS):
        x = (0.8 if t < ROWS // 2 else -0.8) * x + rng.normal(size=2)
        found.append(x)
    return np.array(found)


def _mean_break(rng: Generator) -> np.ndarray:
    return _ar(_noise(rng), 0.3) + 6.0 * (np.arange(ROWS) >= ROWS // 2)[:, None]


def _hidden_noise(rng: Generator) -> np.ndarray:
    driver = _ar(_noise(rng), 0.8)[:, :1]
    later = np.concatenate([driver[:1], driver[:-1]])
    return np.concatenate([driver, later], axis=1) + 0.5 * _noise(rng, ROWS)


def _hidden_chaos(rng: Generator) -> np.ndarray:
    """Two columns that relax at their own rates towards a hidden state of Lorenz 63."""
    h, x, found = rng.normal([0, 0, 25], 1.0), np.zeros(2), []
    small = DT / 100
    for t in range(100 * (ROWS + 40)):
        a, b, c = h
        # The driver is slowed, so that a turn of it has twelve rows.
        h = h + 0.25 * small * np.array(
            [10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c]
        )
        x = x + small * (np.array([1.0, 0.4]) * (h[0] - x))
        if t % 100 == 99:
            found.append(x)
    kept = np.array(found[-ROWS:])
    return kept + 0.05 * kept.std(axis=0) * _noise(rng, ROWS)


def _oscillators(rng: Generator, times: np.ndarray, clip: float = 9.0) -> np.ndarray:
    """Two oscillators of Van der Pol, of which one coordinate each is seen."""
    small, x = 0.005, rng.normal(size=(2, 2))
    rate = np.array([1.0, 0.73])
    count = int(times[-1] / small) + 2
    path = np.empty((count, 2))
    for t in range(count):
        path[t] = x[0]
        x = x + small * rate * np.array([x[1], (1 - x[0] ** 2) * x[1] - x[0]])
    grid = small * np.arange(count)
    seen = np.stack([np.interp(times, grid, column) for column in path.T], axis=1)
    return np.clip(seen + 0.05 * _noise(rng, ROWS), -clip, clip)


def _coarse(rng: Generator) -> np.ndarray:
    """Both coordinates of an oscillator of Van der Pol, 2.3 rows a period."""
    small, x, found = 0.01, rng.normal(size=2), []
    for t in range(290 * (ROWS + 10)):
        x = x + small * np.array([x[1], (1 - x[0] ** 2) * x[1] - x[0]])
        if t % 290 == 289:
            found.append(x)
    return np.array(found[-ROWS:]) + 0.05 * _noise(rng, ROWS)


def _jittered(rng: Generator) -> np.ndarray:
    """Both coordinates of a turn of 25 rows, at times that are not as said."""
    angle = 2 * np.pi / 25 * (np.arange(ROWS) + 0.3 * rng.normal(size=ROWS))
    path = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return path + 0.02 * _noise(rng, ROWS)


def _delay(rng: Generator) -> np.ndarray:
    """Two equations of Mackey and Glass, tau = 17, in rows six units of time apart."""
    small, lag = 0.1, 170
    path = list(0.9 + 0.2 * rng.random((lag + 1, 2)))
    for _ in range(60 * (ROWS + 50)):
        x, before = path[-1], path[-1 - lag]
        path.append(x + small * (0.2 * before / (1 + before**10) - 0.1 * x))
    kept = np.array(path)[-60 * ROWS :: 60]
    return kept + 0.02 * kept.std(axis=0) * _noise(rng, ROWS)


def _long_memory(rng: Generator) -> np.ndarray:
    """Fractional noise of d = 0.4, by its moving average."""
    k = np.arange(1, ROWS + BURN)
    weights = np.cumprod(np.concatenate([[1.0], (k - 1 + 0.4) / k]))
    return np.asarray(lfilter(weights, [1.0], _noise(rng), axis=0))[-ROWS:]


def _garch(rng: Generator) -> np.ndarray:
    e, found, variance = np.zeros(2), [], np.ones(2)
    for z in _noise(rng):
        variance = 0.05 + 0.35 * e**2 + 0.6 * variance
        e = np.sqrt(variance) * z
        found.append(e)
    return _ar(np.array(found), 0.5)


def _season(rng: Generator) -> np.ndarray:
    t = np.arange(ROWS)[:, None]
    season = np.sin(2 * np.pi * (t / 12 + rng.random(2)))
    return 0.03 * t + season + 0.3 * _noise(rng, ROWS)


def _multiplied(rng: Generator) -> np.ndarray:
    x, found = np.ones(2), []
    for z in _noise(rng):
        x = 0.2 + 0.8 * x * np.exp(0.5 * z - 0.125)
        found.append(x)
    return np.array(found[-ROWS:])


def _outliers(rng: Generator) -> np.ndarray:
    y, hit = _ar(_noise(rng)), rng.random(ROWS) < 0.02
    y[hit] += 10 * rng.choice([-1, 1], size=(hit.sum(), 2))
    return y


def _missing(rng: Generator) -> np.ndarray:
    y = _ar(_noise(rng))
    return np.where(y > 1.0, np.nan, y)


def _copy(rng: Generator) -> np.ndarray:
    y = _ar(_noise(rng))[:, 0]
    return np.stack([y, np.concatenate([y[:1], y[:-1]])], axis=1) + 0.1 * _noise(
        rng, ROWS
    )


LINEAR = "the residuals of a linear fit are not normal"

KINDS = {
    "white noise": Kind(
        "independent normal numbers",
        lambda rng: _noise(rng, ROWS),
        "selection: no term predicts anything, `nothing_left`",
    ),
    "random walk": Kind(
        "sums of normal numbers",
        lambda rng: np.cumsum(_noise(rng, ROWS), axis=0),
        remark="x[t+1] = x[t] is right; only arrows are false",
        possible=True,
    ),
    "walk with drift": Kind(
        "the same with a drift of 0.3 a step",
        lambda rng: np.cumsum(0.3 + _noise(rng, ROWS), axis=0),
        remark="x[t+1] = 0.3 + x[t] is right; only arrows are false",
        possible=True,
    ),
    "mean break": Kind(
        "autoregressions whose mean rises by six deviations of the noise half-way",
        _mean_break,
        f"normality: {LINEAR}, as the break is one of them",
    ),
    "coefficient break": Kind(
        "x[t+1] = 0.8 x[t], and -0.8 x[t] from half-way",
        _broken_weight,
        "memory: residuals remember, with one sign and then the other",
    ),
    "hidden driver": Kind(
        "both columns follow a hidden autoregression, the second a step later",
        _hidden_noise,
        remark="an arrow predicts: nothing in the data tells it from an action",
    ),
    "hidden chaos": Kind(
        "both columns relax towards a hidden state of Lorenz 63",
        _hidden_chaos,
        "memory: a smooth driver leaves residuals that remember",
        flow=True,
    ),
    "coarse rounding": Kind(
        "autoregressions rounded to whole deviations of the noise",
        lambda rng: np.round(_ar(_noise(rng))),
        remark="rounding is nearly normal noise, for which a linear fit is right",
    ),
    "heavy tails": Kind(
        "autoregressions with noise of Student t, two degrees of freedom",
        lambda rng: _ar(rng.standard_t(2, size=(ROWS + BURN, 2))),
        f"normality: {LINEAR}",
    ),
    "outliers": Kind(
        "autoregressions with 2 % of the rows ten deviations off",
        _outliers,
        f"normality: {LINEAR}",
    ),
    "Ricker": Kind(
        "maps of Ricker, x exp(2.8 (1 - x))",
        lambda rng: _iterate(lambda x: x * np.exp(2.8 * (1 - x)), rng),
        remark="residuals of a parabola are a function of the state, without memory",
    ),
    "tent": Kind(
        "tent maps of slope 1.9",
        lambda rng: _iterate(lambda x: 1.9 * np.minimum(x, 1 - x), rng),
        remark="as for Ricker",
    ),
    "delay": Kind(
        "equations of Mackey and Glass, with a delay of three rows",
        _delay,
        "memory: residuals remember what the delayed value was",
    ),
    "coarse flow": Kind(
        "an oscillator of Van der Pol with 2.3 rows a period",
        _coarse,
        "solver: the interval is too long for a flow",
        flow=True,
        acts=((0, 1), (1, 0)),
    ),
    "half seen": Kind(
        "two oscillators of Van der Pol, of each of which one coordinate is seen",
        lambda rng: _oscillators(rng, DT * (1 + np.arange(ROWS))),
        "memory: the coordinate that is missing is a memory",
        flow=True,
    ),
    "long memory": Kind(
        "fractional noise of order 0.4",
        _long_memory,
        remark="200 rows of it are like a slow state seen with noise",
    ),
    "GARCH": Kind(
        "autoregressions whose noise has a variance that clusters",
        _garch,
        f"normality: {LINEAR}",
    ),
    "season and trend": Kind(
        "a line and a sine of 12 rows a period, with noise",
        _season,
        "memory: two states cannot turn and rise",
    ),
    "multiplied noise": Kind(
        "growth with log-normal factors",
        _multiplied,
        f"normality: {LINEAR}",
    ),
    "lagged copy": Kind(
        "the second column is the first, a row before, each with noise",
        _copy,
        remark="x2[t+1] = x1[t] is right; the other arrow is false",
        acts=((1, 0),),
        possible=True,
    ),
    "jittered times": Kind(
        "a turn of 25 rows a period, at times that are 0.3 intervals off",
        _jittered,
        remark="errors of times are like measurement noise of another shape",
        flow=True,
        acts=((0, 1), (1, 0)),
    ),
    "clipped": Kind(
        "the oscillators of `half seen`, clipped at three fifths of their range",
        lambda rng: _oscillators(rng, DT * (1 + np.arange(ROWS)), clip=1.2),
        "memory: as for `half seen`",
        flow=True,
    ),
    "counts": Kind(
        "Poisson numbers of mean 2, whose logarithm is an autoregression",
        lambda rng: rng.poisson(2 * np.exp(0.4 * _ar(_noise(rng)))).astype(float),
        f"normality: {LINEAR}",
    ),
    "missing when high": Kind(
        "autoregressions whose values above one deviation of the noise are missing",
        _missing,
        remark="what is left of the residuals is nearly normal",
    ),
}
"""All kinds by name."""
