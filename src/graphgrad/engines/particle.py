"""The particle filter: Alg. 1 forward, and Alg. 2 when differentiated."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..checks import check_at_least, check_choice
from ..model import StateSpaceModel, checked_series
from .differentiable import (
    AbstractResampling,
    Resampled,
    check_ancestors,
    resampling_kind,
)
from .proposals import PROPOSALS, AbstractProposal


class FilterResult(NamedTuple):
    """Result of one run of the filter.

    Attributes:
        log_likelihood: Estimate of log p(y_1:T), Eq. (5); minus infinity if at some
            step all particles have zero likelihood.
        increments: Its T summands.
        means: Filtered means of the states.
        effective_sizes: Effective sample sizes 1 / sum of squared weights.
        initial_particles: Particles at time 0.
        particles: Particles at times 1..T.
        log_weights: Their normalised log-weights.
        ancestors: For each particle, the index of its parent at the previous step; -1
            if it has many, as with `TransportResampling`.
    """

    log_likelihood: Float[Array, ""]
    increments: Float[Array, "T"]
    means: Float[Array, "T Nx"]
    effective_sizes: Float[Array, "T"]
    initial_particles: Float[Array, "K Nx"]
    particles: Float[Array, "T K Nx"]
    log_weights: Float[Array, "T K"]
    ancestors: Int[Array, "T K"]


class ParticleFilter(eqx.Module):
    """Sequential importance resampling, differentiable by stopped gradients.

    The forward pass is Alg. 1. Differentiating the log-likelihood gives what Alg. 2
    prescribes: weights keep their derivative through resampling, and so do the
    particles unless `detach` is set. With `"soft"` and `"optimal transport"` the
    derivative is that of `SoftResampling` and `TransportResampling`.

    Attributes:
        num_particles: Number of particles, K.
        proposal: Proposal of new particles: `"bootstrap"`, `"locally optimal"`, or a
            custom `AbstractProposal`.
        resampling: `"multinomial"` (as in the paper), `"systematic"`, `"stratified"`,
            `"residual"`, `"soft"`, `"optimal transport"`, or an instance of
            `SoftResampling` or `TransportResampling`.
        ess_threshold: Resample only if the effective sample size is below this share
            of K; 1 resamples at every step, as in the paper.

    Examples:
        >>> import graphgrad as gg, jax
        >>> model = gg.systems.lorenz63(dt=0.02).model()
        >>> _, ys, _ = gg.simulate(jax.random.key(0), model, steps=50)
        >>> result = ParticleFilter(num_particles=200)(jax.random.key(1), model, ys)
        >>> result.means.shape
        (50, 3)
    """

    proposal: AbstractProposal
    resampling: AbstractResampling
    num_particles: int = eqx.field(static=True)
    ess_threshold: float = eqx.field(static=True)

    def __init__(
        self,
        num_particles: int = 100,
        *,
        proposal: str | AbstractProposal = "bootstrap",
        resampling: str | AbstractResampling = "multinomial",
        ess_threshold: float = 1.0,
    ):
        self.num_particles = check_at_least(
            "num_particles", num_particles, 2, "The paper uses 100."
        )
        if not isinstance(proposal, AbstractProposal):
            proposal = PROPOSALS[check_choice("proposal", proposal, PROPOSALS)]()
        self.proposal = proposal
        self.resampling = resampling_kind(resampling)
        if not 0 <= ess_threshold <= 1:
            raise ValueError(
                f"`ess_threshold` must be between 0 and 1, got {ess_threshold}. "
                "1 resamples at every step, as in the paper."
            )
        self.ess_threshold = float(ess_threshold)

    def __call__(
        self,
        key: PRNGKeyArray,
        model: StateSpaceModel,
        ys: Any,
        *,
        length: int | Int[Array, ""] | None = None,
        detach: bool = False,
    ) -> FilterResult:
        """Run the filter.

        Args:
            key: Random key.
            model: The model.
            ys: Observations, `(T, Ny)`.
            length: Number of leading rows of `ys` to use; the rest is padding, so that
                series of several lengths share one compilation.
            detach: Differentiate the densities only, at particles held fixed.
        """
        ys = checked_series(ys, model)
        if detach:
            check_ancestors("detach", detach, self.resampling, "Use `detach=False`")
        T, K = ys.shape[0], self.num_particles
        start_key, loop_key = jax.random.split(key)
        prepared = self.proposal.prepare(model)
        # Alg. 1 and 2, lines 3 and 4.
        x0 = model.initial_noise.sample(
            start_key, jnp.broadcast_to(model.initial_mean, (K, model.n_states))
        )
        log_w0 = jnp.full(K, -jnp.log(K), ys.dtype)
        if detach:
            x0 = jax.lax.stop_gradient(x0)
            # Value 0, but the derivative of log p(x_0).
            start = model.initial_noise.log_prob(x0, model.initial_mean)
            log_w0 = log_w0 + start - jax.lax.stop_gradient(start)

        # The first keys of a split do not depend on their number, so that a padded
        # series uses the same draws.
        keys = jax.random.split(loop_key, (T, 2))
        moves = prepared.draws(keys[:, 1], x0.shape, x0.dtype)

        def step(carry: tuple[Array, Array], inputs: tuple):
            t, resample_key, move, y, moment = inputs
            x, log_w = carry
            now = model.at(moment)
            pi = prepared if moment is None else self.proposal.prepare(now)
            parents, log_w_tilde, ancestors = self._resample(
                resample_key, x, log_w, detach
            )
            x_next = pi.placed(move, parents, y)  # line 8
            if detach:
                x_next = jax.lax.stop_gradient(x_next)
            log_pi = pi.log_prob(x_next, parents, y)
            if detach:
                log_pi = jax.lax.stop_gradient(log_pi)
            log_nu = log_w_tilde + (  # line 9
                now.observation.log_prob(y, x_next)
                + now.transition.log_prob(x_next, parents)
                - log_pi
            )
            # A particle with an undefined density has zero weight.
            log_nu = jnp.where(jnp.isnan(log_nu), -jnp.inf, log_nu)
            increment = jax.nn.logsumexp(log_nu)  # Eq. (5)
            # Line 10; equal weights if all are zero, which the increment records.
            alive = jnp.isfinite(increment)
            log_w_next = jnp.where(alive, log_nu - increment, -jnp.log(K))
            if length is not None:
                used = t < length
                x_next = jnp.where(used, x_next, x)
                log_w_next = jnp.where(used, log_w_next, log_w)
                increment = jnp.where(used, increment, 0)
                ancestors = jnp.where(used, ancestors, jnp.arange(K))
            return (x_next, log_w_next), (x_next, log_w_next, ancestors, increment)

        _, (particles, log_weights, ancestors, increments) = jax.lax.scan(
            step, (x0, log_w0), (jnp.arange(T), keys[:, 0], moves, ys, model.schedule)
        )
        weights = jnp.exp(log_weights)
        # A particle of zero weight may have overflowed.
        counted = jnp.where(weights[:, :, None] > 0, particles, 0)
        return FilterResult(
            log_likelihood=jnp.sum(increments),
            increments=increments,
            means=jnp.einsum("tk,tkn->tn", weights, counted),
            effective_sizes=1 / jnp.sum(weights**2, axis=1),
            initial_particles=x0,
            particles=particles,
            log_weights=log_weights,
            ancestors=ancestors,
        )

    def _resample(
        self, key: PRNGKeyArray, x: Array, log_w: Array, detach: bool
    ) -> Resampled:
        """Resample if the effective sample size is below the threshold."""
        fresh = self.resampling(key, x, log_w, detach=detach)  # lines 6 and 7
        if self.ess_threshold == 1:
            return fresh
        K = self.num_particles
        size = 1 / jnp.sum(jnp.exp(2 * jax.lax.stop_gradient(log_w)))
        poor = size < self.ess_threshold * K
        stay = Resampled(x, log_w, jnp.arange(K))
        return jax.tree.map(lambda new, old: jnp.where(poor, new, old), fresh, stay)
