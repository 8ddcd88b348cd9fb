"""How a fit ended: whether terms are decided, and coefficients determined."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...solution import Outcome

UNSURE = 2.0
"""Margin of one change of the terms below which another choice is nearly as good."""

TWO_TO_ONE = 2 * float(np.log(2))
"""The same for the margin of all alternatives together: odds of two to one."""

STANDS_OUT = 9.0
"""Gain in twice the log-likelihood, three standard errors, that chance seldom gives."""

LARGEST_VARIANCE = 0.25
"""Largest variance of a joint relative change of coefficients that are determined."""


def joint_relative_variance(coefficients: Array, covariance: Array) -> Array:
    """Largest variance of a joint relative change of the coefficients.

    By power iteration on their covariance, each in units of the coefficient. One says
    that a change of all by as much as they are, in some direction, is no more than a
    standard error.
    """
    used = coefficients != 0
    unit = jnp.where(used, 1 / jnp.where(used, coefficients, 1), 0)
    relative = covariance * unit[:, None] * unit

    def push(_: Array, v: Array) -> Array:
        w = relative @ v
        return w / jnp.maximum(jnp.linalg.norm(w), jnp.finfo(w.dtype).tiny)

    # Any start that is not orthogonal to what is sought, and not of one sign.
    start = jnp.cos(jnp.arange(len(unit), dtype=unit.dtype))
    v = jax.lax.fori_loop(0, 50, push, start)
    return v @ relative @ v


def judge(
    criterion: Array,
    done: Array,
    margin: Array,
    error: Array,
    relative_variance: Array,
    something: Array,
    unsure: float,
) -> Array:
    """The outcome's number.

    Args:
        criterion: Of the best start.
        done: Whether no change of its terms pays, at a maximum of the likelihood.
        margin: By how much the next best choice of terms is worse.
        error: Of one-step predictions, relative to persistence or a random walk.
        relative_variance: `joint_relative_variance`.
        something: Whether any term but constants is left.
        unsure: Margin below which the terms are undecided.
    """
    code = jnp.asarray(Outcome.converged.value)
    # Later lines outrank earlier ones.
    for condition, outcome in (
        (margin < unsure, Outcome.undecided),
        (~done, Outcome.out_of_sweeps),
        (~(relative_variance <= LARGEST_VARIANCE), Outcome.not_determined),
        (~(error < 1), Outcome.worse_than_persistence),
        (~something, Outcome.nothing_left),
        (~jnp.isfinite(criterion), Outcome.degenerate_likelihood),
    ):
        code = jnp.where(condition, outcome.value, code)
    return code
