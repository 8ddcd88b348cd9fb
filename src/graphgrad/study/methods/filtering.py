"""Filtered states of an estimated model, if no coefficients are true: Sec. V-D.

Every realisation has its own frequencies, initial state and coupling; the filter is
given the state of the oscillators when observations begin. `nrmse` is the error of the
filtered means relative to that of the true model, both by 100 bootstrap particles with
the same key, as in the paper; `nrmse_gaussian` uses the extended Kalman filter.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax.scipy.optimize import minimize
from jaxtyping import Array

from ...compiling import compiled
from ...engines import GaussianSmoother, ParticleFilter
from ...metrics import nrmse
from ...model import StateSpaceModel
from ...solvers import adaptive
from ...systems import EulerMean, KuramotoRate
from ..draws import model_of, system_of
from ..plan import Cell, Draws, Results
from ..scores import keys_of
from .adaptive import over_chunk
from .paper import solver_of

GAUSSIAN, PARTICLES = GaussianSmoother(), ParticleFilter(100)
PAPER = ("b-graphgrad", "pmle")


@cache
def _gaussian_means() -> Any:
    return compiled(lambda key, model, ys: GAUSSIAN.sweep(key, model, ys).filtered)


@cache
def _particle_means() -> Any:
    return compiled(lambda key, model, ys: PARTICLES(key, model, ys).means)


@cache
def _likeliest() -> Any:
    """Maximum-likelihood frequencies and coupling, started at the true ones."""

    def fit(key, model, ys):
        true = model.transition.mean
        flat, unravel = jax.flatten_util.ravel_pytree(true.rate)

        def at(z):
            return model.with_mean(EulerMean(unravel(flat + z), true.dt))

        def loss(z):
            return -GAUSSIAN.sweep(key, at(z), ys).log_likelihood

        found = minimize(
            loss, jnp.zeros_like(flat), method="BFGS", options={"maxiter": 40}
        )
        return at(found.x)

    return compiled(fit)


@cache
def _adaptive() -> Any:
    def fit(model, key, start, ys):
        return adaptive(key, ys, _from(start, model)).coefficients

    return over_chunk(fit)


def _from(start: Array, model: StateSpaceModel) -> StateSpaceModel:
    return eqx.tree_at(lambda m: m.initial_mean, model, start)


def _by_paper(
    name: str, cell: Cell, key: Any, model: StateSpaceModel, ys: Array
) -> Array:
    with jax.enable_x64(False):
        single = jax.tree.map(_to_single, model)
        found = solver_of(name, cell)(single, key, jnp.asarray(ys, jnp.float32))
        coefficients = np.asarray(found.coefficients, float)
    return jnp.asarray(coefficients)


def _to_single(leaf: Any) -> Any:
    return jnp.asarray(leaf, jnp.float32) if eqx.is_inexact_array(leaf) else leaf


def _estimates(
    name: str,
    cell: Cell,
    draws: Draws,
    keys: Array,
    truths: list[StateSpaceModel],
    ys: Array,
) -> list[StateSpaceModel]:
    """The estimated model of each realisation of a chunk."""
    if name == "true-mle":
        tasks = zip(keys, truths, ys, strict=True)
        return [_likeliest()(key, true, y) for key, true, y in tasks]
    model, starts = model_of(cell, draws), jnp.asarray(draws.states[:, 0], float)
    models = [_from(start, model) for start in starts]
    if name == "adaptive":
        found = _adaptive()(model, keys, starts, ys)
    else:
        tasks = zip(keys, models, ys, strict=True)
        found = [_by_paper(name, cell, key, begun, y) for key, begun, y in tasks]
    pairs = zip(models, found, strict=True)
    return [begun.with_coefficients(each) for begun, each in pairs]


def states_by(name: str) -> Callable[[Cell, Draws], Results]:
    """Errors of the states by a model fitted by one of the methods."""

    def method(cell: Cell, draws: Draws) -> Results:
        keys = keys_of(f"{name}-states", draws.seeds)
        ys = jnp.asarray(draws.observations, float)
        systems = [system_of(cell, int(seed)) for seed in draws.seeds]
        assert all(isinstance(system.rate, KuramotoRate) for system in systems)
        starts = zip(systems, draws.states[:, 0], strict=True)
        truths = [
            system.model(dynamics="map", initial=start) for system, start in starts
        ]
        found = _estimates(name, cell, draws, keys, truths, ys)
        states = jnp.asarray(draws.states[:, 1:], float)
        errors = [
            [
                nrmse(means(key, fit, y), means(key, true, y), xs)
                for means in (_particle_means(), _gaussian_means())
            ]
            for key, fit, true, y, xs in zip(
                keys, found, truths, ys, states, strict=True
            )
        ]
        particles, gaussian = np.asarray(errors, float).T
        return {"nrmse": particles, "nrmse_gaussian": gaussian}

    return method


STATES = {
    f"{name}-states": states_by(name) for name in (*PAPER, "true-mle", "adaptive")
}
