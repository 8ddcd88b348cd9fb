"""The conditional particle filter: one particle follows a given trajectory.

Lindsten, Jordan and Schön, Particle Gibbs with ancestor sampling, JMLR 15 (2014).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..checks import check_shape
from ..model import StateSpaceModel
from .particle import FilterResult
from .proposals import AbstractProposal
from .resampling import RESAMPLING


def conditional_filter(
    key: PRNGKeyArray,
    model: StateSpaceModel,
    ys: Float[Array, "T Ny"],
    reference: Float[Array, "T_plus_1 Nx"],
    num_particles: int,
    proposal: AbstractProposal,
) -> FilterResult:
    """Particle filter whose last particle is fixed, with ancestor sampling.

    Args:
        key: Random key.
        model: The model.
        ys: Observations.
        reference: The fixed trajectory x_0..x_T.
        num_particles: Number of particles, including the fixed one.
        proposal: Proposal of the other particles.
    """
    T, K = ys.shape[0], num_particles
    check_shape(
        "previous",
        reference.shape,
        (T + 1, model.n_states),
        "Give the `path` of a sweep over the same series.",
    )
    reference = defined(model, reference)
    prepared = proposal.prepare(model)
    start_key, loop_key, ancestor_key = jax.random.split(key, 3)
    x0 = model.initial_noise.sample(
        start_key, jnp.broadcast_to(model.initial_mean, (K, model.n_states))
    )
    x0 = x0.at[-1].set(reference[0])
    equal = jnp.full(K, -jnp.log(K), ys.dtype)
    keys = jax.random.split(loop_key, (T, 2))

    def step(carry: tuple[Array, Array], inputs: tuple):
        x, log_w = carry
        resample_key, move, uniform, y, fixed, moment = inputs
        now = model.at(moment)
        distribution = prepared if moment is None else proposal.prepare(now)
        ancestors = RESAMPLING["multinomial"](resample_key, log_w)
        # If no particle can be its ancestor, the trajectory keeps its own past.
        stay = jnp.where(jnp.arange(K) == K - 1, 0, -jnp.inf)
        past = choose(uniform, looking_ahead(now, log_w, x, fixed), stay)
        ancestors = ancestors.at[-1].set(past)
        parents = x[ancestors]
        x_next = distribution.placed(move, parents, y).at[-1].set(fixed)
        log_nu = equal + (
            now.observation.log_prob(y, x_next)
            + now.transition.log_prob(x_next, parents)
            - distribution.log_prob(x_next, parents, y)
        )
        # As in `ParticleFilter`: undefined densities are zero; losses are recorded.
        log_nu = jnp.where(jnp.isnan(log_nu), -jnp.inf, log_nu)
        increment = jax.nn.logsumexp(log_nu)
        alive = jnp.isfinite(increment)
        log_w_next = jnp.where(alive, log_nu - increment, equal)
        return (x_next, log_w_next), (x_next, log_w_next, ancestors, increment)

    _, (particles, log_weights, ancestors, increments) = jax.lax.scan(
        step,
        (x0, equal),
        (
            keys[:, 0],
            prepared.draws(keys[:, 1], x0.shape, x0.dtype),
            jax.random.uniform(ancestor_key, (T,), ys.dtype),
            ys,
            reference[1:],
            model.schedule,
        ),
    )
    result = FilterResult(
        log_likelihood=jnp.sum(increments),
        increments=increments,
        means=jnp.einsum("tk,tkn->tn", jnp.exp(log_weights), particles),
        effective_sizes=1 / jnp.sum(jnp.exp(2 * log_weights), axis=1),
        initial_particles=x0,
        particles=particles,
        log_weights=log_weights,
        ancestors=ancestors,
    )
    return with_finite_particles(model, result)


def defined(model: StateSpaceModel, x: Array) -> Array:
    """States, with those that overflowed replaced by the initial mean."""
    finite = jnp.all(jnp.isfinite(x), axis=-1, keepdims=True)
    return jnp.where(finite, x, model.initial_mean)


def with_finite_particles(model: StateSpaceModel, result: FilterResult) -> FilterResult:
    """The result with finite particles: zero weight times infinity would be NaN."""
    particles = defined(model, result.particles)
    return result._replace(
        particles=particles,
        means=jnp.einsum("tk,tkn->tn", jnp.exp(result.log_weights), particles),
    )


def looking_ahead(
    model: StateSpaceModel, log_w: Array, x: Array, x_next: Array
) -> Float[Array, "K"]:
    """Log-weights of particles x given that x_next follows."""
    return log_w + model.transition.log_prob(jnp.broadcast_to(x_next, x.shape), x)


def choose(
    uniform: Array, log_weights: Array, otherwise: Array | None = None
) -> Int[Array, ""]:
    """An index drawn by log-weights, or by `otherwise` if none of them is finite.

    By inverting the cumulative weights at one uniform random number:
    `jax.random.categorical` needs one for each particle.
    """
    log_weights = jnp.where(jnp.isnan(log_weights), -jnp.inf, log_weights)
    if otherwise is not None:
        alive = jnp.any(jnp.isfinite(log_weights))
        log_weights = jnp.where(alive, log_weights, otherwise)
    weights = jnp.exp(log_weights - jnp.max(log_weights))
    cumulative = jnp.cumsum(weights)
    point = uniform * cumulative[-1]
    number = jnp.searchsorted(cumulative, point, side="right").astype(jnp.int32)
    # A parallel cumulative sum may rise slightly where a weight is zero, and the point
    # may be rounded up to its end: then take the first of positive weight.
    first = jnp.searchsorted(cumulative, 0, side="right").astype(jnp.int32)
    return jnp.where(
        weights.at[number].get(mode="fill", fill_value=0) > 0, number, first
    )
