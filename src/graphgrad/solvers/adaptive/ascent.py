"""Ascent of the likelihood on a support: damped scoring steps.

The gradient is Fisher's identity on the sweep's completed data, or the derivative of
the engine's own likelihood; the metric is the information of the innovations. A handful
of steps suffices.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...engines.sweep import AbstractEngine
from .candidate import Exchange
from .columns import gather
from .plan import Plan
from .quadratic_model import QuadraticModel, quadratic_model
from .subset import inverse_on
from .unknowns import Unknowns, learn_initial
from .variances import NOISE_PRIOR, free_variances, noise_prior


class Point(NamedTuple):
    """Where a step led, and what the data say there.

    Attributes:
        unknowns: Coefficients and noises.
        support: The terms, without those to which the step would have given a sign that
            they may not have.
        value: Log-likelihood, with the prior on variances.
        model: The quadratic model of the log-likelihood.
    """

    unknowns: Unknowns
    support: Bool[Array, "R K"]
    value: Float[Array, ""]
    model: QuadraticModel


class ScoringStep(NamedTuple):
    """The next step from a point.

    Attributes:
        parameters: Of the active parameters.
        variances: Of the logarithms of the variances.
        decrement: Rise in log-likelihood that it promises.
        damping: With which it was made.
        metric: Damped information on the active parameters: a matrix, or one for each
            equation.
        inverse: Of the metric on the support, zeros elsewhere.
    """

    parameters: Float[Array, "n"]
    variances: Float[Array, "m"]
    decrement: Float[Array, ""]
    damping: Float[Array, ""]
    metric: Float[Array, "*R k k"]
    inverse: Float[Array, "*R k k"]


def take_step(
    key: PRNGKeyArray,
    state: Exchange,
    plan: Plan,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    size: int | None = None,
    joint: bool = True,
    others: bool = True,
) -> Point:
    """Take the step, or a share of it, and sweep from there.

    `size`, `joint` and `others` are those of `quadratic_model`.
    """
    moved = _moved(state.at.unknowns, state.step, state.share, learn, plan.floor)
    parameters = jnp.clip(moved.parameters, plan.low, plan.high)
    dropped = (parameters == 0) & (moved.parameters != 0)
    support = state.at.support & ~dropped
    unknowns = moved._replace(parameters=parameters)
    # One key for all sweeps on a support and all supports: common random numbers.
    # Fresh ones within an ascent, over which a noisy engine is averaged.
    model = quadratic_model(
        jax.random.fold_in(key, state.sweeps_here),
        plan.build(unknowns, learn),
        support,
        state.at.trajectory,
        plan,
        engine,
        noise=tuple(name for name in learn if name.endswith("_noise")),
        size=size,
        joint=joint,
        others=others,
    )
    if "initial" in learn:
        unknowns = learn_initial(model.sweep, unknowns)
    value = model.sweep.log_likelihood + noise_prior(unknowns, learn, plan)
    return Point(unknowns, support, value, model)


def scoring_step(
    point: Point,
    state: Exchange,
    plan: Plan,
    engine: AbstractEngine,
    learn: tuple[str, ...],
) -> ScoringStep:
    """The step that the quadratic model at a point asks for."""
    model, unknowns, gradient = point.model, point.unknowns, point.model.gradient
    known = model.information
    damping = damping_of(state, engine).astype(gradient.dtype)
    m = len(state.step[1])
    metric = damped(known.coefficients, damping)
    noise_metric = jnp.zeros((m, m), gradient.dtype)
    noise_gradient = jnp.zeros_like(model.noise_gradient)
    if known.noise is not None:
        noise_gradient = model.noise_gradient + NOISE_PRIOR
        # The information on a small variance vanishes with it: damped, or steps
        # overshoot.
        diagonal = 1 + 100 * damping * jnp.diag(known.noise)
        noise_metric = known.noise + jnp.diag(diagonal)
    free = model.support & ~_held(point, plan)
    inverse, noise_inverse = _inverses(
        metric, noise_metric, free, free_variances(unknowns, learn, plan)
    )
    inside = gradient.reshape(metric.shape[:-1])
    parameters = jnp.einsum("...ab,...b->...a", inverse, inside).ravel()
    wished = jnp.clip(noise_inverse @ noise_gradient, -1, 1)
    # The expected information may be less than the curvature: a variance that was
    # passed by is come back to by half, or it would be passed by for ever.
    passed = wished * state.step[1] < 0
    halved = jnp.where(passed, wished / 2, wished)
    lowest = jnp.pad(unknowns.state_noise <= plan.floor, (0, m - len(plan.floor)))
    variances = jnp.where(lowest, jnp.maximum(halved, 0), halved)
    decrement = gradient @ parameters + noise_gradient @ variances
    return ScoringStep(parameters, variances, decrement, damping, metric, inverse)


def damped(
    information: Float[Array, "*R k k"], damping: Float[Array, ""]
) -> Float[Array, "*R k k"]:
    """With more of the diagonal."""
    eye = jnp.eye(information.shape[-1], dtype=information.dtype)
    return information + damping * information * eye


def _inverses(
    metric: Float[Array, "*R k k"],
    noise_metric: Float[Array, "m m"],
    free: Bool[Array, "n"],
    free_noise: Bool[Array, "m"],
) -> tuple[Float[Array, "*R k k"], Float[Array, "m m"]]:
    """Inverses of both metrics on what is free, zeros elsewhere."""
    if metric.ndim == 3:
        inverse = jax.vmap(inverse_on)(metric, free.reshape(metric.shape[:-1]))
        first = 0 * inverse.ravel()[0]  # what must be factored before
        return inverse, inverse_on(noise_metric + first, free_noise)
    # Coefficients and noises in one block matrix: one factorisation.
    n, m = len(free), len(free_noise)
    matrix = jnp.zeros((n + m, n + m), metric.dtype)
    matrix = matrix.at[:n, :n].set(metric).at[n:, n:].set(noise_metric)
    both = inverse_on(matrix, jnp.concatenate([free, free_noise]))
    return both[:n, :n], both[n:, n:]


def damping_of(state: Exchange, engine: AbstractEngine) -> Float[Array, ""]:
    """More once a step was too long, less once one was not.

    A noise that hardly hides the states makes steps too long along what the data hardly
    tell.
    """
    too_long = (state.share < 1) & (not engine.stochastic)
    more = jnp.maximum(10 * state.damping, 1e-4)
    damping = jnp.where(too_long, more, state.damping / 10)
    return jnp.where(damping < 1e-6, 0, jnp.minimum(damping, 100))


def _held(point: Point, plan: Plan) -> Bool[Array, "n"]:
    """Parameters at a bound other than zero that are pushed outward."""
    columns, gradient = point.model.active, point.model.gradient
    here, low, high = (
        gather(values, columns).ravel()
        for values in (point.unknowns.parameters, plan.low, plan.high)
    )
    outward = ((here <= low) & (gradient < 0)) | ((here >= high) & (gradient > 0))
    return outward & (here != 0)


def _moved(
    unknowns: Unknowns,
    step: tuple[Array, Array],
    share: Array,
    learn: tuple[str, ...],
    floor: Array,
) -> Unknowns:
    """Unknowns after a share of a step; variances move on a logarithmic scale."""
    Nx = len(unknowns.state_noise)
    factor = jnp.exp(share * step[1])
    unknowns = unknowns._replace(parameters=unknowns.parameters + share * step[0])
    if "state_noise" in learn:
        q = jnp.maximum(unknowns.state_noise * factor[:Nx], floor)
        unknowns = unknowns._replace(state_noise=q)
    if "observation_noise" in learn:
        r = unknowns.observation_noise * factor[Nx:]
        unknowns = unknowns._replace(observation_noise=r)
    return unknowns
