"""What the adaptive solver looks for, and the model that has it."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...engines.sweep import Sweep
from ...model import (
    AbstractScaleNoise,
    FlowMean,
    GaussianNoise,
    Schedule,
    StateSpaceModel,
)
from ...solution import Solution

LEARNABLE = ("state_noise", "observation_noise", "initial")


class Unknowns(NamedTuple):
    """What coefficients depart by, and variances, learnt or given."""

    parameters: Float[Array, "R K"]
    state_noise: Float[Array, "Nx"]
    observation_noise: Float[Array, "Ny"]
    initial_mean: Float[Array, "Nx"]
    initial_noise: Float[Array, "Nx"]


def model_unknowns(model: StateSpaceModel) -> Unknowns:
    """Those of a model; ones for the scale of an observation that has none."""
    initial, noise = model.initial_noise, model.transition.noise
    assert isinstance(initial, GaussianNoise)
    assert isinstance(noise, AbstractScaleNoise)
    seen = model.observation
    observed = jnp.ones(jax.eval_shape(seen.mean, model.initial_mean).shape)
    if isinstance(seen.noise, AbstractScaleNoise):
        observed = seen.noise.variances
    return Unknowns(
        model.coefficients,
        noise.variances,
        observed.astype(model.initial_mean.dtype),
        model.initial_mean,
        initial.variances,
    )


def solution_unknowns(solution: Solution) -> Unknowns:
    """Those of a fit; the parameters are the coefficients."""
    return Unknowns(
        solution.coefficients,
        solution.state_noise,
        solution.observation_noise,
        solution.initial_mean,
        solution.initial_noise,
    )


def fitted(
    model: StateSpaceModel, solution: Solution, learn: tuple[str, ...]
) -> StateSpaceModel:
    """The model with what a fit found."""
    if isinstance(model.mean, FlowMean):
        model = model.with_mean(model.mean.with_substeps(solution.substeps))
        if independent_noise(model):  # where none was given, the least that is sound
            learn = (*learn, "state_noise")
    return build(model, solution.coefficients, solution_unknowns(solution), learn)


def independent_noise(model: StateSpaceModel) -> bool:
    """Whether the state noise of a model is given by variances alone."""
    noise = model.transition.noise
    return not isinstance(noise, GaussianNoise) or noise.diagonal


def build(
    model: StateSpaceModel,
    coefficients: Float[Array, "Nx M"],
    unknowns: Unknowns,
    replace: tuple[str, ...],
) -> StateSpaceModel:
    """The model with these coefficients, and with these of the learnable parts."""
    model = model.with_coefficients(coefficients)
    if "state_noise" in replace:
        noise = model.transition.noise
        assert isinstance(noise, AbstractScaleNoise)
        noise = noise.with_variances(unknowns.state_noise)
        model = eqx.tree_at(lambda m: m.transition.noise, model, noise)
    if "observation_noise" in replace:
        noise = model.observation.noise
        assert isinstance(noise, AbstractScaleNoise)
        noise = noise.with_variances(unknowns.observation_noise)
        model = eqx.tree_at(lambda m: m.observation.noise, model, noise)
    if "initial" in replace:
        noise = GaussianNoise(jnp.sqrt(unknowns.initial_noise))
        model = eqx.tree_at(
            lambda m: (m.initial_mean, m.initial_noise),
            model,
            (unknowns.initial_mean, noise),
        )
    return model


def learn_initial(sweep: Sweep, unknowns: Unknowns) -> Unknowns:
    """EM for the distribution of x_0; its variance stays above that of one step."""
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
    seen, observation = ~jnp.isnan(ys), model.observation
    miss = jnp.where(seen, ys, 0)[:, None] - observation.mean(sweep.after)
    squares = jnp.einsum("tp,tpn->tn", sweep.weights, miss**2)
    trajectory = sweep.path[1:]
    H = jax.vmap(jax.jacfwd(observation.mean))(trajectory)
    squares += jnp.einsum("tni,tij,tnj->tn", H, sweep.spread, H)
    noise, means = observation.noise, observation.mean(trajectory)
    if isinstance(noise, AbstractScaleNoise):
        # An entry with a large error, or known to be less sure, counts less.
        def local(now: Schedule | None, y: Array, mean: Array) -> Array:
            return model.at(now).observation.noise.local(y, mean).variances

        at = jax.vmap(local)(model.schedule, jnp.where(seen, ys, means), means)
        squares *= noise.variances / at
    return jnp.sum(jnp.where(seen, squares, 0), axis=0)


def observed_steps(ys: Float[Array, "T Ny"]) -> Float[Array, "Ny"]:
    """Number of observations in each column."""
    return jnp.sum(~jnp.isnan(ys), axis=0).astype(ys.dtype)
