"""Recovery by `GraphGrad()` given only the degree: all noises are estimated.

`python benchmarks/estimator_defaults.py` prints a Markdown table of the share of exact
supports, and F1 with its interval. `--realisations N` sets their number (default 20),
`--rows NAME ...` selects rows by the start of their names.
"""

import argparse
import time

import jax
import numpy as np

import graphgrad as gg
from adaptive_recovery import interval
from graphgrad.metrics import support_scores

ROWS = {
    "Lorenz 63, T=100": (gg.systems.lorenz63(dt=0.02), 100),
    "Lorenz 63, T=200": (gg.systems.lorenz63(dt=0.02), 200),
    "Lotka-Volterra, T=100": (gg.systems.lotka_volterra(), 100),
    "Lotka-Volterra, T=200": (gg.systems.lotka_volterra(), 200),
    "FitzHugh-Nagumo, T=200": (gg.systems.fitzhugh_nagumo(), 200),
    "FitzHugh-Nagumo, T=500": (gg.systems.fitzhugh_nagumo(), 500),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--realisations", type=int, default=20)
    parser.add_argument("--rows", nargs="*", default=[""])
    options = parser.parse_args()
    print("| data | exact | F1 | R estimated / true, median | converged | s per fit |")
    print("|---|---|---|---|---|---|")
    for name, (system, steps) in ROWS.items():
        if not name.startswith(tuple(options.rows)):
            continue
        truth = system.coefficients(dynamics="map")
        scores, exact, ratios, sure, seconds = [], [], [], [], []
        for seed in range(options.realisations):
            with jax.enable_x64(True):
                drawn = system.simulate(
                    jax.random.key(seed), steps=steps, bounded=True, scheme="euler"
                )
            begin = time.perf_counter()
            model = gg.GraphGrad(degree=system.degree, dynamics="map")
            model.fit(drawn.observations)
            seconds.append(time.perf_counter() - begin)
            scores.append(float(support_scores(model.coef_, truth).f1))
            exact.append(((model.coef_ != 0) == (truth != 0)).all())
            ratios.append(model.observation_noise_ / system.observation_noise)
            sure.append(model.outcome_ == "converged")
        f1 = interval(np.array(scores), 3)
        print(
            f"| {name} | {sum(exact)} of {len(exact)} | {f1} | "
            f"{np.median(ratios):.2f} | {sum(sure)} | {np.median(seconds):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
