"""The support to try next: terms added, dropped and swapped on a quadratic model."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..trees import entry, where_each
from .ascent import Point, ScoringStep
from .candidate import MOST_CHANGES, Candidate, new_candidate
from .columns import gather, scatter
from .plan import Plan
from .subset import best_subset, subset_path

MOST_TERMS = 160
"""Terms of a support that is built from nothing."""

DESCENT = (8.0, 4.0, 2.0, 1.0)
"""Multiples of the penalties along which a support is built from nothing."""


def propose(
    point: Point, step: ScoringStep, plan: Plan, limit: Int[Array, ""]
) -> Candidate:
    """The best support nearby, or built from nothing.

    Args:
        point: A maximum on the present support.
        step: The next step from there, of which the metric is used.
        plan: What stays the same.
        limit: Most changes of the support; with all that are allowed, a support is
            also built from nothing, since one with too many terms can be hard to leave.
    """
    model = point.model
    columns, K = model.active, plan.free.shape[1]
    here, low, high, penalty = (
        gather(values, columns).ravel()
        for values in (
            point.unknowns.parameters,
            plan.low,
            plan.high,
            plan.term_penalties,
        )
    )
    quadratic = step.metric, model.gradient + step.metric @ here
    signs = one_sign(low, high)
    nearby = best_subset(*quadratic, model.support, step.inverse, penalty, limit, signs)
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
        point.unknowns._replace(parameters=jnp.clip(amounts, plan.low, plan.high)),
        scatter(found.support.reshape(columns.shape), columns, K),
        model.sweep.path,
    )


def one_sign(low: Float[Array, "n"], high: Float[Array, "n"]) -> Float[Array, "n"]:
    """1 or -1 where a parameter may have this sign only, else 0."""
    return (low >= 0).astype(low.dtype) - (high <= 0)
