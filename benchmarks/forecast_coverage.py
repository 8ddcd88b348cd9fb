"""Coverage of the bands of forecasts, by horizon.

`python benchmarks/forecast_coverage.py` fits series of 50 and 200 rows of known
systems with all noise learnt, and prints a Markdown table: shares of the 20 rows after
them, and of the true states, in 90 % bands, with 95 % intervals over the series.
`--series N` sets the number of series (default 40), `--rows NAME ...` selects systems.
"""

import argparse
import warnings

import jax
import numpy as np

import graphgrad as gg

AHEAD, SHOWN = 20, (1, 2, 5, 10, 20)
SYSTEMS = {
    "damped oscillator, flow": (gg.systems.damped_oscillator(dt=0.5), "flow"),
    "Lotka-Volterra, flow": (gg.systems.lotka_volterra(dt=0.1), "flow"),
    "Lotka-Volterra, map": (gg.systems.lotka_volterra(), "map"),
    "Lorenz 63, flow": (gg.systems.lorenz63(dt=0.02), "flow"),
    "Lorenz 63, map": (gg.systems.lorenz63(dt=0.02), "map"),
}


def var_1(seed: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """States and noisy observations of a linear map."""
    rng, x, states = np.random.default_rng(seed), np.zeros(2), []
    for _ in range(steps + 50):
        x = [[0.8, 0.3], [-0.2, 0.7]] @ x + rng.normal(0, [0.5, 0.3])
        states.append(x)
    found = np.array(states[50:])
    return found, found + rng.normal(0, 0.3, found.shape)


def draw(name: str, seed: int, steps: int) -> tuple[np.ndarray, np.ndarray, dict]:
    """States, observations and settings of a fit."""
    if name == "VAR(1), map":
        return *var_1(seed, steps), {"degree": 1}
    system, dynamics = SYSTEMS[name]
    scheme = "flow" if dynamics == "flow" else "euler"
    with jax.enable_x64(True):
        key = jax.random.key(seed)
        drawn = system.simulate(key, steps=steps, bounded=True, scheme=scheme)
    settings = {"degree": system.degree, "dt": system.dt, "dynamics": dynamics}
    return np.asarray(drawn.states)[1:], np.asarray(drawn.observations), settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=40)
    parser.add_argument("--rows", nargs="*", default=[""])
    options = parser.parse_args()
    steps = " | ".join(f"step {step}" for step in SHOWN)
    print(f"| system | rows | of | {steps} | all |\n" + "|---" * (len(SHOWN) + 4) + "|")
    for name in ("VAR(1), map", *SYSTEMS):
        if not name.startswith(tuple(options.rows)):
            continue
        for rows in (50, 200):
            inside: dict[str, list] = {"observations": [], "states": []}
            for seed in range(options.series):
                x, y, settings = draw(name, seed, rows + AHEAD)
                model = gg.GraphGrad(**settings).fit(y[:rows])
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # members that diverge
                    ahead = model.forecast(AHEAD)
                for kind, truth in (("observations", y), ("states", x)):
                    low, high = np.moveaxis(getattr(ahead, kind).band(), -1, 0)
                    there = (low <= truth[rows:]) & (truth[rows:] <= high)
                    inside[kind].append(there.mean(axis=1))
            for kind, found in inside.items():
                shares = np.array(found)
                each = " | ".join(f"{shares[:, h - 1].mean():.2f}" for h in SHOWN)
                half = 1.96 * shares.mean(axis=1).std(ddof=1) / len(shares) ** 0.5
                whole = f"{shares.mean():.3f} ± {half:.3f}"
                print(f"| {name} | {rows} | {kind} | {each} | {whole} |", flush=True)


if __name__ == "__main__":
    main()
