"""The support to try next: terms added, dropped and swapped on a quadratic model."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...engines.sweep import SweptStates
from ..trees import entry, where_each
from .candidate import MOST_CHANGES, Candidate, new_candidate
from .columns import gather, scatter
from .plan import Plan
from .subset import Subset, best_subset, subset_path
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
        metric: Information on these: a matrix, or one for each equation.
        inverse: Of the metric on the support, zeros elsewhere.
        penalties: Of all parameters, beside the support.
        noise_information: On the logarithms of the variances; None if none is learnt.
    """

    reached: Bool[Array, ""]
    limit: Int[Array, ""]
    unknowns: Unknowns
    support: Bool[Array, "R K"]
    states: SweptStates
    active: Int[Array, "R A"]
    gradient: Float[Array, "n"]
    metric: Float[Array, "*R k k"]
    inverse: Float[Array, "*R k k"]
    penalties: Float[Array, "R K"]
    noise_information: Float[Array, "m m"] | None


def propose(maximum: Maximum, plan: Plan) -> Candidate:
    """The best support nearby, or built from nothing."""
    columns, K = maximum.active, plan.free.shape[1]
    here, low, high, penalty, inside = (
        gather(values, columns)
        for values in (
            maximum.unknowns.parameters,
            plan.low,
            plan.high,
            maximum.penalties,
            maximum.support,
        )
    )
    problem = _Problem(
        metric=maximum.metric,
        inverse=maximum.inverse,
        gradient=maximum.gradient.reshape(columns.shape),
        here=here,
        inside=inside,
        penalty=penalty,
        signs=one_sign(low, high),
    )
    if maximum.metric.ndim == 2:
        together = jax.tree.map(jnp.ravel, problem)._replace(
            metric=maximum.metric, inverse=maximum.inverse
        )
        found = _best(together, maximum.limit)
    else:
        found = _best_by_rows(problem, maximum.limit)
    amounts = scatter(found.coefficients.reshape(columns.shape), columns, K)
    return new_candidate(
        maximum.unknowns._replace(parameters=jnp.clip(amounts, plan.low, plan.high)),
        scatter(found.support.reshape(columns.shape), columns, K),
        maximum.states.path,
    )


class _Problem(NamedTuple):
    """A quadratic in some parameters, where it is known, and what terms cost."""

    metric: Float[Array, "*R k k"]
    inverse: Float[Array, "*R k k"]
    gradient: Float[Array, "*R k"]
    here: Float[Array, "*R k"]
    inside: Bool[Array, "*R k"]
    penalty: Float[Array, "*R k"]
    signs: Float[Array, "*R k"]

    def linear(self) -> Float[Array, "k"]:
        """B of the quadratic x'Ix - 2b'x."""
        return self.gradient + self.metric @ self.here


def _best(problem: _Problem, limit: Int[Array, ""]) -> Subset:
    """The best support within a limit of changes, or built from nothing."""
    quadratic, penalty = (problem.metric, problem.linear()), problem.penalty
    nearby = best_subset(
        *quadratic, problem.inside, problem.inverse, penalty, limit, problem.signs
    )
    limit_from_nothing = jnp.where(limit < MOST_CHANGES, 0, limit)
    penalties = penalty * jnp.array(DESCENT)[:, None]
    path = subset_path(
        *quadratic, penalties, limit_from_nothing, problem.signs, most=MOST_TERMS
    )
    other = entry(path, -1)
    better = (limit_from_nothing > 0) & (other.cost < nearby.cost - 1e-3)
    return where_each(better, other, nearby)


def _best_by_rows(problem: _Problem, limit: Int[Array, ""]) -> Subset:
    """The same equation by equation; with a limit, those that gain most are changed."""
    found = jax.vmap(_best, (0, None))(problem, limit)
    unchanged = jax.vmap(_unchanged)(problem)
    gain = unchanged.cost - found.cost
    changes = jnp.sum(found.support != problem.inside, axis=1)
    order = jnp.argsort(-gain)
    until_here = jnp.zeros_like(changes).at[order].set(jnp.cumsum(changes[order]))
    most = jnp.where(limit < MOST_CHANGES, limit, jnp.sum(changes))
    kept = (until_here <= most) | (jnp.arange(len(gain)) == order[0])
    return jax.vmap(where_each)(kept, found, unchanged)


def _unchanged(problem: _Problem) -> Subset:
    """The minimiser on the terms that are there."""
    linear = problem.linear()
    amounts = problem.inverse @ linear
    penalty = jnp.sum(jnp.where(problem.inside, problem.penalty, 0))
    none = jnp.zeros((), linear.dtype)
    return Subset(problem.inside, amounts, penalty - linear @ amounts, none)


def one_sign(
    low: Float[Array, "*R n"], high: Float[Array, "*R n"]
) -> Float[Array, "*R n"]:
    """1 or -1 where a parameter may have this sign only, else 0."""
    return (low >= 0).astype(low.dtype) - (high <= 0)
