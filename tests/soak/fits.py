"""Fits by the real solver: an answer without NaN, or a clear error; memory; threads.

`PYTHONPATH=tests python -m soak.fits --fits 1000` prints how the fits of one process
end, the memory that they need, and whether eight threads find the same.
"""

import argparse
import resource
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import graphgrad as gg
from graphgrad.estimator import fitting
from helpers.outcomes import Tally, faults, label, tally

REAL = fitting.adaptive
"""The solver, before another takes its place."""

LONGEST = 60.0
"""Most seconds of processor time of a fit."""

HANG = 600.0
"""Most seconds of a fit by the clock, on a machine that does much else."""

LENGTH = 40
"""Most rows: few shapes share few programs."""


def rows(rng: np.random.Generator) -> np.ndarray:
    """A short series of one to three columns, with up to two faults."""
    shape = LENGTH - int(rng.integers(3)), int(rng.integers(1, 4))
    y = rng.normal(size=shape)
    if rng.random() < 0.5:
        y = np.cumsum(y, axis=0)
    for _ in range(rng.integers(3)):
        i, j = (int(rng.integers(n)) for n in shape)
        match rng.integers(9):
            case 0:
                y[:, j] = 0.0
            case 1:
                y[:, j] = y[:, 0]
            case 2:
                y[:, j] *= 10.0 ** rng.integers(-12, 13)
            case 3:
                y[:, j] += 10.0 ** rng.integers(0, 9)
            case 4:
                y[rng.random(shape) < 0.3] = np.nan
            case 5:
                y[i, j] = rng.choice([1e6, -1e12, 1e300, np.inf])
            case 6:
                y = np.round(y)
            case 7:
                y[i:, j] = np.nan
            case _:
                y[:, j] = np.arange(shape[0]) ** 2.0
    return y


def settings(rng: np.random.Generator) -> dict[str, Any]:
    """A map, a flow or a difference."""
    given: list[dict[str, Any]] = [{}, {}, {"dt": 0.5}, {"dynamics": "difference"}]
    return {"degree": 1, **given[rng.integers(4)]}


def fitted(options: dict[str, Any], y: np.ndarray) -> gg.GraphGrad:
    """A fit; an `ArithmeticError` if its numbers are none, or it took too long."""
    begin = np.array([time.process_time(), time.monotonic()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gg.GraphGrad(**options).fit(y)
    numbers = model.coef_, model.standard_errors_, model.state_means_
    if not all(np.isfinite(each).all() for each in numbers):
        raise ArithmeticError(f"NaN, and the outcome is {model.outcome_}")
    if not np.isfinite(model.log_likelihood_) and model.outcome_ == "converged":
        raise ArithmeticError("converged without a likelihood")
    if not (model.equations() and model.summary() and model.advice_):
        raise ArithmeticError("nothing to say")
    taken = np.array([time.process_time(), time.monotonic()]) - begin
    if (taken > (LONGEST, HANG)).any():
        raise ArithmeticError(f"a fit of {taken[0]:.0f} s, {taken[1]:.0f} by the clock")
    return model


def walk(rng: np.random.Generator) -> np.ndarray:
    """A random walk, always of the same shape."""
    return rng.normal(size=(LENGTH, 1)).cumsum(axis=0)


def campaign(fits: int, seed: int = 0, *, plain: bool = False) -> Tally:
    """Fit odd series.

    Args:
        fits: Number of fits.
        seed: Seed.
        plain: Whether to fit random walks instead, which share all programs.
    """
    found: Tally = Counter()
    stub, fitting.adaptive = fitting.adaptive, REAL
    try:
        for number in range(fits):
            rng = np.random.default_rng([seed, number])
            y, options = (walk(rng), {}) if plain else (rows(rng), settings(rng))
            what = label(seed, number, options, y.shape)
            tally(found, what, lambda options=options, y=y: fitted(options, y))
    finally:
        fitting.adaptive = stub
    return found


def threads(fits: int, seed: int = 0, workers: int = 8) -> bool:
    """Whether fits at once on several threads are those of one after the other."""
    series = []
    for number in range(fits):
        y = np.random.default_rng([seed, number]).normal(size=(LENGTH, 2))
        series.append(np.cumsum(y, axis=0) if number % 2 else y)

    def found(y: np.ndarray) -> np.ndarray:
        return fitted({"degree": 1}, y).coef_

    with ThreadPoolExecutor(workers) as pool:
        at_once = list(pool.map(found, series))
    return all(
        np.array_equal(one, found(y)) for one, y in zip(at_once, series, strict=True)
    )


def megabytes() -> float:
    """Memory of this process now; its highest where the system does not say."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    """Print what came out, in ten parts of the fits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--plain", action="store_true", help="random walks alone")
    options = parser.parse_args()
    found: Tally = Counter()
    until = time.monotonic() + 60 * options.minutes
    for part in range(10):
        if time.monotonic() < until:
            seed = 1000 * options.seed + part
            new = campaign(options.fits // 10, seed, plain=options.plain)
            found += new
            print(f"{found.total()} fits: {megabytes():.0f} MB", flush=True)
            for fault in faults(new):
                print(fault, flush=True)
    print(*(f"{count} {what}" for what, count in found.most_common()), sep="\n")
    print("8 threads find the same:", threads(16), flush=True)


if __name__ == "__main__":
    main()
