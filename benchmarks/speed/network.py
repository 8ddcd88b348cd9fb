"""A fit of many states on a sparse random network: time, peak memory, and F1.

python -m benchmarks.speed.network 100 1000          # states, rows
python -m benchmarks.speed.network 100 1000 --verbose

Each state decays, and is moved by one other state and by the product of two others. The
time includes compilation, unless programs were kept by an earlier run
(`GRAPHGRAD_CACHE=off`: none). Peak memory is in kB as on Linux.
"""

import resource
import time
from argparse import ArgumentParser
from typing import Any

import jax
import numpy as np

import graphgrad as gg
from graphgrad.study.flow_scores import support_f1


def network(states: int, seed: int) -> gg.systems.System:
    """Damped states, each with two inputs from others."""
    rng = np.random.default_rng(seed)
    names = [f"x{i + 1}" for i in range(states)]
    equations = {}
    for i, name in enumerate(names):
        others = rng.choice(np.delete(np.arange(states), i), 3, replace=False)
        one, left, right = (names[j] for j in sorted(others))
        linear, product = rng.choice([-1.0, 1.0], 2)
        equations[name] = {
            name: -0.5,
            one: 0.3 * linear,
            f"{left} {right}": 0.15 * product,
        }
    return gg.systems.System(
        "network",
        tuple(names),
        gg.systems.polynomial_rate(equations),
        dt=1.0,
        x0=np.zeros(states),
        state_noise=1.0,
        observation_noise=0.01,
        initial_noise=1.0,
        bound=100.0,
    )


def megabytes() -> float:
    """Peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure what the command line names."""
    parser = ArgumentParser(description="A fit of many states.")
    parser.add_argument("states", type=int)
    parser.add_argument("rows", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="progress and memory")
    options = parser.parse_args()
    system = network(options.states, options.seed)
    draw = system.simulate(
        jax.random.key(options.seed), options.rows, bounded=True, scheme="euler"
    )
    begin = time.perf_counter()

    def show(progress: Any) -> None:
        print(
            f"{time.perf_counter() - begin:.0f} s, {megabytes():.0f} MB: "
            f"{progress.stage} {progress.sweeps}, {progress.n_nonzero} terms, "
            f"log-likelihood {progress.log_likelihood:.1f}",
            flush=True,
        )

    watch = show if options.verbose else None
    model = gg.GraphGrad(degree=2, dynamics="map", callback=watch)
    model.fit(np.asarray(draw.observations))
    f1 = support_f1(model.coef_, system.coefficients(2, dynamics="map"))
    print(
        f"{options.states} states, {options.rows} rows: "
        f"{time.perf_counter() - begin:.0f} s, {time.process_time():.0f} s of "
        f"processor, {megabytes():.0f} MB, F1 {f1:.3f}, {model.outcome_}"
    )


if __name__ == "__main__":
    main()
