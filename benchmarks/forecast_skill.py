"""Forecast skill on held-out parts of noisy series.

`python benchmarks/forecast_skill.py` fits the first 200 rows of a noisy series and
forecasts from rows of the next 200, which are held out. It prints Markdown tables: RMSE
by horizon, against the true states, in units of their standard deviation; means over
series with 95 % intervals. Compared are

- ours: `GraphGrad` with all noises estimated, the mean of its ensemble;
- ours, one path: its equations iterated from the filtered mean, without noise;
- persistence: the last observation;
- PySINDy: a polynomial library of the same degree for the discrete map, STLSQ with the
  threshold that best predicts the end of the same noisy rows, from the last row;
- PySINDy, filtered: the same equations from the filtered state of ours;
- truth: the true equations from the filtered state of ours, without noise.

A forecast that diverges counts as the mean of the series. `--series N` sets the number
of series (default 10), `--origins N` that of origins, `--rows NAME ...` selects
systems.
"""

import argparse
import warnings
from collections.abc import Callable

import jax
import numpy as np
import pysindy as ps

import graphgrad as gg

ROWS = {
    "Lorenz 63": gg.systems.lorenz63(dt=0.02),
    "Lotka-Volterra": gg.systems.lotka_volterra(),
}
HORIZONS = (1, 5, 10, 20, 50)
TRAINING = 200
THRESHOLDS = (0.001, 0.003, 0.01, 0.03, 0.1)
Map = Callable[[np.ndarray], np.ndarray]


def polynomial_map(coefficients: np.ndarray, degree: int) -> Map:
    """The map from x to C phi(x), in NumPy."""
    powers = gg.degree_matrix(len(coefficients), degree)

    def step(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return coefficients @ np.prod(x[:, None] ** powers, axis=0)

    return step


def iterate(step: Map, x: np.ndarray, steps: int) -> np.ndarray:
    xs = []
    for _ in range(steps):
        x = step(x)
        xs.append(x)
    return np.array(xs)


def pysindy_map(y: np.ndarray, degree: int) -> Map:
    """PySINDy's estimate of the map, its threshold chosen on the last fifth of rows."""
    first = int(0.8 * len(y))

    def fit(rows: np.ndarray, threshold: float) -> Map:
        model = ps.DiscreteSINDy(
            optimizer=ps.STLSQ(threshold=threshold),
            feature_library=ps.PolynomialLibrary(degree=degree),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows, t=1)
            return polynomial_map(np.asarray(model.coefficients()), degree)

    def error(step: Map) -> float:
        misses = [step(a) - b for a, b in zip(y[first:-1], y[first + 1 :], strict=True)]
        return float(np.mean(np.square(misses)))

    best = min(THRESHOLDS, key=lambda threshold: error(fit(y[:first], threshold)))
    return fit(y, best)


def errors(system: gg.systems.System, seed: int, n_origins: int) -> dict:
    """Squared errors by horizon, mean over origins and states, for each method."""
    degree, far = system.degree, max(HORIZONS)
    assert degree is not None
    with jax.enable_x64(True):
        drawn = system.simulate(
            jax.random.key(seed), steps=2 * TRAINING + far, bounded=True, scheme="euler"
        )
    x, y = np.asarray(drawn.states)[1:], np.asarray(drawn.observations)
    size, centre = x.std(axis=0), x.mean(axis=0)
    model = gg.GraphGrad(degree=degree, dt=system.dt, dynamics="map").fit(y[:TRAINING])
    right = ((model.coef_ != 0) == (system.coefficients(dynamics="map") != 0)).all()
    held_out = y[TRAINING:]
    filtered = model.filter(held_out)
    maps = {
        "ours, one path": polynomial_map(model.coef_, degree),
        "PySINDy, filtered": pysindy_map(y[:TRAINING], degree),
        "truth": polynomial_map(system.coefficients(dynamics="map"), degree),
    }
    origins = np.linspace(20, TRAINING, n_origins).astype(int)
    squares: dict[str, list] = {}
    inside = []
    for origin in origins:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # members that diverge
            ahead = model.forecast(far, held_out[:TRAINING][:origin], members=100)
        state, last = filtered.mean[origin - 1], held_out[origin - 1]
        forecasts = {
            "ours": ahead.mean,
            **{name: iterate(step, state, far) for name, step in maps.items()},
            "PySINDy": iterate(maps["PySINDy, filtered"], last, far),
            "persistence": np.tile(last, (far, 1)),
        }
        truth = x[TRAINING + origin :][:far]
        for name, forecast in forecasts.items():
            sound = np.isfinite(forecast) & (np.abs(forecast - centre) < 100 * size)
            forecast = np.where(sound, forecast, centre)
            miss = ((forecast - truth) / size)[np.array(HORIZONS) - 1]
            squares.setdefault(name, []).append(np.mean(miss**2, axis=1))
        band = ahead.band()
        inside.append(((band[..., 0] < truth) & (truth < band[..., 1])).mean(axis=1))
    rmse = {name: np.sqrt(np.mean(values, axis=0)) for name, values in squares.items()}
    coverage = np.mean(inside, axis=0)[np.array(HORIZONS) - 1]
    return {"rmse": rmse, "coverage": coverage, "right": right}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=10)
    parser.add_argument("--origins", type=int, default=10)
    parser.add_argument("--rows", nargs="*", default=[""])
    options = parser.parse_args()
    for name, system in ROWS.items():
        if not name.startswith(tuple(options.rows)):
            continue
        runs = [errors(system, seed, options.origins) for seed in range(options.series)]
        right = sum(bool(run["right"]) for run in runs)
        print(f"\n{name}, {len(runs)} series; support right in {right}\n")
        print("| steps ahead | " + " | ".join(map(str, HORIZONS)) + " |")
        print("|---" * (len(HORIZONS) + 1) + "|")
        for method in runs[0]["rmse"]:
            values = np.array([run["rmse"][method] for run in runs])
            half = 1.96 * values.std(axis=0, ddof=1) / np.sqrt(len(values))
            pairs = zip(values.mean(axis=0), half, strict=True)
            cells = " | ".join(f"{mean:.3f} ± {half:.3f}" for mean, half in pairs)
            print(f"| {method} | {cells} |")
        inside = np.mean([run["coverage"] for run in runs], axis=0)
        cells = " | ".join(f"{share:.0%}" for share in inside)
        print(f"| in 90 % bands of ours | {cells} |")


if __name__ == "__main__":
    main()
