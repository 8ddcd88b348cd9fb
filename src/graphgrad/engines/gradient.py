"""Log-likelihood and its gradient, as in the paper and in score form.

Alg. 2 differentiates through the particles: derivatives pass through products of
Jacobians of the map and grow with the length of the series. The score form holds the
drawn particles fixed and keeps the densities, so that the gradient is Fisher's
identity on the genealogies of the filter,

    grad = sum_t sum_k om_t^k d/dC log p(x_t^k | x_{t-1}^{a_t^k}; C),

with om_T the final weights and om_{t-1}^j the sum of om_t over the children of j: a
forward filter, a backward sum of weights, no back-propagation through time.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..checks import check_choice
from ..model import StateSpaceModel, checked_series
from .differentiable import check_ancestors
from .particle import ParticleFilter

Parameters = TypeVar("Parameters")
GRADIENTS = ("particles", "score")


def value_and_gradient(
    key: PRNGKeyArray,
    build: Callable[[Parameters], StateSpaceModel],
    parameters: Parameters,
    ys: Any,
    *,
    particle_filter: ParticleFilter,
    form: str = "particles",
    length: int | Int[Array, ""] | None = None,
) -> tuple[Float[Array, ""], Parameters]:
    """Estimate the log-likelihood, Eq. (5), and its gradient.

    Args:
        key: Random key.
        build: Function from parameters, any pytree of arrays, to the model.
        parameters: Where to evaluate.
        ys: Observations, `(T, Ny)`.
        particle_filter: The filter.
        form: `"particles"`, through the particles as in Alg. 2, or `"score"`.
        length: As for `ParticleFilter`.

    Examples:
        >>> import graphgrad as gg, jax
        >>> model = gg.systems.lorenz63(dt=0.02).model()
        >>> _, ys, _ = gg.simulate(jax.random.key(0), model, steps=20)
        >>> value, gradient = value_and_gradient(
        ...     jax.random.key(1), model.with_coefficients, model.coefficients, ys,
        ...     particle_filter=gg.ParticleFilter(), form="score")
        >>> gradient.shape
        (3, 10)
    """
    check_choice("form", form, GRADIENTS)
    ys = checked_series(ys, build(parameters))
    if form == "score":
        kind = particle_filter.resampling
        check_ancestors("form", form, kind, "Use the gradient through the 'particles'")
        return _score(key, build, parameters, ys, particle_filter, length)

    def log_likelihood(parameters: Parameters) -> Array:
        model = build(parameters)
        return particle_filter(key, model, ys, length=length).log_likelihood

    return jax.value_and_grad(log_likelihood)(parameters)


def _score(key, build, parameters, ys, particle_filter, length):
    T, schedule = ys.shape[0], build(parameters).schedule
    result = particle_filter(key, build(parameters), ys, length=length)
    used = jnp.ones(T, bool) if length is None else jnp.arange(T) < length

    def initial_density(parameters, weights):
        model = build(parameters)
        density = model.initial_noise.log_prob(
            result.initial_particles, model.initial_mean
        )
        return jnp.sum(weights * density)

    def step_density(parameters, weights, x, parents, y, moment):
        model = build(parameters).at(moment)
        density = model.transition.log_prob(x, parents)
        density += model.observation.log_prob(y, x)
        # Avoids 0 * -inf for particles without descendants at T.
        return jnp.sum(jnp.where(weights > 0, weights * density, 0))

    def back(carry, inputs):
        weights, gradient = carry
        x, before, ancestors, y, used, moment = inputs
        counted = jnp.where(used, weights, 0)
        one = jax.grad(step_density)(
            parameters, counted, x, before[ancestors], y, moment
        )
        gradient = jax.tree.map(jnp.add, gradient, one)
        return (jnp.zeros_like(weights).at[ancestors].add(weights), gradient), None

    before = jnp.concatenate([result.initial_particles[None], result.particles[:-1]])
    (weights, gradient), _ = jax.lax.scan(
        back,
        (jnp.exp(result.log_weights[-1]), jax.tree.map(jnp.zeros_like, parameters)),
        (result.particles, before, result.ancestors, ys, used, schedule),
        reverse=True,
    )
    first = jax.grad(initial_density)(parameters, weights)
    return result.log_likelihood, jax.tree.map(jnp.add, gradient, first)
