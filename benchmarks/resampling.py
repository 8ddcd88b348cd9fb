"""Comparison with cuthbert in one run: resampling schemes and Kalman filters.

`python benchmarks/resampling.py` prints Markdown tables. Programs are interleaved, so
that other load on the machine affects all of them alike; times are medians.
"""

import time
from collections.abc import Callable
from functools import partial

import cuthbert
import jax
import jax.numpy as jnp
import numpy as np
from cuthbert.gaussian import kalman
from cuthbertlib.kalman import filter_update, predict
from cuthbertlib.resampling import multinomial as cuthbert_multinomial
from cuthbertlib.resampling import systematic as cuthbert_systematic

from graphgrad.engines.resampling import RESAMPLING

STEPS = 100  # of resampling
T = 200  # observations of the Kalman filters
REPEATS = 15


def medians(programs: dict[str, Callable], *args: jax.Array) -> dict[str, float]:
    """Seconds of each program, compiled, run interleaved."""
    compiled = {name: jax.jit(program) for name, program in programs.items()}
    for program in compiled.values():
        jax.block_until_ready(program(*args))
    seconds = {name: [] for name in programs}
    for _ in range(REPEATS):
        for name, program in compiled.items():
            start = time.perf_counter()
            jax.block_until_ready(program(*args))
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(times)) for name, times in seconds.items()}


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |")


def header(*cells: str) -> None:
    print()
    row(*cells)
    row("---", *["---:"] * (len(cells) - 1))


# Resampling ---------------------------------------------------------------------------


def theirs(module, key, log_weights):
    return module.resampling(key, log_weights, log_weights, len(log_weights))[0]


def by_spacings(key, log_weights):
    """Multinomial from uniforms in ascending order, the alternative to ours."""
    cumulative = jnp.cumsum(jax.nn.softmax(log_weights))
    spacings = jax.random.exponential(key, (len(log_weights) + 1,))
    points = jnp.cumsum(spacings)
    return jnp.searchsorted(cumulative, points[:-1] / points[-1])


def in_a_scan(scheme, keys, log_weights):
    """The scheme once per time step, as in a filter."""
    return jax.lax.scan(lambda _, now: (None, scheme(*now)), None, (keys, log_weights))


def resampling_table() -> None:
    schemes = {
        **RESAMPLING,
        "multinomial, spacings": by_spacings,
        "cuthbertlib multinomial": partial(theirs, cuthbert_multinomial),
        "cuthbertlib systematic": partial(theirs, cuthbert_systematic),
    }
    rival = {"multinomial, spacings": "multinomial"}
    rival |= {f"cuthbertlib {name}": name for name in ("multinomial", "systematic")}
    keys = jax.random.split(jax.random.key(0), STEPS)
    header("resampling in a scan", "K", "microseconds per step", "times ours")
    for size in (100, 1000, 10_000):
        log_weights = jax.random.normal(jax.random.key(1), (STEPS, size))
        programs = {name: partial(in_a_scan, f) for name, f in schemes.items()}
        seconds = medians(programs, keys, log_weights)
        for name, value in seconds.items():
            ratio = value / seconds[rival[name]] if name in rival else 1
            row(name, size, f"{value / STEPS * 1e6:.1f}", f"{ratio:.2f}")


# Kalman filters -----------------------------------------------------------------------


def plain_kalman(F, q, r, ys):
    """Log-likelihood of x_t = F x_{t-1} + v, y_t = x_t + e, in covariance form."""

    def step(state, y):
        mean, cov = F @ state[0], F @ state[1] @ F.T + jnp.diag(q)
        root = jnp.linalg.cholesky(cov + jnp.diag(r))
        solve = partial(jax.scipy.linalg.solve_triangular, root, lower=True)
        surprise, gain = solve(y - mean), solve(cov)
        value = -0.5 * surprise @ surprise - jnp.sum(jnp.log(jnp.diag(root)))
        return (mean + gain.T @ surprise, cov - gain.T @ gain), value

    start = jnp.zeros(len(F)), jnp.eye(len(F))
    values = jax.lax.scan(step, start, ys)[1]
    return jnp.sum(values) - 0.5 * ys.size * jnp.log(2 * jnp.pi)


def atoms(F, q, r, ys):
    """The same from the square-root pieces of cuthbertlib."""
    zero, eye = jnp.zeros(len(F)), jnp.eye(len(F))
    root_q, root_r = jnp.diag(jnp.sqrt(q)), jnp.diag(jnp.sqrt(r))

    def step(state, y):
        mean, root = state
        mean, root = predict(mean, root, F, zero, root_q)
        return filter_update(mean, root, eye, zero, root_r, y)

    return jnp.sum(jax.lax.scan(step, (zero, eye), ys)[1])


def whole_filter(F, q, r, ys):
    """The same from the filter that cuthbert builds, sequential in time.

    Its filter parallel in time is left out: at Nx = 20 it hung on two cores.
    """
    zero, eye = jnp.zeros(len(F)), jnp.eye(len(F))
    root_q, root_r = jnp.diag(jnp.sqrt(q)), jnp.diag(jnp.sqrt(r))

    def dynamics(model_inputs):
        del model_inputs
        return F, zero, root_q

    def observation(model_inputs):
        return eye, zero, root_r, model_inputs

    built = kalman.build_filter(zero, eye, dynamics, observation)
    states = cuthbert.filter(built, ys, built.init_prepare(), parallel=False)
    return states.log_normalizing_constant[-1]


def kalman_table() -> None:
    filters = {
        "plain covariance form": plain_kalman,
        "cuthbertlib predict and update": atoms,
        "cuthbert filter": whole_filter,
    }
    header("Kalman filter", "Nx", "what", "milliseconds", "times plain", "value error")
    for size in (3, 20):
        rng = np.random.default_rng(0)
        F = rng.normal(size=(size, size))
        F *= 0.95 / np.abs(np.linalg.eigvals(F)).max()
        q, r, ys = np.full(size, 0.1), np.full(size, 0.5), rng.normal(size=(T, size))
        with jax.enable_x64(True):
            exact = float(jax.jit(plain_kalman)(*map(jnp.asarray, (F, q, r, ys))))
        args = [jnp.asarray(value, jnp.float32) for value in (F, q, r, ys)]
        errors = {
            name: abs(float(jax.jit(filter)(*args)) / exact - 1)
            for name, filter in filters.items()
        }
        gradients = {name: jax.grad(filter) for name, filter in filters.items()}
        for what, programs in (("value", filters), ("gradient", gradients)):
            seconds = medians(programs, *args)
            plain = seconds["plain covariance form"]
            for name, value in seconds.items():
                error = f"{errors[name]:.0e}" if what == "value" else ""
                milliseconds, ratio = f"{value * 1e3:.2f}", f"{value / plain:.2f}"
                row(name, size, what, milliseconds, ratio, error)


if __name__ == "__main__":
    print(f"{jax.devices()[0].platform}, JAX {jax.__version__}, single precision")
    resampling_table()
    kalman_table()
