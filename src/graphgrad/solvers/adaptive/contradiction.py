"""Whether coefficients that were given contradict the data: Rao's score test."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...compiling import compiled
from ...engines.gaussian import GaussianSmoother
from ...engines.information import information
from ...model import StateSpaceModel

CONTRADICTS = 50.0
"""Score statistic, seven standard errors, that no chance explains."""


def contradicts(
    model: StateSpaceModel,
    ys: Float[np.ndarray, "T Ny"],
    trajectory: Float[Array, "T_plus_1 Nx"],
    given: Bool[np.ndarray, "Nx M"],
    found: Bool[np.ndarray, "Nx M"],
) -> bool:
    """Whether the data ask for another value of one of the given coefficients.

    Args:
        model: The fitted model.
        ys: Observations.
        trajectory: Smoothed means of x_0..x_T.
        given: Coefficients that were given and are not zero.
        found: Coefficients that were estimated.
    """
    if not given.any():
        return False
    slope, matrix = (
        np.asarray(part) for part in _slopes(model, jnp.asarray(ys), trajectory)
    )
    on, at = found.ravel(), np.flatnonzero(given.ravel())
    explained = matrix[np.ix_(at, on)] @ np.linalg.pinv(matrix[np.ix_(on, on)])
    left = np.diag(matrix)[at] - np.sum(explained * matrix[np.ix_(at, on)], axis=1)
    score = slope.ravel()[at] ** 2 / np.maximum(left, np.finfo(float).tiny)
    return bool(np.max(score) > CONTRADICTS)


@compiled
def _slopes(
    model: StateSpaceModel, ys: Array, trajectory: Array
) -> tuple[Array, Array]:
    """Slope of the log-likelihood, and the information, in all coefficients."""
    Nx, M = model.coefficients.shape
    engine = GaussianSmoother()

    def value(C: Array) -> Array:
        return engine.log_likelihood(model.with_coefficients(C), ys, trajectory)

    active = jnp.broadcast_to(jnp.arange(M), (Nx, M))
    known = information(model, ys, trajectory, active).coefficients
    return jax.grad(value)(model.coefficients + 0 * known[0, 0]), known
