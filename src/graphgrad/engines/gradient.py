"""Log-likelihood and its gradient, as in the paper and in score form.

Alg. 2 differentiates through the particles: derivatives pass through products of
Jacobians of the map and grow with the length of the series. The score form holds the
drawn particles fixed and keeps the densities, so that the gradient is Fisher's
identity on the genealogies of the filter,

    grad = sum_t sum_k om_t^k d/dC log p(x_t^k | x_{t-1}^{a_t^k}; C),

with om_T the final weights and om_{t-1}^j the sum of om_t over the children of j: a
forward filter, a backward sum of weights, no back-propagation through time. Particles
without descendants at T have om = 0, and the sum is over the others only.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..checks import check_choice
from ..model import StateSpaceModel, checked_series
from .differentiable import check_ancestors
from .genealogy import descendant_weights, where_true
from .particle import ParticleFilter

Parameters = TypeVar("Parameters")
GRADIENTS = ("particles", "score")
_BLOCK = 512  # Particles whose densities are differentiated together.


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
    model = build(parameters)
    result = particle_filter(key, model, ys, length=length)
    first, weights = descendant_weights(result)
    if length is not None:
        weights = jnp.where(jnp.arange(len(ys))[:, None] < length, weights, 0)

    def initial_density(parameters):
        model = build(parameters)
        return _weighted(
            first,
            model.initial_noise.log_prob(result.initial_particles, model.initial_mean),
        )

    def density(parameters, y, moment, x, parent):
        model = build(parameters).at(moment)
        return model.transition.log_prob(x, parent) + model.observation.log_prob(y, x)

    def block_density(parameters, times, weights, *families):
        now = jax.tree.map(lambda leaf: jnp.asarray(leaf)[times], (ys, model.schedule))
        every = jax.vmap(density, in_axes=(None, 0, 0, 0, 0))
        return _weighted(weights, every(parameters, *now, *families))

    def add_block(number, gradient):
        block = _block(number, result, weights, indices, count)
        one = jax.grad(block_density)(parameters, *block)
        return jax.tree.map(jnp.add, gradient, one)

    indices, count = where_true(weights.reshape(-1) > 0)
    blocks = (count + _BLOCK - 1) // _BLOCK
    start = jax.grad(initial_density)(parameters)
    return result.log_likelihood, jax.lax.fori_loop(0, blocks, add_block, start)


def _block(number, result, weights, indices, count):
    """Times, weights, states and parents of some of the particles with descendants."""
    K = weights.shape[1]
    order = number * _BLOCK + jnp.arange(_BLOCK)
    chosen = indices.at[order].get(mode="fill", fill_value=0)
    counted = jnp.where(order < count, weights.reshape(-1)[chosen], 0)
    times, ancestors = chosen // K, result.ancestors.reshape(-1)[chosen]
    states = result.particles.reshape(-1, result.particles.shape[-1])
    parents = jnp.where(
        times[:, None] == 0,
        result.initial_particles[ancestors],
        states[jnp.maximum(times - 1, 0) * K + ancestors],
    )
    return times, counted, states[chosen], parents


def _weighted(weights, density):
    # Avoids 0 * -inf for particles without descendants at T.
    return jnp.sum(jnp.where(weights > 0, weights * density, 0))
