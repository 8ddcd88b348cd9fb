"""Value and score of a particle filter with other libraries, on the same model.

Each function returns a program from a seed to the log-likelihood and its gradient in
the coefficients. The model is x' = C phi(x) + noise with independent noise, y = x +
noise, resampled at every step by the systematic scheme. Each library is used in the way
its manual says is fast.
"""

# The other libraries are optional.
# pyright: reportMissingImports=false

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

LOG_2PI = np.log(2 * np.pi)
Program = Callable[[int], Any]


class Problem(NamedTuple):
    """Coefficients, noise, start and data of the model that all programs filter."""

    terms: Callable[[jax.Array], jax.Array]
    coefficients: jax.Array
    state_scale: jax.Array
    observation_scale: jax.Array
    initial_mean: jax.Array
    initial_scale: jax.Array
    ys: jax.Array


@cache
def key_of(seed: int) -> jax.Array:
    """The random key of a seed, made once: making it takes a tenth of our time."""
    return jax.random.key(seed)


def cuthbert_score(problem: Problem, particles: int) -> Program:
    """Fisher's identity by stopped gradients: `stop_gradient_decorator`."""
    import cuthbert
    from cuthbert.smc import particle_filter
    from cuthbertlib.resampling import autodiff, systematic

    def log_likelihood(C, key):
        def begin(key):
            z = jax.random.normal(key, problem.initial_mean.shape)
            return problem.initial_mean + problem.initial_scale * z

        def move(key, x, y):
            del y
            z = jax.random.normal(key, x.shape)
            moved = C @ problem.terms(x) + problem.state_scale * z
            return jax.lax.stop_gradient(moved)

        def log_potential(before, x, y):
            mean = C @ problem.terms(before)
            density = jnp.sum(norm.logpdf(x, mean, problem.state_scale))
            fit = jnp.sum(norm.logpdf(y, x, problem.observation_scale))
            return fit + density - jax.lax.stop_gradient(density)

        scheme = autodiff.stop_gradient_decorator(systematic.resampling)
        build: Any = particle_filter.build_filter
        built = build(begin, move, log_potential, particles, scheme)
        begin_key, loop_key = jax.random.split(key)
        start = built.init_prepare(key=begin_key)
        states = cuthbert.filter(built, problem.ys, start, key=loop_key)
        return states.log_normalizing_constant[-1]  # pyright: ignore

    run = jax.jit(jax.value_and_grad(log_likelihood))
    return lambda seed: run(problem.coefficients, key_of(seed))


def pypomp_score(problem: Problem, particles: int) -> Program:
    """MOP with alpha 1, and a transition of all particles at once (`vectorized`)."""
    import pandas as pd
    import pypomp
    from pypomp.functional import mop
    from pypomp.types import (
        CovarDict,
        InitialTimeFloat,
        ObservationDict,
        ParamDict,
        RNGKey,
        StateDict,
        StepSizeFloat,
        TimeFloat,
    )

    n, M = problem.coefficients.shape
    states, observed = [f"x{i}" for i in range(n)], [f"y{i}" for i in range(n)]
    names = [f"c{i}_{j}" for i in range(n) for j in range(M)]

    def rinit(theta_: ParamDict, key: RNGKey, covars: CovarDict, t0: InitialTimeFloat):
        del theta_, covars, t0
        z = jax.random.normal(key, (n,))
        x = problem.initial_mean + problem.initial_scale * z
        return {name: x[i] for i, name in enumerate(states)}  # pyright: ignore

    @pypomp.vectorized
    def rproc(
        X_: StateDict,
        theta_: ParamDict,
        key: RNGKey,
        covars: CovarDict,
        t: TimeFloat,
        dt: StepSizeFloat,
    ):
        del covars, t, dt
        x = jnp.stack([jnp.asarray(X_[name]) for name in states])
        C = jnp.stack([jnp.asarray(theta_[name]) for name in names]).reshape(n, M)
        z = jax.random.normal(key, x.shape)
        x = C @ problem.terms(x.T).T + problem.state_scale[:, None] * z
        return {name: x[i] for i, name in enumerate(states)}  # pyright: ignore

    def dmeas(
        Y_: ObservationDict,
        X_: StateDict,
        theta_: ParamDict,
        covars: CovarDict,
        t: TimeFloat,
    ):
        del theta_, covars, t
        scales = zip(observed, states, problem.observation_scale, strict=True)
        return sum(norm.logpdf(Y_[y], X_[x], scale) for y, x, scale in scales)  # pyright: ignore

    flat = dict(zip(names, np.ravel(problem.coefficients).tolist(), strict=True))
    times = np.arange(1.0, len(problem.ys) + 1)
    struct = pypomp.Pomp(
        ys=pd.DataFrame(np.asarray(problem.ys), index=times, columns=observed),  # pyright: ignore
        theta=pypomp.PompParameters(flat),
        statenames=states,
        t0=0.0,
        nstep=1,
        rinit=rinit,
        rproc=rproc,
        dmeas=dmeas,
    ).to_struct()
    order = [names.index(name) for name in struct.param_names]

    def log_likelihood(C, key):
        theta = C.reshape(-1)[jnp.asarray(order)]
        return -mop(struct, theta[None], particles, 1.0, key[None])[0]

    run = jax.jit(jax.value_and_grad(log_likelihood))
    return lambda seed: run(problem.coefficients, key_of(seed))


def particles_score(problem: Problem, particles: int) -> Program:
    """Fisher's identity over genealogies, forward in time: `Online_smooth_naive`."""
    # A statement would find the module of this folder that has the same name.
    library = import_module("particles")
    collectors = import_module("particles.collectors")
    C, scale, observation_scale, mean, initial_scale, ys = map(np.asarray, problem[1:])

    def normals(shape):
        return np.random.standard_normal(shape)  # noqa: NPY002

    class Filter(library.FeynmanKac):
        def M0(self, N):  # noqa: N802
            return mean + initial_scale * normals((N, len(mean)))

        def M(self, t, xp):  # noqa: N802
            del t
            return _monomials(xp) @ C.T + scale * normals(xp.shape)

        def logG(self, t, xp, x):  # noqa: N802
            del xp
            if t == 0:
                return np.zeros(len(x))
            surprise = (ys[t - 1] - x) / observation_scale
            constant = np.log(observation_scale).sum() + 0.5 * len(C) * LOG_2PI
            return -0.5 * (surprise**2).sum(axis=1) - constant

        def add_func(self, t, xp, x):
            if t == 0:
                return np.zeros((len(x), C.size))
            phi = _monomials(xp)
            surprise = (x - phi @ C.T) / scale**2
            return (surprise[:, :, None] * phi[:, None]).reshape(len(x), -1)

    def run(seed: int):
        np.random.seed(seed)  # noqa: NPY002
        smc = library.SMC(
            fk=Filter(len(ys) + 1),
            N=particles,
            resampling="systematic",
            ESSrmin=1.0,
            collect=[collectors.Online_smooth_naive()],
        )
        smc.run()
        return smc.logLt, smc.summaries.online_smooth_naive[-1].reshape(C.shape)

    return run


def _monomials(x: np.ndarray) -> np.ndarray:
    """Monomials up to degree 2 in NumPy, in the order of the library."""
    first, second = np.triu_indices(x.shape[1])
    return np.concatenate([np.ones((len(x), 1)), x, x[:, first] * x[:, second]], axis=1)
