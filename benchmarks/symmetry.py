"""Fits with and without a symmetry that is looked for: `python benchmarks/symmetry.py`.

For each system and draw: F1 of the terms with every coefficient for itself, and with
`symmetry="auto"`; whether one was accepted; the change of the criterion; and the
processor time of both fits. Prints a Markdown table. `--rows NAME ...` selects rows by
the start of their names, `--draws 0:8` the draws, `--flow` fits flows instead of Euler
maps, `--learn` learns both noises instead of giving them; `--each` prints each draw.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import numpy as np

import graphgrad as gg
from graphgrad.estimator import fitting
from graphgrad.estimator.symmetry import fit_with_symmetry
from graphgrad.metrics import support_scores
from graphgrad.systems import System, polynomial_rate


class Row(NamedTuple):
    """A system for each draw, and the number of its rows."""

    system: Callable[[int], System]
    steps: int


def _system(equations, *, dt=0.1, noise=0.1, start=1.0) -> System:
    names = tuple(equations)
    rng = np.random.default_rng(len(names))
    return System(
        "symmetric",
        names,
        polynomial_rate(equations),
        dt=dt,
        x0=start * (1 + 0.3 * rng.normal(size=len(names))),
        state_noise=noise**2,
        observation_noise=dt * noise**2,
        initial_noise=0.1,
        bound=100.0,
    )


def lorenz(
    n: int,
    changes: Mapping[str, dict[str, float]] = MappingProxyType({}),
    *,
    only: bool = False,
):
    """Lorenz 96, with other coefficients in some equations, or only with these."""

    def of_draw(_: int) -> System:
        x = [f"x{i + 1}" for i in range(n)]
        equations = {
            x[i]: {
                f"{x[i - 1]} {x[(i + 1) % n]}": 1.0,
                f"{x[i - 1]} {x[i - 2]}": -1.0,
                x[i]: -1.0,
                "1": 8.0,
            }
            for i in range(n)
        }
        for state, terms in changes.items():
            equations[state] = terms if only else equations[state] | terms
        like = gg.systems.lorenz96(n_states=n)
        return System(
            "lorenz96",
            tuple(x),
            polynomial_rate(equations),
            dt=like.dt,
            x0=like.x0,
            state_noise=like.state_noise,
            observation_noise=like.observation_noise,
            initial_noise=1.0,
            bound=100.0,
        )

    return of_draw


def unequal(n: int):
    """Lorenz 96 whose coefficients all differ by up to 40 %."""

    def of_draw(draw: int) -> System:
        rng = np.random.default_rng(draw)
        x = [f"x{i + 1}" for i in range(n)]
        sizes = np.array([1.0, -1.0, -1.0, 8.0]) * rng.uniform(0.6, 1.4, (n, 4))
        changes = {
            x[i]: {
                f"{x[i - 1]} {x[(i + 1) % n]}": sizes[i, 0],
                f"{x[i - 1]} {x[i - 2]}": sizes[i, 1],
                x[i]: sizes[i, 2],
                "1": sizes[i, 3],
            }
            for i in range(n)
        }
        return lorenz(n, changes)(draw)

    return of_draw


def shuffled(n: int):
    """Lorenz 96 with its columns in another order than that of the ring."""

    def of_draw(draw: int) -> System:
        order = np.random.default_rng(draw).permutation(n)
        x = [f"x{i + 1}" for i in order]
        equations = {
            x[i]: {
                f"{x[i - 1]} {x[(i + 1) % n]}": 1.0,
                f"{x[i - 1]} {x[i - 2]}": -1.0,
                x[i]: -1.0,
                "1": 8.0,
            }
            for i in range(n)
        }
        return lorenz(n, equations, only=True)(draw)

    return of_draw


def competition(n: int):
    """Logistic growth of species, each of which the next one in a ring harms."""

    def of_draw(_: int) -> System:
        x = [f"x{i + 1}" for i in range(n)]
        return _system(
            {
                s: {s: 1.0, f"{s}^2": -1.0, f"{s} {x[(i + 1) % n]}": -0.7}
                for i, s in enumerate(x)
            }
        )

    return of_draw


def predators(n: int):
    """Pairs of prey and predators that have nothing to do with one another."""

    def of_draw(_: int) -> System:
        equations = {}
        for i in range(1, n + 1):
            prey, fox = f"prey{i}", f"fox{i}"
            both = f"{prey} {fox}"
            equations[prey] = {prey: 1.0, both: -1.0}
            equations[fox] = {fox: -1.0, both: 1.0}
        return _system(equations, noise=0.05)

    return of_draw


def swarm(n: int):
    """States that all act on one another alike, held by a cubic force."""

    def of_draw(_: int) -> System:
        x = [f"x{i + 1}" for i in range(n)]
        return _system(
            {s: {s: 0.5, f"{s}^3": -1.0} | {o: 0.3 for o in x if o != s} for s in x},
            noise=0.5,
        )

    return of_draw


def logistic(n: int):
    """Chaotic logistic maps that have nothing to do with one another."""

    def of_draw(_: int) -> System:
        x = [f"x{i + 1}" for i in range(n)]
        equations = {s: {s: 9.0, f"{s}^2": -9.0} for s in x}
        return _system(equations, dt=0.3, noise=0.02, start=0.5)

    return of_draw


def network(n: int, *, same: bool):
    """Decays, and two random couplings each; `same`: of one rate and one strength."""

    def of_draw(draw: int) -> System:
        rng = np.random.default_rng(draw)
        x = [f"x{i + 1}" for i in range(n)]
        equations = {}
        for s in x:
            others = rng.choice([o for o in x if o != s], 2, replace=False)
            sizes = [0.5, -0.5] if same else rng.uniform(0.3, 0.8, 2) * [1, -1]
            rate = 1.0 if same else rng.uniform(0.5, 2)
            equations[s] = {s: -rate, others[0]: sizes[0], f"{s} {others[1]}": sizes[1]}
        return _system(equations, noise=0.5)

    return of_draw


def food_web(n: int):
    """Species of different growth that a random other one harms."""

    def of_draw(draw: int) -> System:
        rng = np.random.default_rng(draw)
        x = [f"x{i + 1}" for i in range(n)]
        equations = {}
        for s in x:
            other = rng.choice([o for o in x if o != s])
            r, a, b = rng.uniform(0.5, 1.5, 3)
            equations[s] = {s: r, f"{s}^2": -a, f"{s} {other}": -0.5 * b}
        return _system(equations)

    return of_draw


ROWS = {
    # Looked at while this was written.
    "lorenz96 n=6 T=100": Row(lorenz(6), 100),
    "lorenz96 n=6 T=25": Row(lorenz(6), 25),
    "random network n=6": Row(network(6, same=False), 100),
    # Not looked at.
    "lorenz96 n=8 T=50": Row(lorenz(8), 50),
    "competition n=6": Row(competition(6), 100),
    "predators n=4 pairs": Row(predators(4), 100),
    "logistic maps n=6": Row(logistic(6), 100),
    "swarm n=5 cubic": Row(swarm(5), 200),
    "one rate: lorenz96 n=6, x3 decays by 2": Row(lorenz(6, {"x3": {"x3": -2.0}}), 100),
    "one force: lorenz96 n=6, 6 for x2": Row(lorenz(6, {"x2": {"1": 6.0}}), 100),
    "one term: lorenz96 n=6, + x2 in x5": Row(lorenz(6, {"x5": {"x2": 1.5}}), 100),
    "none: equal rates n=6": Row(network(6, same=True), 100),
    "none: equal rates n=6 T=40": Row(network(6, same=True), 40),
    "none: food web n=6": Row(food_web(6), 100),
    "none: network n=5 T=50": Row(network(5, same=False), 50),
    "none: unequal lorenz96 n=6": Row(unequal(6), 100),
    "none: shuffled lorenz96 n=6": Row(shuffled(6), 100),
    "lorenz96 n=20 T=100": Row(lorenz(20), 100),
    "lorenz96 n=20 T=200": Row(lorenz(20), 200),
}


def measure(row: Row, draw: int, *, flow: bool, learn: bool) -> dict[str, object]:
    """One draw, fitted with and without."""
    system = row.system(draw)
    simulation = system.simulate(
        jax.random.fold_in(jax.random.key(2024), draw),
        steps=row.steps,
        bounded=True,
        max_redraws=100_000,
        scheme="flow" if flow else "euler",
    )
    y, dynamics = np.asarray(simulation.observations, float), "flow" if flow else "map"
    settings = {"degree": system.degree, "dynamics": dynamics}
    if flow:
        settings["dt"] = system.dt
    if not learn:
        settings |= {
            "state_noise": system.state_noise * (1 if flow else system.dt),
            "observation_noise": system.observation_noise,
            "initial": (system.x0, np.diag(system.initial_noise)),
        }
    truth = system.coefficients(system.degree, dynamics=dynamics)
    begin = time.process_time()
    model = gg.GraphGrad(**settings).fit(y)
    whole = time.process_time() - begin
    free, alone = _before.pop()
    accepted = model.symmetry_
    assert isinstance(model.solution_, gg.Solution)
    f1 = [float(support_scores(C, truth).f1) for C in (free.coefficients, model.coef_)]
    return {
        "free": f1[0],
        "auto": f1[1],
        "exact": f1[1] == 1,
        "accepted": accepted is not None,
        "apart": len(accepted.apart) if accepted else 0,
        "fall": float(free.solution.criterion - model.solution_.criterion),
        "seconds": alone - begin,
        "more": whole,
        "notes": model._fit.notes,
    }


_before: list[Any] = []
"""The fit with every coefficient for itself, and when it ended."""


def _recorded(first, fit_one):
    _before.append((first, time.process_time()))
    return fit_with_symmetry(first, fit_one)


fitting.fit_with_symmetry = _recorded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=[""])
    parser.add_argument("--draws", default="0:4")
    parser.add_argument("--flow", action="store_true")
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--each", action="store_true")
    arguments = parser.parse_args()
    draws = range(*map(int, arguments.draws.split(":")))
    print(
        "| system | F1, free | F1, auto | exact | accepted | apart "
        "| criterion falls by | median CPU s, free / auto |\n" + "|---" * 8 + "|"
    )
    for name, row in ROWS.items():
        if not any(name.startswith(start) for start in arguments.rows):
            continue
        each = []
        for draw in draws:
            each.append(measure(row, draw, flow=arguments.flow, learn=arguments.learn))
            if arguments.each:
                print(draw, each[-1], flush=True)
        mean = {
            key: np.mean([result[key] for result in each])
            for key in each[0]
            if key != "notes"
        }
        times = [
            np.median([result[key] for result in each]) for key in ("seconds", "more")
        ]
        print(
            f"| {name} | {mean['free']:.3f} | {mean['auto']:.3f} | {mean['exact']:.0%} "
            f"| {mean['accepted']:.0%} | {mean['apart']:.1f} | {mean['fall']:.0f} "
            f"| {times[0]:.1f} / {times[1]:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
