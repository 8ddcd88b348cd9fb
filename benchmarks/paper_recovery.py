"""Recovery by B-GraphGrad as printed: `python benchmarks/paper_recovery.py`.

Ten seeds per row, data and starts drawn from the seed. Prints a Markdown table with
means and 95 % intervals of F1 and RMSE, and the outcomes. `--rows NAME ...` selects
rows, `--seeds N` sets the number of seeds.
"""

import argparse
import time
from collections import Counter
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import graphgrad as gg
from graphgrad.metrics import rmse, support_scores

PRINTED = gg.GradientSteps(steps=500)
GUIDED = gg.GradientSteps(
    steps=500, particle_filter=gg.ParticleFilter(proposal="locally optimal")
)
SCORE = gg.GradientSteps(
    steps=500,
    gradient="score",
    particle_filter=gg.ParticleFilter(proposal="locally optimal"),
)


class Row(NamedTuple):
    """One row of the table."""

    model: gg.StateSpaceModel
    steps: int
    penalty: float
    settings: gg.GradientSteps = PRINTED
    system: gg.systems.System | None = None
    identity_start: bool = False


def two_oscillators() -> gg.StateSpaceModel:
    coefficients = [
        [0, 0.9, 0.3, 0, 0],
        [0, -0.3, 0.9, 0, 0],
        [0, 0.2, 0, 0.85, 0.4],
        [0, 0, 0, -0.4, 0.85],
    ]
    return gg.state_space_model(
        gg.Polynomial(4, 1),
        coefficients,
        state_noise=0.01,
        observation_noise=0.01,
        initial_mean=[2.0, 0.0, 0.0, 2.0],
    )


def lotka_volterra(dt: float) -> gg.StateSpaceModel:
    """Prey and predators about 1, so that no monomial is large."""
    return gg.state_space_model(
        gg.Polynomial(2, 2),
        [[0, 1 + dt, 0, 0, -dt, 0], [0, 0, 1 - dt, 0, dt, 0]],
        state_noise=1e-3,
        observation_noise=1e-3,
        initial_mean=[1.5, 0.7],
        initial_noise=0.01,
    )


def on_the_attractor(dt: float) -> gg.StateSpaceModel:
    system = gg.systems.lorenz63(dt=dt)
    simulation = system.simulate(jax.random.key(9), steps=int(20 / dt), scheme="euler")
    return system.model(initial=simulation.states[-1], dynamics="map")


def rows() -> dict[str, Row]:
    lv, stated = lotka_volterra(0.1), gg.systems.lorenz63(dt=0.025)
    return {
        "damped oscillator, d=1": Row(
            gg.systems.damped_oscillator().model(dynamics="map"), 50, 3.0
        ),
        "two oscillators, d=1": Row(two_oscillators(), 60, 1.0),
        "Lotka-Volterra, dt 0.1": Row(lv, 60, 0.3),
        "Lotka-Volterra, dt 0.1, start at identity": Row(
            lv, 60, 0.1, identity_start=True
        ),
        "Lotka-Volterra, dt 0.3, locally optimal": Row(
            lotka_volterra(0.3), 60, 0.3, GUIDED
        ),
        "Lotka-Volterra, dt 0.1, locally optimal, score form": Row(lv, 100, 1.0, SCORE),
        "Lorenz 63, dt 0.005, on the attractor": Row(on_the_attractor(0.005), 50, 1.0),
        "Lorenz 63, dt 0.005, on the attractor, start at identity": Row(
            on_the_attractor(0.005), 50, 0.3, identity_start=True
        ),
        "Lorenz 63 as stated, bounded draws": Row(
            stated.model(dynamics="map"), 50, 1.0, system=stated
        ),
    }


def identity(model: gg.StateSpaceModel) -> np.ndarray:
    n = model.n_states
    start = np.zeros((n, model.library.n_terms))
    start[np.arange(n), 1 + np.arange(n)] = 1
    return start


def run(row: Row, seeds: int) -> tuple[np.ndarray, np.ndarray, Counter, int]:
    """F1, RMSE and outcome of each seed, and the number of divergent draws."""
    model = row.model
    data, rejected = [], 0
    for seed in range(seeds):
        key = jax.random.key(seed)
        if row.system is not None:
            simulation = row.system.simulate(
                key, steps=row.steps, bounded=True, scheme="euler"
            )
            rejected += simulation.rejected
            data.append(simulation.observations)
        else:
            start = model.initial_mean
            simulation = gg.simulate(key, model, steps=row.steps, initial=start)
            data.append(simulation.observations)
    start = jnp.asarray(identity(model), jnp.float32) if row.identity_start else None

    @jax.jit
    @jax.vmap
    def fit(key, ys):
        solution = gg.b_graphgrad(
            key, ys, model, gg.L1(row.penalty), start=start, settings=row.settings
        )
        return solution.coefficients, solution.code

    keys = jax.random.split(jax.random.key(1), seeds)
    coefficients, codes = fit(keys, jnp.stack(data))
    truth = jnp.broadcast_to(model.coefficients, coefficients.shape)
    outcomes = Counter(gg.Outcome(int(code)).name for code in codes)
    f1 = np.asarray(support_scores(coefficients, truth).f1)
    return f1, np.asarray(rmse(coefficients, truth)), outcomes, rejected


def interval(values: np.ndarray, digits: int) -> str:
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {half:.{digits}f}"


def main() -> None:
    table = rows()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", choices=list(table), default=list(table))
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    print("| system | T | lambda | F1 | RMSE | outcomes | draws rejected | time |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.rows:
        row, begin = table[name], time.perf_counter()
        f1, error, outcomes, rejected = run(row, arguments.seeds)
        ended = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())
        print(
            f"| {name} | {row.steps} | {row.penalty:g} | {interval(f1, 2)} | "
            f"{interval(error, 3)} | {ended} | {rejected} | "
            f"{time.perf_counter() - begin:.0f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
