"""Variances that are learnt: prior, gradient, and what they are in the end."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...engines.information import MOST_STATES, Information, information
from ...engines.linalg import inverse_root
from ..trees import entry
from .columns import gather
from .plan import Plan
from .statistics import CompletedSums
from .subset import inverse_on
from .unknowns import Unknowns, observed_steps

NOISE_PRIOR = 0.5
"""Weight of the logarithm of each learnt variance in the log-likelihood.

It is the density, up to a constant, of a gamma distribution of shape 2 for the standard
deviation, which keeps a variance that the data hardly tell from zero away from it
(Chung et al., A nondegenerate penalized likelihood estimator for variance parameters,
Psychometrika 78, 2013). Without it, short series drive the state noise to zero and
buy terms for it.
"""


LOG_STEP = 0.03
"""Change of the logarithm of variances by which derivatives are taken."""


def noise_gradient(
    data: CompletedSums,
    unknowns: Unknowns,
    observed: Float[Array, "Ny"],
    plan: Plan,
) -> Float[Array, "m"]:
    """Gradient in the logarithms of the variances: Fisher's identity."""
    return 0.5 * jnp.concatenate(
        [
            data.squares() / unknowns.state_noise - plan.moves,
            observed / unknowns.observation_noise - observed_steps(plan.ys),
        ]
    )


def noise_prior(unknowns: Unknowns, learn: tuple[str, ...], plan: Plan) -> Array:
    """The prior's part of the log-likelihood."""
    noises = jnp.concatenate([unknowns.state_noise, unknowns.observation_noise])
    learnt = jnp.where(free_variances(unknowns, learn, plan), jnp.log(noises), 0)
    return NOISE_PRIOR * jnp.sum(learnt)


def free_variances(
    unknowns: Unknowns, learn: tuple[str, ...], plan: Plan
) -> Bool[Array, "m"]:
    """Which variances move."""
    state = plan.free_noise & ("state_noise" in learn)
    return jnp.concatenate(
        [
            state & ~plan.exact,
            jnp.full(unknowns.observation_noise.shape, "observation_noise" in learn),
        ]
    )


def restricted(
    unknowns: Unknowns,
    trajectory: Float[Array, "T_plus_1 Nx"],
    plan: Plan,
    learn: tuple[str, ...],
) -> Float[Array, "Nx"]:
    """State noise as if the coefficients that were fitted had been averaged over.

    Fitted coefficients leave smaller residuals than the true ones. Restricted
    likelihood makes up for it by -1/2 log det I, with I the information on the
    coefficients; this takes one scoring step to its maximum, from that of the
    likelihood with the prior, which it does without. A third of the logarithm takes
    out the skewness: an estimate s / (n - 2/3) of a variance is too high as often as
    too low.
    """
    Nx, M = plan.base.shape
    terms = unknowns.parameters != 0
    joint = plan.linear_map is not None or Nx <= MOST_STATES
    if plan.linear_map is None:
        active = jax.lax.top_k(terms.astype(plan.base.dtype), min(16, M))[1]
        support = gather(terms, active).ravel()
    else:
        active = jnp.broadcast_to(jnp.arange(M), (Nx, M))
        support = terms.ravel()

    tied = plan.linear_map if plan.many_tied else None

    def known(log_factor: Array) -> Information:
        scaled = unknowns._replace(
            state_noise=unknowns.state_noise * jnp.exp(log_factor)
        )
        model = plan.build(scaled, learn)
        noise = ("state_noise",)
        return information(
            model,
            plan.ys,
            trajectory,
            active,
            noise=noise,
            joint=joint,
            linear_map=tied,
        )

    # Differences, as three runs of one program compile faster than a derivative.
    logs = jnp.asarray([-LOG_STEP, 0.0, LOG_STEP], plan.base.dtype)
    each = jax.lax.map(known, logs)
    less, here, more = (entry(each, i) for i in range(3))
    change = (more.coefficients - less.coefficients) / (2 * LOG_STEP)
    if tied is not None:
        covariance = inverse_on(here.coefficients, support)
    elif joint:
        covariance = plan.coefficient_covariance(
            inverse_on(plan.parameter_information(here.coefficients), support)
        )
    else:
        inside = support.reshape(active.shape)
        covariance = jax.vmap(inverse_on)(here.coefficients, inside)
    lost = -jnp.sum(covariance * change.mT, axis=-1)
    if tied is not None:  # each coefficient has its share of what a parameter lost
        shares = tied**2 / jnp.sum(tied**2, axis=0)
        lost = shares @ lost
    slope = 0.5 * jnp.sum(lost.reshape(active.shape), axis=1) + 1 / 3 - NOISE_PRIOR
    slope = jnp.where(plan.exact, 0, slope)
    assert here.noise is not None
    metric = here.noise[:Nx, :Nx] + jnp.eye(Nx, dtype=slope.dtype)
    metric += 0 * covariance.ravel()[0]  # factored after the other one
    whiten = inverse_root(metric)
    change = jnp.clip(whiten.T @ (whiten @ slope), -1, 1)
    return unknowns.state_noise * jnp.exp(jnp.where(plan.exact, 0, change))
