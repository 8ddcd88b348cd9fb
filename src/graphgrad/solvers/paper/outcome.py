"""How a fit by gradient steps ended, judged from its own trace."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...engines import FilterResult
from ...model import StateSpaceModel
from ...solution import Outcome
from ..persistence import against_persistence


def judge(
    log_likelihoods: Float[Array, "steps"],
    skipped: Int[Array, ""],
    parameters: Any,
    error: Float[Array, ""],
) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """Log-likelihood over the last quarter of the steps, and the outcome's number.

    Args:
        log_likelihoods: At each step on the last batch, minus infinity where skipped.
        skipped: Number of steps skipped there.
        parameters: Where the steps ended.
        error: Their `relative_error`.
    """
    steps = log_likelihoods.shape[0]
    quarter = max(steps // 4, 1)
    value, variance = _mean(log_likelihoods[-quarter:])
    before, variance_before = _mean(log_likelihoods[-2 * quarter : -quarter])
    rising = value - before > 3 * jnp.sqrt(variance + variance_before)
    enough = steps >= 40  # ten values a quarter, for their spread to mean anything
    code = jnp.asarray(Outcome.completed.value)
    # Later lines outrank earlier ones.
    for condition, outcome in (
        (rising & enough, Outcome.still_rising),
        (~(error < 1), Outcome.worse_than_persistence),
        (_all_zero(parameters), Outcome.nothing_left),
        (2 * skipped > steps, Outcome.degenerate_likelihood),
    ):
        code = jnp.where(condition, outcome.value, code)
    return value, code


def relative_error(
    model: StateSpaceModel,
    result: FilterResult,
    ys: Float[Array, "T Ny"],
    length: Int[Array, ""],
) -> Float[Array, ""]:
    """Squared error of one-step predictions of the data, relative to persistence.

    The predictions are the filter's before it sees each observation; those of
    persistence are the observation before. A model that says anything about the
    motion is below 1. Unlike a likelihood it does not suffer when particles are few
    for the number of states.

    Args:
        model: The fitted model.
        result: A run of the filter with it.
        ys: The series.
        length: Number of rows that are used.
    """
    weights = jnp.exp(result.log_weights[:-1])
    ahead = model.transition.mean(result.particles[:-1])
    predicted = model.observation.mean(jnp.einsum("tk,tkn->tn", weights, ahead))
    return against_persistence(predicted, ys, length)


def _mean(values: Array) -> tuple[Array, Array]:
    """Mean of the finite values, and the variance of that mean."""
    finite = jnp.isfinite(values)
    number = jnp.sum(finite)
    mean = jnp.sum(jnp.where(finite, values, 0)) / jnp.maximum(number, 1)
    spread = jnp.sum(jnp.where(finite, (values - mean) ** 2, 0))
    variance = spread / jnp.maximum(number, 1) ** 2
    return jnp.where(number > 0, mean, -jnp.inf), variance


def _all_zero(parameters: Any) -> Array:
    leaves = jax.tree.leaves(parameters)
    return jnp.all(jnp.stack([jnp.all(leaf == 0) for leaf in leaves]))
