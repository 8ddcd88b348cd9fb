"""Calibration of intervals and of edge probabilities.

`python benchmarks/confidence.py coverage` prints the coverage of 90 % intervals of the
true terms; a term that was not selected counts as not covered. `python
benchmarks/confidence.py calibration` prints, for edges by their estimated probability,
the share that exist: by posterior draws and by refits on blocks. `--realisations N`
sets their number.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

import graphgrad as gg
from adaptive_recovery import draw
from graphgrad.compiling import compiled

SYSTEMS = {
    "Lorenz 63": gg.systems.lorenz63(dt=0.02),
    "Lotka-Volterra": gg.systems.lotka_volterra(),
}
CHUNK = 25


def chunks(number: int):
    return [slice(i, min(i + CHUNK, number)) for i in range(0, number, CHUNK)]


def coverage(number: int, names: list[str]) -> None:
    print("| system, T = 100 | noise | covered | selected | true ones of these |")
    print("|---|---|---|---|---|")
    for name in names:
        system = SYSTEMS[name]
        _, ys, _ = draw(system, 100, number)
        model = system.model(dynamics="map")
        truth = np.asarray(system.coefficients(dynamics="map"))
        for learn in ((), ("state_noise",)):

            def fit(key, ys, learn=learn, model=model):
                found = gg.adaptive(key, ys, model, learn=learn)
                return found.coefficients, found.standard_errors

            run = compiled(jax.vmap(fit))
            keys = jax.random.split(jax.random.key(1), number)
            parts = [run(keys[part], jnp.asarray(ys[part])) for part in chunks(number)]
            C, errors = (
                np.concatenate([np.asarray(part[i]) for part in parts]) for i in (0, 1)
            )
            there = truth != 0
            near = (np.abs(C - truth) < 1.645 * errors)[:, there]
            share = near.mean(axis=1)
            error = 1.96 * share.std() / np.sqrt(number)
            right = (C != 0)[:, there]
            print(
                f"| {name} | {' and '.join(learn) or 'known'} | "
                f"{share.mean():.3f} ± {error:.3f} | {right.mean():.3f} | "
                f"{near[right].mean():.3f} |",
                flush=True,
            )


def calibration(number: int, steps: int, refits: int) -> None:
    system = SYSTEMS["Lorenz 63"]
    _, ys, _ = draw(system, steps, number)
    model = system.model(dynamics="map")
    incidence = np.asarray(model.library.incidence) != 0
    there = (
        (np.asarray(system.coefficients(dynamics="map")) != 0)[:, None, :] & incidence
    ).any(-1)

    def by_draws(key, ys):
        fit = gg.adaptive(key, ys, model)
        return gg.posterior(key, ys, model, fit).edges

    begin = time.perf_counter()
    keys = jax.random.split(jax.random.key(2), number)
    run = compiled(jax.vmap(by_draws))
    edges = np.concatenate(
        [np.asarray(run(keys[part], jnp.asarray(ys[part]))) for part in chunks(number)]
    )
    table(f"posterior draws, {number} series", edges, there, begin)
    begin, found = time.perf_counter(), []
    few = max(number // 5, 1)
    for key, series in zip(keys[:few], ys[:few], strict=True):
        fit = gg.adaptive(key, series, model)
        found.append(
            np.asarray(gg.stability(key, series, model, fit, refits=refits).edges)
        )
    table(f"{refits} refits on blocks, {few} series", np.array(found), there, begin)


def table(name: str, edges: np.ndarray, there: np.ndarray, begin: float) -> None:
    truth = np.broadcast_to(there, edges.shape)
    print(f"\nLorenz 63, {name}, {time.perf_counter() - begin:.0f} s\n")
    print("| probability | edges | mean probability | share that exist |")
    print("|---|---|---|---|")
    for low in np.arange(0, 1, 0.1):
        inside = (edges >= low) & ((edges < low + 0.1) | (low > 0.85))
        if inside.any():
            print(
                f"| {low:.1f} to {low + 0.1:.1f} | {inside.sum()} | "
                f"{edges[inside].mean():.2f} | {truth[inside].mean():.2f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["coverage", "calibration"])
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--realisations", type=int, default=200)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--refits", type=int, default=30)
    arguments = parser.parse_args()
    with jax.enable_x64(True):
        if arguments.what == "coverage":
            coverage(arguments.realisations, arguments.systems)
        else:
            calibration(arguments.realisations, arguments.steps, arguments.refits)


if __name__ == "__main__":
    main()
