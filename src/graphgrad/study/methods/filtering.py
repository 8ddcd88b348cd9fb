"""Filtered states by an estimated model, where no coefficients are true: Sec. V-D.

Every realisation has frequencies, a start and a coupling of its own; the filter is told
where the oscillators are when observations begin. `nrmse` is the error of the filtered
means over that of the true model, both by 100 bootstrap particles with the same key, as
in the paper; `nrmse_gaussian` is the same by the extended Kalman filter.
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
    """Frequencies and coupling of maximum likelihood, searched from the true ones."""

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


def _estimate(
    name: str, cell: Cell, key: Any, model: StateSpaceModel, true: Any, ys: Array
) -> StateSpaceModel:
    if name == "true-mle":
        return _likeliest()(key, true, ys)
    if name == "adaptive":
        return model.with_coefficients(adaptive(key, ys, model).coefficients)
    with jax.enable_x64(False):
        single = jax.tree.map(_to_single, model)
        found = solver_of(name, cell)(single, key, jnp.asarray(ys, jnp.float32))
        coefficients = np.asarray(found.coefficients, float)
    return model.with_coefficients(jnp.asarray(coefficients))


def _to_single(leaf: Any) -> Any:
    return jnp.asarray(leaf, jnp.float32) if eqx.is_inexact_array(leaf) else leaf


def states_by(name: str) -> Callable[[Cell, Draws], Results]:
    """Errors of the states by a model that was fitted in one of the ways."""

    def method(cell: Cell, draws: Draws) -> Results:
        keys = keys_of(f"{name}-states", draws.seeds)
        errors = []
        for i, key in enumerate(keys):
            system = system_of(cell, int(draws.seeds[i]))
            assert isinstance(system.rate, KuramotoRate)
            start = jnp.asarray(draws.states[i, 0], float)
            ys = jnp.asarray(draws.observations[i], float)
            model = eqx.tree_at(lambda m: m.initial_mean, model_of(cell, draws), start)
            true = system.model(initial=draws.states[i, 0])
            found = _estimate(name, cell, key, model, true, ys)
            states = jnp.asarray(draws.states[i, 1:], float)
            errors.append(
                [
                    nrmse(means(key, found, ys), means(key, true, ys), states)
                    for means in (_particle_means(), _gaussian_means())
                ]
            )
        particles, gaussian = np.asarray(errors, float).T
        return {"nrmse": particles, "nrmse_gaussian": gaussian}

    return method


STATES = {
    f"{name}-states": states_by(name) for name in (*PAPER, "true-mle", "adaptive")
}
