"""Recovery by the adaptive solver: `python benchmarks/adaptive_recovery.py`.

Prints a Markdown table: F1 and RMSE compared with a yardstick, maximum likelihood of
the extended Kalman filter with known support, on the same data; for Lorenz 96 also F1
of the same selection given the hidden states. `--rows NAME ...` selects rows by the
start of their names, `--realisations N` sets the number of draws (default 30),
`--learn` estimates the process noise, `--single` uses single precision, and `--chunk N`
fits that many series in one call.
"""

import argparse
import functools
import time
from typing import NamedTuple

import jax
import numpy as np

import graphgrad as gg
from graphgrad.compiling import compiled
from graphgrad.metrics import rmse, support_scores
from graphgrad.study.methods.yardstick import best_on_support


class Row(NamedTuple):
    """One row of the table."""

    system: gg.systems.System
    steps: int
    degree: int
    given_states: bool = False
    yardstick: bool = True


def rows() -> dict[str, Row]:
    table = {}
    for degree in (2, 3):
        for steps in (25, 50, 100, 200):
            name = f"lorenz63 d={degree} T={steps}"
            table[name] = Row(gg.systems.lorenz63(), steps, degree)
    for variance in (0.01, 0.1, 1.0, 5.0):
        system = gg.systems.lorenz63(dt=0.02, noise=variance**0.5)
        table[f"noise {variance:g} d=2 T=50"] = Row(system, 50, 2)
    for steps in (25, 50, 100, 200):
        name = f"lorenz96 d=2 T={steps}"
        table[name] = Row(gg.systems.lorenz96(), steps, 2, True, steps == 200)
    for steps in (100, 200):
        name = f"lorenz96 d=3 T={steps}"
        table[name] = Row(gg.systems.lorenz96(), steps, 3, True, False)
    return table


def draw(system: gg.systems.System, steps: int, number: int):
    """States and observations of bounded draws, and the number of rejected ones."""
    states, observations, rejected = [], [], 0
    with jax.default_device(jax.devices("cpu")[0]):  # many short calls
        for i in range(number):
            key = jax.random.fold_in(jax.random.key(2024), i)
            simulation = system.simulate(
                key, steps=steps, bounded=True, max_redraws=100_000, scheme="euler"
            )
            states.append(np.asarray(simulation.states))
            observations.append(np.asarray(simulation.observations))
            rejected += simulation.rejected
    return np.stack(states), np.stack(observations), rejected


def in_chunks(function, size: int, model, *arrays):
    """The function over the first axis of the arrays, `size` at a time.

    The model is shared; a function seen before is already compiled.
    """
    number = len(arrays[0])
    many = _vectorised(function, len(arrays))
    parts = []
    for first in range(0, number, size):
        part = [array[first : first + size] for array in arrays]
        short = size - len(part[0])
        if short:  # pad with the last ones to the compiled shape
            part = [np.concatenate([a, a[-1:].repeat(short, 0)]) for a in part]
        out = jax.tree.map(np.asarray, many(model, *part))
        parts.append(jax.tree.map(lambda a, n=size - short: a[:n], out))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


@functools.cache
def _vectorised(function, number: int):
    return compiled(jax.vmap(function, in_axes=(None,) + number * (0,)))


def interval(values: np.ndarray, digits: int) -> str:
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {half:.{digits}f}"


def run(row: Row, number: int, chunk: int, learn: tuple[str, ...]) -> str:
    system, model = row.system, row.system.model(row.degree, dynamics="map")
    states, ys, rejected = draw(system, row.steps, number)
    truth = np.asarray(model.coefficients)
    keys = jax.random.split(jax.random.key(7), number)

    def fit(model, key, ys):
        found = gg.adaptive(key, ys, model, learn=learn)
        return found.coefficients, found.code, found.state_noise

    begin = time.perf_counter()
    found, codes, noise = in_chunks(fit, chunk, model, keys, ys)
    seconds = time.perf_counter() - begin
    scores = np.asarray(support_scores(found, np.broadcast_to(truth, found.shape)).f1)
    errors = np.asarray(rmse(found, np.broadcast_to(truth, found.shape)))
    undecided = np.mean(codes == gg.Outcome.undecided)
    cells = [
        interval(scores, 4),
        f"{np.mean(scores == 1):.0%}",
        f"{1e3 * errors.mean():.2f} ({1e3 * np.median(errors):.2f})",
    ]
    if row.yardstick:
        known = functools.partial(best_on_support, *np.nonzero(truth))
        best = in_chunks(known, chunk, model, states, ys)
        least = np.asarray(rmse(best, np.broadcast_to(truth, best.shape)))
        cells.append(f"{1e3 * least.mean():.2f}")
        cells.append(
            f"{errors.mean() / least.mean():.3f} ({np.median(errors / least):.3f})"
        )
    else:
        cells += ["", ""]
    if row.given_states and not learn:
        known = gg.state_space_model(
            model.library,
            state_noise=system.dt * system.state_noise,
            observation_noise=1e-6 * system.observation_noise,
            initial_mean=system.x0,
            initial_noise=1e-6,
        )
        best, _, _ = in_chunks(fit, chunk, known, keys, states[:, 1:])
        best = support_scores(best, np.broadcast_to(truth, best.shape)).f1
        cells.append(interval(np.asarray(best), 4))
    else:
        cells.append("")
    ratio = np.median(noise / (system.dt * system.state_noise))
    cells.append(f"{ratio:.2f}" if learn else "given")
    cells += [f"{undecided:.0%}", str(rejected), f"{seconds:.0f} s"]
    return " | ".join(cells)


def main() -> None:
    table = rows()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=[""])
    parser.add_argument("--realisations", type=int, default=30)
    parser.add_argument("--chunk", type=int, default=30)
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--single", action="store_true")
    arguments = parser.parse_args()
    learn = ("state_noise",) if arguments.learn else ()
    print(
        "| system | F1 | exact | RMSE 1e-3, mean (median) | yardstick | mean ratio "
        "(median of ratios) | F1, states given | process noise / truth | undecided | "
        "draws rejected | time |"
    )
    print("|" + "---|" * 11)
    with jax.enable_x64(not arguments.single):
        for name, row in table.items():
            if any(name.startswith(start) for start in arguments.rows):
                cells = run(row, arguments.realisations, arguments.chunk, learn)
                print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
