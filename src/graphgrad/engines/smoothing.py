"""Particle smoothers.

Four methods to get the distribution of (x_{t-1}, x_t) given all data from the filter:

- genealogy: a particle has the weight of its descendants at T (Kitagawa, 1996), the
  weights of Fisher's identity in `gradient`; few ancestors are left far before T.
- fixed lag: the weight of its descendants `lag` steps later (Kitagawa and Sato, 2001):
  many are left for any length of the series, but later data are ignored.
- backward: trajectories are drawn backwards, each state among all particles of its time
  (Godsill, Doucet and West, 2004, Alg. 1).
- ancestor: particle Gibbs, a filter in which one particle follows the trajectory of the
  previous sweep with new ancestors at each step (Lindsten, Jordan and Schön, 2014,
  Alg. 2). These trajectories are a Markov chain over sweeps whose stationary
  distribution is the smoothed one, for any number of particles.

See Chopin and Papaspiliopoulos, An Introduction to Sequential Monte Carlo (2020),
chapters 12 and 16.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..checks import check_at_least, check_choice
from ..model import GaussianNoise, LinearGaussian, StateSpaceModel, checked_series
from .conditional import (
    choose,
    conditional_filter,
    looking_ahead,
    with_finite_particles,
)
from .differentiable import AbstractResampling, check_ancestors, resampling_kind
from .genealogy import descendant_weights
from .particle import FilterResult, ParticleFilter
from .proposals import (
    PROPOSALS,
    AbstractProposal,
    Bootstrap,
    Linearised,
    LocallyOptimal,
)
from .sweep import AbstractEngine, FilteredDistributions, Sweep, drawn_variances


class Smoothed(NamedTuple):
    """Weighted pairs of states, and one trajectory x_0..x_T; as in `Sweep`."""

    before: Float[Array, "T P Nx"]
    after: Float[Array, "T P Nx"]
    weights: Float[Array, "T P"]
    path: Float[Array, "T_plus_1 Nx"]


def genealogy(
    key: PRNGKeyArray,
    engine: "ParticleSmoother",  # noqa: ARG001
    model: StateSpaceModel,  # noqa: ARG001
    result: FilterResult,
) -> Smoothed:
    """Every particle with its parent, with the weight of its descendants at T."""
    _, weights = descendant_weights(result)
    return Smoothed(*_families(result), weights, _trace(key, result))


def fixed_lag(
    key: PRNGKeyArray,
    engine: "ParticleSmoother",
    model: StateSpaceModel,  # noqa: ARG001
    result: FilterResult,
) -> Smoothed:
    """Every particle with its parent, with the weight of its descendants `lag` later.

    The trajectory is a genealogy, as without a lag.
    """
    T, K = result.log_weights.shape
    lag = min(engine.lag, T - 1)
    # Beyond T each particle is its own child: all times take the same steps.
    none = jnp.arange(K, dtype=result.ancestors.dtype)
    ancestors = jnp.concatenate([result.ancestors, jnp.tile(none, (lag, 1))])

    def back(i: Array, number: Array) -> Array:
        # From time t + lag - i to the previous one, for all t.
        step = jax.lax.dynamic_slice(ancestors, (lag - i, 0), (T, K))
        return jnp.take_along_axis(step, number, axis=1)

    numbers = jax.lax.fori_loop(0, lag, back, jnp.tile(none, (T, 1)))
    later = jnp.exp(result.log_weights)[jnp.minimum(jnp.arange(T) + lag, T - 1)]
    weights = jax.vmap(lambda n, w: jnp.zeros_like(w).at[n].add(w))(numbers, later)
    return Smoothed(*_families(result), weights, _trace(key, result))


def backward(
    key: PRNGKeyArray,
    engine: "ParticleSmoother",
    model: StateSpaceModel,
    result: FilterResult,
) -> Smoothed:
    """Trajectories of equal weight, drawn from the last state to the first."""
    T, K = result.log_weights.shape
    P = engine.paths
    uniforms = jax.random.uniform(key, (T + 1, P), result.log_weights.dtype)
    start = jnp.full((1, K), -jnp.log(K), uniforms.dtype)
    log_weights = jnp.concatenate([start, result.log_weights[:-1]])

    def back(x_next: Array, inputs: tuple) -> tuple[Array, Array]:
        uniforms, x, log_w, moment = inputs
        now = model.at(moment)

        def one(uniform: Array, x_next: Array) -> Array:
            return x[choose(uniform, looking_ahead(now, log_w, x, x_next), log_w)]

        points = jax.vmap(one)(uniforms, x_next)
        return points, points

    each = jax.vmap(choose, in_axes=(0, None))
    last = result.particles[-1][each(uniforms[-1], result.log_weights[-1])]
    _, drawn = jax.lax.scan(
        back,
        last,
        (uniforms[:-1], _before(result), log_weights, model.schedule),
        reverse=True,
    )
    drawn = jnp.concatenate([drawn, last[None]])
    weights = jnp.full((T, P), 1 / P, drawn.dtype)
    return Smoothed(drawn[:-1], drawn[1:], weights, drawn[:, 0])


SMOOTHING: dict[
    str,
    Callable[
        [PRNGKeyArray, "ParticleSmoother", StateSpaceModel, FilterResult], Smoothed
    ],
] = {
    "genealogy": genealogy,
    "fixed lag": fixed_lag,
    "backward": backward,
    "ancestor": genealogy,  # Of the conditional filter.
}
"""Smoothing methods by name."""


class ParticleSmoother(AbstractEngine):
    """Particle smoother: for any model, exact as the number of particles grows.

    If all particles have zero likelihood the log-likelihood is minus infinity, and the
    points stay finite with equal weights. With `"ancestor"` the log-likelihood is that
    of the conditional filter: biased upwards on average by half its variance, as the
    plain filter's is biased downwards.

    Attributes:
        num_particles: Number of particles, K.
        proposal: As for `ParticleFilter`. If None, `"locally optimal"` if the model
            allows it, `"linearised"` if only the observation is not linear and
            Gaussian, and `"bootstrap"` otherwise.
        resampling: As for `ParticleFilter`; `"optimal transport"` has no ancestors and
            works with `"backward"` only. The conditional filter of `"ancestor"` is
            valid with `"multinomial"` only and always uses that.
        smoothing: `"genealogy"`, `"fixed lag"`, `"backward"` or `"ancestor"`.
        lag: Number of steps that `"fixed lag"` looks ahead.
        paths: Number of trajectories that `"backward"` draws.

    Examples:
        >>> import graphgrad as gg, jax
        >>> model = gg.systems.lorenz63(dt=0.02).model()
        >>> _, ys, _ = gg.simulate(jax.random.key(0), model, steps=50)
        >>> engine = ParticleSmoother(200, smoothing="backward", paths=30)
        >>> sweep = engine.sweep(jax.random.key(1), model, ys)
        >>> sweep.before.shape, sweep.means().shape
        ((50, 30, 3), (51, 3))
    """

    proposal: AbstractProposal | None
    resampling: AbstractResampling
    num_particles: int = eqx.field(static=True)
    smoothing: str = eqx.field(static=True)
    lag: int = eqx.field(static=True)
    paths: int = eqx.field(static=True)

    def __init__(
        self,
        num_particles: int = 100,
        *,
        proposal: str | AbstractProposal | None = None,
        resampling: str | AbstractResampling = "systematic",
        smoothing: str = "genealogy",
        lag: int = 20,
        paths: int = 20,
    ):
        self.num_particles = check_at_least(
            "num_particles", num_particles, 2, "Try 100."
        )
        if not (proposal is None or isinstance(proposal, AbstractProposal)):
            proposal = PROPOSALS[check_choice("proposal", proposal, PROPOSALS)]()
        self.proposal = proposal
        self.resampling = resampling_kind(resampling)
        self.smoothing = check_choice("smoothing", smoothing, SMOOTHING)
        if self.smoothing != "backward":
            remedy = "Use `smoothing='backward'`"
            check_ancestors("smoothing", smoothing, self.resampling, remedy)
        self.lag = check_at_least("lag", lag, 0, "0 does not look ahead; try 20.")
        self.paths = check_at_least("paths", paths, 1, "Try 20.")

    @property
    def stochastic(self) -> bool:
        return True

    def sweep(
        self,
        key: PRNGKeyArray,
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"] | None = None,
        unsure: Bool[Array, "T_plus_1"] | None = None,  # noqa: ARG002
    ) -> Sweep:
        ys = jnp.asarray(checked_series(ys, model))
        filter_key, smooth_key = jax.random.split(key)
        result = self._filter(filter_key, model, ys, previous)
        smoothed = SMOOTHING[self.smoothing](smooth_key, self, model, result)
        T, Nx = result.means.shape
        return Sweep(
            log_likelihood=result.log_likelihood,
            filtered=result.means,
            before=smoothed.before,
            after=smoothed.after,
            weights=smoothed.weights,
            spread=jnp.zeros((T, Nx, Nx), ys.dtype),
            variances=drawn_variances(model, smoothed.before, smoothed.after),
            path=smoothed.path,
        )

    def filter(
        self, key: PRNGKeyArray, model: StateSpaceModel, ys: Float[Array, "T Ny"]
    ) -> FilteredDistributions:
        result = with_finite_particles(model, self._plain(model)(key, model, ys))
        away = result.particles - result.means[:, None]
        weights = jnp.exp(result.log_weights)
        covariances = jnp.einsum("tk,tkn,tkm->tnm", weights, away, away)
        return FilteredDistributions(result.means, covariances, result.increments)

    def _plain(self, model: StateSpaceModel) -> ParticleFilter:
        return ParticleFilter(
            self.num_particles,
            proposal=self._proposal(model),
            resampling=self.resampling,
        )

    def _filter(
        self,
        key: PRNGKeyArray,
        model: StateSpaceModel,
        ys: Array,
        previous: Array | None,
    ) -> FilterResult:
        proposal, plain = self._proposal(model), self._plain(model)
        if self.smoothing != "ancestor":
            return with_finite_particles(model, plain(key, model, ys))
        if previous is None:
            key, plain_key, trace_key = jax.random.split(key, 3)
            previous = _trace(
                trace_key, with_finite_particles(model, plain(plain_key, model, ys))
            )
        return conditional_filter(
            key, model, ys, previous, self.num_particles, proposal
        )

    def _proposal(self, model: StateSpaceModel) -> AbstractProposal:
        if self.proposal is not None:
            return self.proposal
        if not isinstance(model.transition.noise, GaussianNoise):
            return Bootstrap()
        if isinstance(model.observation, LinearGaussian):
            return LocallyOptimal()
        return Linearised()


def _before(result: FilterResult) -> Float[Array, "T K Nx"]:
    return jnp.concatenate([result.initial_particles[None], result.particles[:-1]])


def _families(result: FilterResult) -> tuple[Array, Array]:
    """Parents, and their children."""
    numbers = result.ancestors[:, :, None]
    return jnp.take_along_axis(_before(result), numbers, axis=1), result.particles


def _trace(key: PRNGKeyArray, result: FilterResult) -> Float[Array, "T_plus_1 Nx"]:
    """The ancestors of one particle drawn at time T."""

    def back(number: Array, ancestors: Array) -> tuple[Array, Array]:
        return ancestors[number], number

    final = result.log_weights[-1]
    last = choose(jax.random.uniform(key, (), final.dtype), final)
    first, numbers = jax.lax.scan(back, last, result.ancestors, reverse=True)
    states = jnp.take_along_axis(result.particles, numbers[:, None, None], axis=1)
    return jnp.concatenate([result.initial_particles[first][None], states[:, 0]])
