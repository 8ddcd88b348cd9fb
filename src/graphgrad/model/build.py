"""Construction of models from plain numbers, with all input checks."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..checks import (
    check_at_least,
    check_choice,
    check_covariance,
    check_finite,
    check_shape,
)
from ..library import AbstractLibrary
from ..library.degrees import default_states
from .distributions import AbstractIndependentNoise
from .mean import DYNAMICS, check_dynamics
from .noise import AbstractNoise, AbstractScaleNoise, GaussianNoise, ScaledNoise
from .observation import AbstractObservation, GeneralObservation, LinearGaussian
from .state_space import StateSpaceModel
from .transition import Transition


def state_space_model(
    library: AbstractLibrary,
    coefficients: Any = None,
    *,
    dynamics: str = "map",
    dt: Any = None,
    state_noise: Any,
    observation_noise: Any,
    initial_mean: Any = None,
    initial_noise: Any = 1.0,
    observation: Any = None,
    n_inputs: Any = 0,
    substeps: int = 1,
) -> StateSpaceModel:
    """Build a state-space model whose dynamics are a library of terms.

    The map is x_t = C phi(x_{t-1}) + v_t, the difference x_t = x_{t-1} + A phi(x_{t-1})
    + v_t, and the flow dx = A phi(x) dt + dw between rows; y_t = h(x_t) + r_t.

    Args:
        library: The terms phi, of the states and then the inputs.
        coefficients: C or A, of shape `(Nx, M)`; zeros if they are to be fitted.
        dynamics: `"map"`, `"difference"` or `"flow"`.
        dt: Usual interval between rows, for a flow.
        state_noise: Covariance of the process noise v, or for a flow of dw per unit of
            time: a variance, one variance per state, or a matrix; 0 for a flow without
            process noise. Or a distribution: `StudentT`, `MultiplicativeNoise`, or a
            custom `AbstractNoise`; in a flow it acts at the end of each interval, with
            squared scales proportional to the interval.
        observation_noise: Covariance of the measurement noise r, in the same three
            forms. Or a distribution: `StudentT`, `Poisson`, `NegativeBinomial`,
            `Binomial`, `UserDensity`.
        initial_mean: Mean of x_0; zeros if not given.
        initial_noise: Covariance of x_0, in the same three forms.
        observation: Observation function h: all states if not given; the names of the
            observed states, as `["x1", "x3"]`; H of shape `(Ny, Nx)`; or a
            differentiable function of a state.
        n_inputs: Number of inputs; they are the last variables of the library.
        substeps: Runge-Kutta steps of a flow per interval; `adaptive` chooses them.

    Returns:
        The model, in the floating-point precision that JAX is set to.

    Examples:
        >>> library = __import__("graphgrad").Polynomial(n_states=2, degree=1)
        >>> model = state_space_model(library, [[0, 0.9, 0.1], [0, 0, 0.8]],
        ...                           state_noise=0.1, observation_noise=[0.2, 0.3])
        >>> model.coefficients.shape
        (2, 3)
    """
    remedy = "It is the number of the library's last variables that are inputs."
    n_inputs = check_at_least("n_inputs", n_inputs, 0, remedy)
    n_states = check_at_least(
        "n_states",
        library.n_states - n_inputs,
        1,
        "Leave at least one variable for a state.",
    )
    shape = (n_states, library.n_terms)
    if coefficients is None:
        coefficients = np.zeros(shape)
    coefficients = check_finite(
        "coefficients", coefficients, "Give one row per state, one column per term."
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
        "initial_mean", initial_mean, "Give one number per state."
    )
    check_shape(
        "initial_mean", initial_mean.shape, (n_states,), "Give one number per state."
    )
    return StateSpaceModel(
        initial_mean=jnp.asarray(initial_mean),
        initial_noise=_gaussian("initial_noise", initial_noise, n_states),
        transition=Transition(
            DYNAMICS[check_dynamics(dynamics)].of(
                library, jnp.asarray(coefficients), dt=dt, substeps=substeps
            ),
            _state_noise(state_noise, n_states, none=dynamics == "flow"),
        ),
        observation=_observation(observation, observation_noise, n_states),
    )


def _state_noise(
    noise: Any, n_states: int, *, none: bool = False
) -> AbstractScaleNoise:
    if none and not isinstance(noise, AbstractNoise | str) and np.ndim(noise) < 2:
        remedy = "Give one variance or one per state; 0 for no process noise."
        variances = check_finite("state_noise", noise, remedy)
        if (variances == 0).any() and (variances >= 0).all():
            shape = ((), (n_states,))[variances.ndim]
            check_shape("state_noise", variances.shape, shape, remedy)
            return GaussianNoise(jnp.sqrt(jnp.asarray(variances)) * jnp.ones(n_states))
    if not isinstance(noise, AbstractNoise):
        return _gaussian("state_noise", noise, n_states)
    if not isinstance(noise, AbstractScaleNoise):
        return ScaledNoise(noise=noise, scale=jnp.ones(n_states))
    return _sized("state_noise", noise, n_states)


def _sized(name: str, noise: AbstractScaleNoise, size: int) -> AbstractScaleNoise:
    """The noise with one scale per coordinate."""
    shape = noise.scale.shape
    if shape not in ((), (size,), (size, size)):
        remedy = f"Give one number or {size}."
        check_shape(name, shape, (size,), remedy)
    return noise if shape else noise.times(jnp.ones(size))


def _observation(given: Any, noise: Any, n_states: int) -> AbstractObservation:
    n_observed, matrix = n_states, None
    function: Any = None
    if callable(given):
        function = given
        n_observed = jax.eval_shape(given, jnp.zeros(n_states)).shape[-1]
    elif given is not None:
        if isinstance(given, Sequence) and all(isinstance(name, str) for name in given):
            names = default_states(n_states)
            for name in given:
                check_choice("observation", name, names)
            given = np.eye(n_states)[[names.index(name) for name in given]]
        remedy = "Give one row per observed quantity."
        matrix = check_finite("observation", given, remedy)
        # At least one row: otherwise nothing is observed.
        n_observed = max(1, len(np.atleast_1d(matrix)))
        check_shape(
            "observation",
            matrix.shape,
            (n_observed, n_states),
            "Give one row per observed quantity and one column per state.",
        )
        matrix = jnp.asarray(matrix)
    if isinstance(noise, AbstractNoise):
        if isinstance(noise, AbstractScaleNoise):
            noise = _sized("observation_noise", noise, n_observed)
    else:
        noise = _gaussian("observation_noise", noise, n_observed)
    if isinstance(noise, GaussianNoise) and function is None:
        return LinearGaussian(noise, matrix)
    if not isinstance(noise, GaussianNoise | AbstractIndependentNoise):
        raise ValueError(
            "`observation_noise` must be a covariance or a distribution of independent "
            f"entries, got {type(noise).__name__}. Use `UserDensity` for a custom "
            "density."
        )
    return GeneralObservation(noise, matrix, function)


def _gaussian(name: str, covariance: Any, size: int) -> GaussianNoise:
    return GaussianNoise.of(jnp.asarray(check_covariance(name, covariance, size)))
