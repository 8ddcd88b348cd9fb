"""Comparison of the two forms of the gradient: `python benchmarks/gradients.py`.

Lorenz 63 at dt 0.02, 100 observations, at the true coefficients, systematic
resampling. Times are medians of interleaved repeats in one run; the noise ratio is
the median, over the entries of the gradient, of the ratio of their standard deviations
over 200 keys.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import graphgrad as gg

FORMS = ("particles", "score")


def main() -> None:
    model = gg.systems.lorenz63(dt=0.02).model(dynamics="map")
    ys = gg.simulate(jax.random.key(0), model, steps=100).observations
    print("| proposal | K | particles, ms | score, ms | ratio | noise ratio |")
    print("|---|---|---|---|---|---|")
    for proposal in ("bootstrap", "locally optimal"):
        for particles in (100, 1000):
            filtered = gg.ParticleFilter(
                particles, proposal=proposal, resampling="systematic"
            )
            run = {form: _gradient(model, ys, filtered, form) for form in FORMS}
            times = {form: [] for form in FORMS}
            draws = {form: [] for form in FORMS}
            for repeat in range(201):
                for form in FORMS:
                    begin = time.perf_counter()
                    _, gradient = jax.block_until_ready(
                        run[form](jax.random.key(repeat))
                    )
                    times[form].append(time.perf_counter() - begin)
                    draws[form].append(np.asarray(gradient))
            # The first repeat compiles.
            middle = {form: 1e3 * np.median(times[form][1:]) for form in FORMS}
            spread = {form: np.std(draws[form][1:], axis=0) for form in FORMS}
            noise = np.median(spread["particles"] / spread["score"])
            through, score = middle["particles"], middle["score"]
            print(
                f"| {proposal} | {particles} | {through:.2f} | {score:.2f} | "
                f"{through / score:.1f} | {noise:.1f} |",
                flush=True,
            )


def _gradient(model, ys, particle_filter, form):
    @jax.jit
    def run(key) -> tuple[jax.Array, jax.Array]:
        return gg.value_and_gradient(
            key,
            model.with_coefficients,
            jnp.asarray(model.coefficients),
            ys,
            particle_filter=particle_filter,
            form=form,
        )

    return run


if __name__ == "__main__":
    main()
