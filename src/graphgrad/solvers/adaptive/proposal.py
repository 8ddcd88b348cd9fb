"""The support to try next: terms added, dropped and swapped on a quadratic model."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...engines.sweep import SweptStates
from ..trees import entry, where_each
from .candidate import MOST_CHANGES, Candidate, new_candidate
from .columns import gather, scatter
from .plan import Plan
from .subset import best_subset, subset_path
from .unknowns import Unknowns

MOST_TERMS = 160
"""Terms of a support that is built from nothing."""

DESCENT = (8.0, 4.0, 2.0, 1.0)
"""Multiples of the penalties along which a support is built from nothing."""


class Maximum(NamedTuple):
    """The quadratic model of the log-likelihood, from which terms are changed.

    Attributes:
        reached: Whether it is that at a maximum, from which terms are to be changed.
        limit: Most changes of the support; with all that are allowed, a support is
            also built from nothing, since one with too many terms can be hard to leave.
        unknowns: Coefficients and noises there.
        support: The parameters that are not zero.
        states: Of the sweep there.
        active: Columns of the active parameters.
        gradient: Of the log-likelihood, in the active parameters.
        metric: Information on these.
        inverse: Of the metric on the support, zeros elsewhere.
        noise_information: On the logarithms of the variances; None if none is learnt.
    """

    reached: Bool[Array, ""]
    limit: Int[Array, ""]
    unknowns: Unknowns
    support: Bool[Array, "R K"]
    states: SweptStates
    active: Int[Array, "R A"]
    gradient: Float[Array, "n"]
    metric: Float[Array, "n n"]
    inverse: Float[Array, "n n"]
    noise_information: Float[Array, "m m"] | None


def propose(maximum: Maximum, plan: Plan) -> Candidate:
    """The best support nearby, or built from nothing."""
    limit = maximum.limit
    columns, K = maximum.active, plan.free.shape[1]
    here, low, high, penalty = (
        gather(values, columns).ravel()
        for values in (
            maximum.unknowns.parameters,
            plan.low,
            plan.high,
            plan.term_penalties,
        )
    )
    metric, inside = maximum.metric, gather(maximum.support, columns).ravel()
    quadratic = metric, maximum.gradient + metric @ here
    signs = one_sign(low, high)
    nearby = best_subset(*quadratic, inside, maximum.inverse, penalty, limit, signs)
    limit_from_nothing = jnp.where(limit < MOST_CHANGES, 0, limit)
    penalties = penalty * jnp.array(DESCENT)[:, None]
    path = subset_path(
        *quadratic, penalties, limit_from_nothing, signs, most=MOST_TERMS
    )
    other = entry(path, -1)
    better = (limit_from_nothing > 0) & (other.cost < nearby.cost - 1e-3)
    found = where_each(better, other, nearby)
    amounts = scatter(found.coefficients.reshape(columns.shape), columns, K)
    return new_candidate(
        maximum.unknowns._replace(parameters=jnp.clip(amounts, plan.low, plan.high)),
        scatter(found.support.reshape(columns.shape), columns, K),
        maximum.states.path,
    )


def one_sign(low: Float[Array, "n"], high: Float[Array, "n"]) -> Float[Array, "n"]:
    """1 or -1 where a parameter may have this sign only, else 0."""
    return (low >= 0).astype(low.dtype) - (high <= 0)
