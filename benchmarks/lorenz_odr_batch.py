"""The cells of ODR-BINDy's table with all draws of a length in one call.

Lorenz at dt 0.01 from (-8, 8, 27), noise eps times the standard deviation of all
entries, 100 draws for each of four eps: 400 fits in parallel, one Runge-Kutta step per
interval. An accelerator takes minutes; `graphgrad reproduce lorenz-odr` runs the same
cells one fit at a time, with its own draws.

    python benchmarks/lorenz_odr_batch.py given:4 given:6 given:10 learnt:4

`given` has the measurement noise given, as in ODR-BINDy; `learnt` estimates it.
"""

import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import graphgrad as gg
from graphgrad.data.scales import initial_scales

DT, EPS, DRAWS = 0.01, (0.1, 0.2, 0.3, 0.4), 100
EQUATIONS = {
    ("x1", "x1"): -10.0,
    ("x1", "x2"): 10.0,
    ("x2", "x1"): 28.0,
    ("x2", "x2"): -1.0,
    ("x2", "x1 x3"): -1.0,
    ("x3", "x1 x2"): 1.0,
    ("x3", "x3"): -8 / 3,
}
PRINTED = {  # by ODR-BINDy, arXiv 2507.23426
    4: (1.00, 0.57, 0.14, 0.04),
    6: (1.00, 0.91, 0.54, 0.19),
    8: (1.00, 0.98, 0.88, 0.38),
    10: (1.00, 1.00, 0.92, 0.73),
}


def trajectory(units: int) -> np.ndarray:
    def rate(_, x):
        return 10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]

    times = DT * np.arange(100 * units)
    found = solve_ivp(
        rate, times[[0, -1]], [-8, 8, 27], t_eval=times, rtol=1e-11, atol=1e-11
    )
    return found.y.T


def series(units: int) -> tuple[np.ndarray, np.ndarray]:
    """All draws, and the standard deviation of the noise of each."""
    states = trajectory(units)
    # The deviation over ten units of time at every length, as in ODR-BINDy's script.
    sizes = np.repeat(EPS, DRAWS) * trajectory(10).std(ddof=1)
    keys = [[20261116, units, e, d] for e in range(len(EPS)) for d in range(DRAWS)]
    noise = [np.random.default_rng(key).normal(size=states.shape) for key in keys]
    return states + sizes[:, None, None] * np.stack(noise), sizes


def arrays(y: np.ndarray) -> tuple[np.ndarray, ...]:
    """Initial mean, and standard deviations of initial state and both noises.

    As `GraphGrad` derives them from the data.
    """
    scales = initial_scales([y])
    first = np.sqrt(scales.noise + scales.motion)
    return y[0], first, np.sqrt(scales.motion / DT), np.sqrt(scales.noise)


def main(jobs: list[str]) -> None:
    jax.config.update("jax_enable_x64", True)
    library = gg.Polynomial(3, 2)
    names = library.names()
    truth = np.zeros((3, len(names)))
    for (state, term), value in EQUATIONS.items():
        truth[int(state[1]) - 1, names.index(term)] = value
    start = gg.state_space_model(
        library, dynamics="flow", dt=DT, state_noise=1.0, observation_noise=1.0
    )
    settings = gg.AdaptiveSteps(long_gaps=False)
    for job in jobs:
        kind, units = job.split(":")
        learn = ("state_noise", *(("observation_noise",) if kind == "learnt" else ()))
        ys, sizes = series(int(units))
        parts = [np.stack(part) for part in zip(*map(arrays, ys), strict=True)]
        if kind == "given":
            parts[3] = np.repeat(sizes[:, None], 3, axis=1)

        def fit(y, *parts, learn=learn):
            model = eqx.tree_at(
                lambda m: (
                    m.initial_mean,
                    m.initial_noise.scale,
                    m.transition.noise.scale,
                    m.observation.noise.scale,
                ),
                start,
                parts,
            )
            found = gg.adaptive(
                jax.random.key(0), y, model, learn=learn, settings=settings
            )
            return found.coefficients, found.code, found.standard_errors

        begin = time.perf_counter()
        run = jax.jit(jax.vmap(fit))
        found = run(*(jnp.asarray(part) for part in (ys, *parts)))
        C, code, errors = (np.asarray(part) for part in found)
        taken = time.perf_counter() - begin
        right = ((C != 0) == (truth != 0)).all(axis=(1, 2))
        sure = code == gg.Outcome.converged.value
        away = np.abs(C - truth)[right][:, truth != 0] / errors[right][:, truth != 0]
        print(f"{job}: {taken:.0f} s with compilation; 90 % intervals of right fits")
        print(f"  hold {np.mean(away < 1.645):.3f}")
        for e, eps in enumerate(EPS):
            mine = slice(e * DRAWS, (e + 1) * DRAWS)
            print(
                f"  eps {eps}: exact {right[mine].mean():.2f}, printed "
                f"{PRINTED[int(units)][e]:.2f}; wrong and converged "
                f"{(sure & ~right)[mine].mean():.2f}, right and converged "
                f"{(sure & right)[mine].mean():.2f}"
            )


if __name__ == "__main__":
    main(sys.argv[1:] or ["given:4"])
