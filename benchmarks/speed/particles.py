r"""Time of value and score of the particle filter, beside other libraries.

Lorenz 63 at dt 0.02, 100 observations, at the true coefficients, bootstrap proposal,
systematic resampling at every step, double precision, one core:

    JAX_ENABLE_X64=1 OPENBLAS_NUM_THREADS=1 \
        XLA_FLAGS=--xla_cpu_multi_thread_eigen=false \
        taskset -c 0 python -m benchmarks.speed.particles

Programs are interleaved, so that other load on the machine affects all of them alike.
Times are the best of the repeats; a ratio is that of a program to ours in the same
repeat, given as median and quartiles. Peers are optional: `pip install cuthbert pypomp
particles`.
"""

import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graphgrad as gg

from .particle_peers import (
    Problem,
    Program,
    cuthbert_score,
    key_of,
    particles_score,
    pypomp_score,
)

STEPS = 100
SIZES = (100, 1000, 10_000)
REPEATS = 31
OURS = "graphgrad, score"
PEERS: dict[str, Callable[[Problem, int], Program]] = {
    "cuthbert": cuthbert_score,
    "pypomp": pypomp_score,
    "particles": particles_score,
}


def rows(repeats: int = REPEATS) -> Iterator[dict[str, Any]]:
    """One row per program and number of particles, ours first.

    Args:
        repeats: How often each program runs.
    """
    for size in SIZES:
        programs, missing = _programs(size)
        seconds = _interleaved(programs, repeats)
        for name, times in seconds.items():
            ratios = np.percentile(times / seconds[OURS], [25, 50, 75])
            yield {
                "program": name,
                "particles": size,
                "milliseconds": 1e3 * times.min(),
                "ratio": ratios[1],
                "ratio_low": ratios[0],
                "ratio_high": ratios[2],
            }
        for name in missing:
            yield {"program": name, "particles": size, "missing": True}


def _programs(size: int) -> tuple[dict[str, Program], list[str]]:
    """Programs by name, and the names of peers that are not installed."""
    model = gg.systems.lorenz63(dt=0.02).model(dynamics="map")
    ys = jnp.asarray(gg.simulate(jax.random.key(0), model, steps=STEPS).observations)
    problem = Problem(
        model.library,
        model.coefficients,
        model.transition.noise.scale,  # pyright: ignore
        model.observation.noise.scale,
        model.initial_mean,
        model.initial_noise.scale,  # pyright: ignore
        ys,
    )
    programs = {
        OURS: _ours(model, ys, size, "score"),
        "graphgrad, through the particles": _ours(model, ys, size, "particles"),
    }
    missing = []
    for name, peer in PEERS.items():
        try:
            programs[name] = peer(problem, size)
        except ImportError:
            missing.append(name)
    return programs, missing


def _ours(model: gg.StateSpaceModel, ys: jax.Array, size: int, form: str) -> Program:
    particle_filter = gg.ParticleFilter(size, resampling="systematic")

    @jax.jit
    def run(key: jax.Array, coefficients: jax.Array) -> tuple[jax.Array, jax.Array]:
        return gg.value_and_gradient(
            key,
            model.with_coefficients,
            coefficients,
            ys,
            particle_filter=particle_filter,
            form=form,
        )

    return lambda seed: run(key_of(seed), model.coefficients)


def _interleaved(programs: dict[str, Program], repeats: int) -> dict[str, np.ndarray]:
    """Seconds of each program in each repeat, after a first call that compiles."""
    for program in programs.values():
        jax.block_until_ready(program(0))
    seconds = {name: np.zeros(repeats) for name in programs}
    for repeat in range(repeats):
        key_of(repeat)
        for name, program in programs.items():
            begin = time.perf_counter()
            jax.block_until_ready(program(repeat))
            seconds[name][repeat] = time.perf_counter() - begin
    return seconds


def main() -> None:
    parser = ArgumentParser(description="Time of the particle filter and its score.")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    repeats = parser.parse_args().repeats
    if not jax.config.jax_enable_x64:  # pyright: ignore
        raise SystemExit("Set JAX_ENABLE_X64=1: the table is in double precision.")
    print("| program | K | best, ms | times ours | quartiles |")
    print("|---|---:|---:|---:|---:|")
    for row in rows(repeats):
        name, size = row["program"], row["particles"]
        if "missing" in row:
            print(f"| {name} | {size} | not installed | | |", flush=True)
            continue
        print(
            f"| {name} | {size} | {row['milliseconds']:.2f} | {row['ratio']:.2f} | "
            f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
