"""Accuracy of estimates: recovery of the support, of the entries, of the states.

Every function reduces the last two axes and keeps the leading ones, so a batch of
estimates is scored in one call; all functions can be jitted. An entry is numerically
zero if its absolute value is below 1e-6 (Sec. V-A).
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .checks import check_choice
from .compiling import compiled

Matrices = Float[Array | np.ndarray, "... rows columns"]
Scores = Float[Array, "..."]


class SupportScores(NamedTuple):
    """Scores of the recovered support; 1 is perfect."""

    specificity: Scores
    recall: Scores
    precision: Scores
    f1: Scores
    accuracy: Scores


@compiled
def support_scores(
    estimate: Matrices,
    truth: Matrices,
    *,
    positive: str = "nonzero",
    zero_threshold: float = 1e-6,
) -> SupportScores:
    """Specificity, recall, precision, F1 and accuracy of the support.

    A perfect recovery scores 1 everywhere, as in Sec. V-A, even if there is nothing to
    find; any other score of the form 0/0 is 0.

    Args:
        estimate: Estimated coefficients.
        truth: True coefficients.
        positive: Which entries count as positive. `"nonzero"` is the usual convention;
            the paper's printed scores follow neither, so both can be reported.
        zero_threshold: Entries below this size count as zero.

    Examples:
        >>> import jax.numpy as jnp
        >>> truth = jnp.array([[1.0, 2.0, 0.0, 0.0]])
        >>> estimate = jnp.array([[1.1, 0.0, 0.3, 0.0]])
        >>> scores = support_scores(estimate, truth)
        >>> float(scores.recall), float(scores.precision), float(scores.accuracy)
        (0.5, 0.5, 0.5)
    """
    check_choice("positive", positive, ("nonzero", "zero"))
    found = _nonzero(estimate, zero_threshold)
    true = _nonzero(truth, zero_threshold)
    if positive == "zero":
        found, true = ~found, ~true
    hits, misses = _count(found & true), _count(~found & true)
    alarms, rejections = _count(found & ~true), _count(~found & ~true)
    perfect = misses + alarms == 0

    def ratio(part: Array, whole: Array) -> Scores:
        return jnp.where(whole > 0, part / jnp.maximum(whole, 1), perfect)

    return SupportScores(
        specificity=ratio(rejections, rejections + alarms),
        recall=ratio(hits, hits + misses),
        precision=ratio(hits, hits + alarms),
        f1=ratio(2 * hits, 2 * hits + misses + alarms),
        accuracy=ratio(hits + rejections, hits + rejections + misses + alarms),
    )


@compiled
def rmse(estimate: Matrices, truth: Matrices) -> Scores:
    """Root mean square error over all entries.

    Examples:
        >>> import jax.numpy as jnp
        >>> float(rmse(jnp.array([[3.0, 0.0]]), jnp.array([[0.0, 4.0]])) ** 2)
        12.5
    """
    return jnp.sqrt(jnp.mean(_squares(estimate, truth), axis=(-2, -1)))


def rmse_nonzero(
    estimate: Matrices, truth: Matrices, *, zero_threshold: float = 1e-6
) -> Scores:
    """Root mean square error over the nonzero entries of the estimate.

    It is NaN if the estimate is zero everywhere.

    Examples:
        >>> import jax.numpy as jnp
        >>> float(rmse_nonzero(jnp.array([[3.0, 0.0]]), jnp.array([[1.0, 9.0]])))
        2.0
    """
    found = _nonzero(estimate, zero_threshold)
    return jnp.sqrt(_mean_where(_squares(estimate, truth), found))


def mean_abs_where_zero(
    estimate: Matrices, truth: Matrices, *, zero_threshold: float = 1e-6
) -> Scores:
    """Mean absolute value of the estimate where the truth is zero.

    It is NaN if the truth has no zeros.

    Examples:
        >>> import jax.numpy as jnp
        >>> estimate, truth = jnp.array([[5.0, -1.0]]), jnp.array([[5.0, 0.0]])
        >>> float(mean_abs_where_zero(estimate, truth))
        1.0
    """
    return _mean_where(jnp.abs(estimate), ~_nonzero(truth, zero_threshold))


def nrmse(
    estimated_means: Matrices, reference_means: Matrices, true_states: Matrices
) -> Scores:
    """Error of estimated state means relative to the true model's filter (Sec. V-D).

    At 1 the estimate tracks the hidden states as well as the true model.

    Args:
        estimated_means: Filtered means of an estimated model, `(T, Nx)`.
        reference_means: Filtered means of the true model.
        true_states: The states behind the data, without the initial one.

    Examples:
        >>> import jax.numpy as jnp
        >>> truth = jnp.zeros((2, 1))
        >>> float(nrmse(truth + 3, truth + 2, truth))
        1.5
    """
    return rmse(estimated_means, true_states) / rmse(reference_means, true_states)


def _squares(estimate: Matrices, truth: Matrices) -> Array:
    return (jnp.asarray(estimate) - jnp.asarray(truth)) ** 2


def _nonzero(values: Matrices, zero_threshold: float) -> Bool[Array, "..."]:
    # NaN counts as nonzero: a failed estimate is not rewarded as a sparse one.
    return ~(jnp.abs(values) < zero_threshold)


def _count(truths: Bool[Array, "..."]) -> Array:
    return jnp.sum(truths, axis=(-2, -1))


def _mean_where(values: Array, where: Bool[Array, "..."]) -> Scores:
    # One truth may be scored against many estimates, and the other way round.
    values, where = jnp.broadcast_arrays(values, where)
    total = jnp.sum(jnp.where(where, values, 0), axis=(-2, -1))
    return total / _count(where)
