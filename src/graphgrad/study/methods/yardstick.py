"""The yardstick: maximum likelihood with known support."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.optimize import minimize
from jaxtyping import Array, Float

from ...compiling import compiled
from ...model import StateSpaceModel
from ..draws import model_of
from ..plan import Cell, Draws, Results
from ..scores import scored


def kalman_loss(
    coefficients: Float[Array, "Nx M"],
    model: StateSpaceModel,
    ys: Float[Array, "T Ny"],
) -> Float[Array, ""]:
    """Negative log-likelihood of the extended Kalman filter, up to a constant.

    Implemented separately, so that it is independent of the code it measures.
    """
    mean = model.with_coefficients(coefficients).transition.mean
    Q = model.transition.noise.covariance  # pyright: ignore
    R = model.observation.noise.covariance  # pyright: ignore

    def step(carry, y):
        m, P = carry
        F = jax.jacfwd(mean)(m)
        m, P = mean(m), F @ P @ F.T + Q
        S = P + R
        L = jnp.linalg.cholesky(S)
        whiten = jax.scipy.linalg.solve_triangular(L, jnp.eye(len(L)), lower=True)
        gain = P @ whiten.T @ whiten
        miss = y - m
        loss = 0.5 * jnp.sum((whiten @ miss) ** 2) + jnp.sum(jnp.log(jnp.diag(L)))
        P = P - gain @ S @ gain.T
        return (m + gain @ miss, (P + P.T) / 2), loss

    start = (model.initial_mean, model.initial_noise.covariance)  # pyright: ignore
    return jnp.sum(jax.lax.scan(step, start, ys)[1])


def best_on_support(
    rows: Any, columns: Any, model: StateSpaceModel, states: Array, ys: Array
) -> Float[Array, "Nx M"]:
    """Maximum-likelihood coefficients at some positions, started at the model's own.

    Args:
        rows: Equations of the nonzero terms.
        columns: Indices of the terms.
        model: With the true coefficients.
        states: The true states, used only to scale the search.
        ys: Observations.
    """
    # In units of the standard errors given known states.
    sizes = jnp.sum(model.library(states[:-1]) ** 2, axis=0)
    noise = jnp.diag(model.transition.noise.covariance)  # pyright: ignore
    unit = jnp.sqrt(noise[rows] / sizes[columns])

    def at(z):
        return model.coefficients.at[rows, columns].add(z * unit)

    found = minimize(
        lambda z: kalman_loss(at(z), model, ys),
        jnp.zeros(len(rows)),
        method="BFGS",
        options={"gtol": 1e-3, "maxiter": 60},
    )
    return at(found.x)


@cache
def _fit() -> Any:
    many = jax.vmap(best_on_support, in_axes=(None, None, None, 0, 0))
    return compiled(many)


def support_known(cell: Cell, draws: Draws) -> Results:
    """The yardstick on all realisations of a chunk."""
    model = model_of(cell, draws)
    rows, columns = np.nonzero(np.asarray(model.coefficients))
    states = jnp.asarray(draws.states, float)
    found = _fit()(rows, columns, model, states, jnp.asarray(draws.observations, float))
    return scored(cell, draws, np.asarray(found))
