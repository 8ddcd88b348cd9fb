"""Comparison of resampling schemes: `python benchmarks/differentiable_resampling.py`.

A linear model of two states, 20 observations, 100 particles, bootstrap proposal, the
gradient through the particles at the true coefficients, double precision. Bias and
standard deviation over 200 keys, against the Kalman filter; for the gradient, the norm
of the mean error and of the standard deviations. Times are medians of one gradient.
"""

import time

import jax
import numpy as np

import graphgrad as gg

KINDS = {
    "multinomial, stop gradient": "multinomial",
    "soft, alpha 0.5": gg.SoftResampling(0.5),
    "soft, alpha 0.1": gg.SoftResampling(0.1),
    "optimal transport, epsilon 0.5": gg.TransportResampling(0.5),
    "optimal transport, epsilon 0.1": gg.TransportResampling(0.1),
}

KEY = jax.random.key(0)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    model = gg.state_space_model(
        gg.Polynomial(2, 1),
        [[0.1, 0.8, 0.3], [0.0, -0.2, 0.7]],
        state_noise=[0.3, 0.2],
        observation_noise=0.4,
        initial_mean=[1.0, -1.0],
        initial_noise=0.5,
    )
    ys = gg.simulate(jax.random.key(3), model, steps=20).observations

    def kalman(coefficients) -> jax.Array:
        # On a linear model this smoother is exact.
        candidate = model.with_coefficients(coefficients)
        return gg.GaussianSmoother().sweep(KEY, candidate, ys).log_likelihood

    exact, slope = jax.value_and_grad(kalman)(model.coefficients)
    print(f"Norm of the exact gradient: {np.linalg.norm(slope):.1f}\n")
    print("| resampling | log-likelihood | gradient | ms |")
    print("|---|---|---|---|")
    for name, kind in KINDS.items():
        run = _gradient(model, ys, gg.ParticleFilter(100, resampling=kind))
        values, gradients, times = [], [], []
        for seed in range(201):
            begin = time.perf_counter()
            value, gradient = jax.block_until_ready(run(jax.random.key(seed)))
            times.append(time.perf_counter() - begin)
            values.append(value - exact)
            gradients.append(gradient - slope)
        bias = np.linalg.norm(np.mean(gradients, axis=0))
        spread = np.linalg.norm(np.std(gradients, axis=0))
        # The first run compiles.
        print(
            f"| {name} | {np.mean(values):.2f} ± {np.std(values):.2f} | "
            f"{bias:.1f} ± {spread:.1f} | {1e3 * np.median(times[1:]):.1f} |",
            flush=True,
        )


def _gradient(model, ys, particle_filter):
    @jax.jit
    def run(key) -> tuple[jax.Array, jax.Array]:
        return gg.value_and_gradient(
            key,
            model.with_coefficients,
            model.coefficients,
            ys,
            particle_filter=particle_filter,
        )

    return run


if __name__ == "__main__":
    main()
