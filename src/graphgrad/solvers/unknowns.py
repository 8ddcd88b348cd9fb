"""What the adaptive solver looks for, and the model that has it."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..engines.sweep import Sweep, gaussian_parts
from ..model import GaussianNoise, LinearGaussian, StateSpaceModel

LEARNABLE = ("state_noise", "observation_noise", "initial")


class Unknowns(NamedTuple):
    """Coefficients and variances, learnt or given."""

    coefficients: Float[Array, "Nx M"]
    state_noise: Float[Array, "Nx"]
    observation_noise: Float[Array, "Ny"]
    initial_mean: Float[Array, "Nx"]
    initial_noise: Float[Array, "Nx"]


def given(model: StateSpaceModel) -> Unknowns:
    """What a model says."""
    initial, noise, observation, _ = gaussian_parts(model, "adaptive solver's")
    return Unknowns(
        model.coefficients,
        jnp.diag(noise.covariance),
        jnp.diag(observation.noise.covariance),
        model.initial_mean,
        jnp.diag(initial.covariance),
    )


def independent_noise(model: StateSpaceModel) -> bool:
    """Whether the state noise of a model is given by variances alone."""
    return gaussian_parts(model, "adaptive solver's")[1].diagonal


def build(
    model: StateSpaceModel, unknowns: Unknowns, replace: tuple[str, ...]
) -> StateSpaceModel:
    """The model with these coefficients, and with these of the learnable parts."""
    model = model.with_coefficients(unknowns.coefficients)
    if "state_noise" in replace:
        noise = GaussianNoise(jnp.sqrt(unknowns.state_noise))
        model = eqx.tree_at(lambda m: m.transition.noise, model, noise)
    if "observation_noise" in replace:
        assert isinstance(model.observation, LinearGaussian)
        noise = GaussianNoise(jnp.sqrt(unknowns.observation_noise))
        seen = LinearGaussian(noise, model.observation.matrix)
        model = eqx.tree_at(lambda m: m.observation, model, seen)
    if "initial" in replace:
        noise = GaussianNoise(jnp.sqrt(unknowns.initial_noise))
        model = eqx.tree_at(
            lambda m: (m.initial_mean, m.initial_noise),
            model,
            (unknowns.initial_mean, noise),
        )
    return model


def learn_initial(sweep: Sweep, unknowns: Unknowns) -> Unknowns:
    """EM for the law of x_0; its variance stays above that of one step."""
    w, x = sweep.weights[0][:, None], sweep.before[0]
    mean = jnp.sum(w * x, axis=0)
    variance = jnp.sum(w * (x - mean) ** 2, axis=0)
    return unknowns._replace(
        initial_mean=mean, initial_noise=jnp.maximum(variance, unknowns.state_noise)
    )


def observation_squares(
    sweep: Sweep, model: StateSpaceModel, ys: Float[Array, "T Ny"]
) -> Float[Array, "Ny"]:
    """Expected sums of squares of what the observations miss the states by.

    Of those that were made: `observed_steps` of each column.
    """
    seen = ~jnp.isnan(ys)
    miss = jnp.where(seen, ys, 0)[:, None] - model.observation.mean(sweep.after)
    squares = jnp.einsum("tp,tpn->tn", sweep.weights, miss**2)
    _, _, _, H = gaussian_parts(model, "adaptive solver's")
    squares += jnp.einsum("ni,tij,nj->tn", H, sweep.spread, H)
    return jnp.sum(jnp.where(seen, squares, 0), axis=0)


def observed_steps(ys: Float[Array, "T Ny"]) -> Float[Array, "Ny"]:
    """Number of observations in each column."""
    return jnp.sum(~jnp.isnan(ys), axis=0).astype(ys.dtype)
