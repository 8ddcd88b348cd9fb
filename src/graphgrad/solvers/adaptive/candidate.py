"""Supports that the exchange of terms visits, and where it stands."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..trees import entry
from .plan import Plan
from .unknowns import Unknowns

MOST_CHANGES = 100
"""Changes of the support that may be made at once."""


class Candidate(NamedTuple):
    """A support on which the likelihood was ascended, and how it does.

    Attributes:
        unknowns: Coefficients and noises at the maximum.
        support: The parameters that are not zero: the terms, if none are tied.
        trajectory: Of the last sweep.
        log_likelihood: At the maximum.
        criterion: The lower, the better.
        row_criteria: The same for each row of parameters, as if the completed data were
            data.
        decrement: Rise in log-likelihood that another step promises.
    """

    unknowns: Unknowns
    support: Bool[Array, "R K"]
    trajectory: Float[Array, "T_plus_1 Nx"]
    log_likelihood: Float[Array, ""]
    criterion: Float[Array, ""]
    row_criteria: Float[Array, "R"]
    decrement: Float[Array, ""]


class Exchange(NamedTuple):
    """Where the loop stands.

    Attributes:
        at: The candidate being ascended, at the last point that was accepted.
        step: The step to take from there: parameters and logarithms of variances.
        share: Share of the step to take.
        damping: Levenberg and Marquardt's, of the step.
        sweeps_here: Number of sweeps on this support.
        total: Log-likelihoods over the later half of a noisy ascent, summed.
        limit: Most changes of the support to make at once.
        again: Whether this is the best candidate again, to change it less.
        best: The best candidate so far.
        sweeps: Number of sweeps in all.
        done: Whether no change of the support pays.
    """

    at: Candidate
    step: tuple[Float[Array, "R K"], Float[Array, "m"]]
    share: Float[Array, ""]
    damping: Float[Array, ""]
    sweeps_here: Int[Array, ""]
    total: Float[Array, ""]
    limit: Int[Array, ""]
    again: Bool[Array, ""]
    best: Candidate
    sweeps: Int[Array, ""]
    done: Bool[Array, ""]


def new_candidate(
    unknowns: Unknowns,
    support: Bool[Array, "R K"],
    trajectory: Float[Array, "T_plus_1 Nx"],
) -> Candidate:
    """A support of which nothing is known yet."""
    low = jnp.asarray(-jnp.inf, trajectory.dtype)
    return Candidate(
        unknowns=unknowns,
        support=support,
        trajectory=trajectory,
        log_likelihood=low,
        criterion=-low,
        row_criteria=jnp.full(len(support), jnp.inf, trajectory.dtype),
        decrement=-low,
    )


def begin_exchange(
    unknowns: Unknowns, trajectory: Float[Array, "T_plus_1 Nx"]
) -> Exchange:
    """Ready to ascend from a first support."""
    first = new_candidate(unknowns, unknowns.parameters != 0, trajectory)
    zero, dtype = jnp.zeros((), int), trajectory.dtype
    return Exchange(
        at=first,
        step=no_step(unknowns),
        share=jnp.ones((), dtype),
        damping=jnp.zeros((), dtype),
        sweeps_here=zero,
        total=jnp.zeros((), dtype),
        limit=jnp.full((), MOST_CHANGES, int),
        again=jnp.array(False),
        best=first,
        sweeps=zero,
        done=jnp.array(False),
    )


def no_step(unknowns: Unknowns) -> tuple[Array, Array]:
    """The step that changes nothing."""
    noises = jnp.concatenate([unknowns.state_noise, unknowns.observation_noise])
    return jnp.zeros_like(unknowns.parameters), jnp.zeros_like(noises)


def recombined(starts: Exchange) -> Exchange:
    """New starts: each equation from the start that explains it best.

    Equations are nearly independent given the trajectory, so that several starts that
    each have some of them wrong can have all of them right together. The first takes
    from all; each other one leaves one out.
    """
    best = starts.best
    number, rows = best.row_criteria.shape
    states = best.unknowns.state_noise.shape[1]
    winner, every = jnp.argmin(best.criterion), jnp.arange(rows)

    def combine(left_out: Array) -> Exchange:
        allowed = (jnp.arange(number) != left_out) | (left_out == 0)
        allowed_criteria = jnp.where(allowed[:, None], best.row_criteria, jnp.inf)
        chosen = jnp.argmin(allowed_criteria, axis=0)
        of_state = jnp.broadcast_to(chosen, (states,))
        unknowns = entry(best.unknowns, winner)._replace(
            parameters=best.unknowns.parameters[chosen, every],
            state_noise=best.unknowns.state_noise[of_state, jnp.arange(states)],
        )
        return begin_exchange(unknowns, best.trajectory[winner])

    return jax.vmap(combine)(jnp.arange(number))


def row_deviances(
    squares: Float[Array, "Nx"], unknowns: Unknowns, plan: Plan
) -> Float[Array, "R"]:
    """-2 log-likelihood of the completed data, for each equation or all together.

    Args:
        squares: Expected sums of squared residuals.
        unknowns: With the noise.
        plan: What stays the same.
    """
    noise = unknowns.state_noise
    found = squares / noise + plan.moves * jnp.log(noise)
    return found if plan.linear_map is None else jnp.sum(found, keepdims=True)
