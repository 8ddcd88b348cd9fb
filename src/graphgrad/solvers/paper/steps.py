"""Gradient steps with a proximal step after each: the loop of Alg. 4."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...checks import check_at_least, check_choice, check_positive
from ...engines import ParticleFilter, value_and_gradient
from ...engines.gradient import GRADIENTS
from ...model import StateSpaceModel
from ...penalties import AbstractPenalty, AbstractSubgradientPenalty
from ..trees import all_finite, where_each

UPDATES = ("prox", "subgradient")


class GradientSteps(eqx.Module):
    """How the coefficients move. The defaults are those of Sec. V-A.

    Attributes:
        steps: Steps on each batch, S. The paper does not state it.
        learning_rate: Step size eta.
        optimiser: From the step size to any optax optimiser.
        particle_filter: The filter that gives the likelihood.
        gradient: `"particles"` as printed, or `"score"`.
        update: `"prox"`, or `"subgradient"` for the variant of Sec. V-B.
        fresh_key: Draw new particles at each step; else the same draws for all steps
            on a batch. Not stated in the paper.
        reset_optimiser: Forget moments at each new batch. Not stated in the paper,
            but running Alg. 4 anew does so.
    """

    particle_filter: ParticleFilter
    steps: int = eqx.field(static=True)
    learning_rate: float = eqx.field(static=True)
    optimiser: Callable[[float], optax.GradientTransformation] = eqx.field(static=True)
    gradient: str = eqx.field(static=True)
    update: str = eqx.field(static=True)
    fresh_key: bool = eqx.field(static=True)
    reset_optimiser: bool = eqx.field(static=True)

    def __init__(
        self,
        steps: int = 500,
        *,
        learning_rate: float = 1e-3,
        optimiser: Callable[[float], optax.GradientTransformation] = optax.novograd,
        particle_filter: ParticleFilter | None = None,
        gradient: str = "particles",
        update: str = "prox",
        fresh_key: bool = True,
        reset_optimiser: bool = True,
    ):
        self.steps = check_at_least("steps", steps, 1, "500 is a beginning.")
        self.learning_rate = check_positive(
            "learning_rate", learning_rate, "The paper's is 0.001."
        )
        self.optimiser = optimiser
        self.particle_filter = particle_filter or ParticleFilter()
        self.gradient = check_choice("gradient", gradient, GRADIENTS)
        self.update = check_choice("update", update, UPDATES)
        self.fresh_key = fresh_key
        self.reset_optimiser = reset_optimiser


class Batches(NamedTuple):
    """Where the steps on some batches led, and how."""

    parameters: Any
    optimiser_state: Any
    path: Any
    log_likelihoods: Float[Array, "batches steps"]
    skipped: Int[Array, "batches"]


def take_steps(
    key: PRNGKeyArray,
    parameters: Any,
    optimiser_state: Any,
    ys: Float[Array, "T Ny"],
    numbers: Int[Array, "batches"],
    lengths: Int[Array, "batches"],
    *,
    build: Callable[[Any], StateSpaceModel],
    penalty: AbstractPenalty | None,
    settings: GradientSteps,
    padded: int,
) -> Batches:
    """Alg. 4 on one batch after the other, all padded to one length.

    Args:
        key: Key of the whole fit; draws depend on it, the batch's number and the
            step, and not on how batches are grouped.
        parameters: Coefficients C, or any pytree that `build` takes.
        optimiser_state: State of the optimiser, from `initial_state`.
        ys: The whole series.
        numbers: Numbers of the batches.
        lengths: Their lengths.
        build: From parameters to the model.
        penalty: The penalty; `None` leaves out the proximal step.
        settings: How the coefficients move.
        padded: Length that all these batches are padded to.
    """
    optimiser = settings.optimiser(settings.learning_rate)
    ys = ys[:padded]

    def batch(carry, inputs):
        number, length = inputs
        # Padding repeats the batch's last row, where densities are finite.
        rows = ys[jnp.minimum(jnp.arange(padded), length - 1)]
        batch_key = jax.random.fold_in(key, number)

        def step(carry, s):
            C, state = carry
            step_key = jax.random.fold_in(batch_key, s if settings.fresh_key else 0)
            value, gradient = value_and_gradient(  # Alg. 4, lines 4 and 5
                step_key,
                build,
                C,
                rows,
                particle_filter=settings.particle_filter,
                form=settings.gradient,
                length=length,
            )
            descent = jax.tree.map(jnp.negative, gradient)
            if settings.update == "subgradient":
                descent = descent + _differentiable(penalty).subgradient(C)
            moves, next_state = optimiser.update(descent, state, C)  # line 6
            next_C: Any = optax.apply_updates(C, moves)
            if penalty is not None and settings.update == "prox":
                next_C = penalty.prox(next_C, settings.learning_rate)  # line 7
            good = jnp.isfinite(value) & all_finite(gradient) & all_finite(next_C)
            carry = where_each(good, (next_C, next_state), (C, state))
            return carry, (jnp.where(good, value, -jnp.inf), good)

        C, state = carry
        if settings.reset_optimiser:
            state = optimiser.init(C)
        carry, (values, good) = jax.lax.scan(
            step, (C, state), jnp.arange(settings.steps)
        )
        return carry, (carry[0], values, jnp.sum(~good))

    (parameters, optimiser_state), (path, values, skipped) = jax.lax.scan(
        batch, (parameters, optimiser_state), (numbers, lengths)
    )
    return Batches(parameters, optimiser_state, path, values, skipped)


def _differentiable(penalty: AbstractPenalty | None) -> AbstractSubgradientPenalty:
    if not isinstance(penalty, AbstractSubgradientPenalty):
        raise ValueError(
            "`penalty` must have a subgradient for `update='subgradient'`, and "
            f"{type(penalty).__name__} has none. Use L1, or `update='prox'`."
        )
    return penalty
