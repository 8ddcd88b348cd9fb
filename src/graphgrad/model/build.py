"""The door to models: plain numbers in, everything checked once."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..checks import check_covariance, check_finite, check_shape
from ..library import AbstractLibrary
from .noise import GaussianNoise
from .observation import LinearGaussian
from .state_space import StateSpaceModel
from .transition import LibraryMean, Transition


def state_space_model(
    library: AbstractLibrary,
    coefficients: Any = None,
    *,
    state_noise: Any,
    observation_noise: Any,
    initial_mean: Any = None,
    initial_noise: Any = 1.0,
    observation_matrix: Any = None,
) -> StateSpaceModel:
    """A model x_t = C phi(x_{t-1}) + v_t, y_t = H x_t + r_t with Gaussian noise.

    Args:
        library: The terms phi.
        coefficients: C of shape `(Nx, M)`; zeros when it is what you look for.
        state_noise: Covariance of v: a variance, a variance a state, or a matrix.
        observation_noise: Covariance of r, in the same three ways.
        initial_mean: Mean of x_0; zeros if not given.
        initial_noise: Covariance of x_0, in the same three ways.
        observation_matrix: H of shape `(Ny, Nx)`; all states are seen if not given.

    Returns:
        The model, in the floating-point precision that JAX is set to.

    Examples:
        >>> library = __import__("graphgrad").Polynomial(n_states=2, degree=1)
        >>> model = state_space_model(library, [[0, 0.9, 0.1], [0, 0, 0.8]],
        ...                           state_noise=0.1, observation_noise=[0.2, 0.3])
        >>> model.coefficients.shape
        (2, 3)
    """
    n_states, shape = library.n_states, (library.n_states, library.n_terms)
    if coefficients is None:
        coefficients = np.zeros(shape)
    coefficients = check_finite(
        "coefficients", coefficients, "Give one row a state, one column a term."
    )
    check_shape(
        "coefficients",
        coefficients.shape,
        shape,
        f"The library has {shape[1]} terms of {n_states} states.",
    )
    if initial_mean is None:
        initial_mean = np.zeros(n_states)
    initial_mean = check_finite(
        "initial_mean", initial_mean, "Give one number a state."
    )
    check_shape(
        "initial_mean", initial_mean.shape, (n_states,), "Give one number a state."
    )
    n_seen = n_states
    if observation_matrix is not None:
        observation_matrix = check_finite(
            "observation_matrix", observation_matrix, "Give one row a quantity seen."
        )
        # One row at least: without any, nothing is seen.
        n_seen = max(1, len(np.atleast_1d(observation_matrix)))
        check_shape(
            "observation_matrix",
            observation_matrix.shape,
            (n_seen, n_states),
            "Give one row a quantity seen and one column a state.",
        )
        observation_matrix = jnp.asarray(observation_matrix)
    return StateSpaceModel(
        initial_mean=jnp.asarray(initial_mean),
        initial_noise=_gaussian("initial_noise", initial_noise, n_states),
        transition=Transition(
            LibraryMean(library, jnp.asarray(coefficients)),
            _gaussian("state_noise", state_noise, n_states),
        ),
        observation=LinearGaussian(
            _gaussian("observation_noise", observation_noise, n_seen),
            observation_matrix,
        ),
    )


def _gaussian(name: str, covariance: Any, size: int) -> GaussianNoise:
    return GaussianNoise.of(jnp.asarray(check_covariance(name, covariance, size)))
