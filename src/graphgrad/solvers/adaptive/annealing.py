"""From the raw data to a first support: proximal EM steps that anneal by themselves.

Each step completes the data with one sweep, solves a short path of reweighted lassos
in the metric of the completed data's statistics, and lets every equation choose its
own penalty on the path by an extended BIC. The state noise is estimated anew each
time: it begins large, so that the hidden trajectory follows the data whatever the
coefficients are, and falls as they improve.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...engines.sweep import AbstractEngine
from ..criterion import ExtendedBIC
from ..trees import all_finite, where_each
from .columns import gather, scatter
from .lasso import lasso
from .plan import Plan
from .pooling import active_columns, pooled_statistics
from .statistics import Statistics, averaged, complete, statistics
from .unknowns import (
    Unknowns,
    learn_initial,
    observation_squares,
    observed_steps,
)

PENALTIES = (1.0, 1.7, 3.0, 5.0, 8.0, 13.0)
"""Thresholds along the path of each step, in standard errors of a coefficient."""

MOST_UNCHANGED = 3
"""Steps in a row without a change after which annealing ends."""


class Annealing(NamedTuple):
    """Where annealing stands.

    Attributes:
        unknowns: Coefficients and noises.
        candidates: Parameters along the regularisation path.
        statistics: Running means, about the coefficients.
        active: Columns of the terms in play.
        trajectory: That of the last sweep.
        log_likelihood: Of the last sweep.
        step: Number of steps done.
        unchanged: Number of steps in a row in which nothing changed.
    """

    unknowns: Unknowns
    candidates: Float[Array, "L R K"]
    statistics: Statistics
    active: Int[Array, "Nx A"]
    trajectory: Float[Array, "T_plus_1 Nx"]
    log_likelihood: Float[Array, ""]
    step: Int[Array, ""]
    unchanged: Int[Array, ""]


def anneal(
    key: PRNGKeyArray,
    state: Annealing,
    plan: Plan,
    *,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    steps: int,
    ramp: int,
    until: Int[Array, ""] | int,
) -> Annealing:
    """Take steps until nothing changes, `steps` are done, or `until` are.

    Args:
        key: Random key of the fit; draws depend on it and on the number of the step.
        state: Where to go on from.
        plan: What stays the same.
        engine: How the hidden trajectory is inferred.
        learn: What is learnt beside the coefficients.
        steps: Most steps in all.
        ramp: Steps over which the penalties rise, so that collinear true terms are
            not lost early.
        until: Number of steps to stop at, to go on later.
    """

    def unfinished(state: Annealing) -> Bool[Array, ""]:
        return (state.step < jnp.minimum(steps, until)) & (
            state.unchanged < MOST_UNCHANGED
        )

    def step(state: Annealing) -> Annealing:
        return _step(key, state, plan, engine, learn, steps, ramp)

    return jax.lax.while_loop(unfinished, step, state)


def _step(
    key: PRNGKeyArray,
    state: Annealing,
    plan: Plan,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    steps: int,
    ramp: int,
) -> Annealing:
    unknowns, T = state.unknowns, plan.moves
    parameters, noise = unknowns.parameters, unknowns.state_noise
    K, dtype = parameters.shape[1], parameters.dtype
    model = plan.build(unknowns, (*learn, "state_noise"))
    trajectory, long_gaps = state.trajectory, None
    if not engine.stochastic:
        # Across a long gap the transition is expanded about where the filter is: an
        # old trajectory there may be on the wrong side of everything.
        trajectory = trajectory.at[0].set(model.initial_mean)
        long_gaps = plan.long_gaps
    step_key = jax.random.fold_in(key, state.step)
    sweep = engine.sweep(step_key, model, plan.ys, trajectory, long_gaps)
    data = complete(sweep, model, engine)
    # Not those that only the lowest penalties let in: there is room for others.
    keep = jnp.any(state.candidates[2:] != 0, axis=0) | (parameters != 0)
    active = active_columns(data, keep, plan, state.active.shape[1])
    sums = statistics(data, active)
    if engine.stochastic:
        # Stochastic approximation: a running mean, whose memory grows once the
        # penalties are up.
        late = jnp.maximum(state.step - 2 * steps // 3, 0)
        gain = jnp.where(state.step == 0, 1.0, 0.3 / (1.0 + late) ** 0.7)
        before = state.statistics, state.active
        sums = averaged(*before, sums, active, gain.astype(dtype))
    columns = active if plan.linear_map is None else plan.all_columns()
    pooled, unit = pooled_statistics(sums, noise, plan)
    scale = pooled.scale(unit)
    here = gather(parameters, columns)
    start = gather(state.candidates, columns)
    rise = jnp.minimum(1.0, (state.step + 1) / ramp)
    z = jnp.abs(start) * scale / unit[:, None]
    height = rise * jnp.asarray(PENALTIES, dtype)[:, None, None]
    height = jnp.where(gather(plan.free, columns), height, jnp.inf)
    moved = jnp.einsum("nab,nb->na", pooled.gram, here)
    found = lasso(
        pooled.gram,
        pooled.cross + moved,
        height * scale / (1 + z / 2),  # reweighted: large ones are hardly shrunk
        start,
        scale,
        box=(gather(plan.low, columns), gather(plan.high, columns)),
        tolerance=0.01,
        max_rounds=3,
    ).coefficients

    def step_by(found: Array) -> Array:
        """The step of the active coefficients."""
        return (
            found - here if plan.linear_map is None else plan.departures(found - here)
        )

    squares = sums.squares(step_by(found))
    count = jnp.sum(found != 0, axis=-1)
    # Of one equation, whose data are its steps.
    penalty = ExtendedBIC(plan.multiplier / 2).flat(T, plan.base.shape[1])
    misfit = T * jnp.log(jnp.maximum(squares / T, plan.floor))
    if plan.linear_map is not None:  # one choice for all equations
        misfit = jnp.sum(misfit, axis=-1, keepdims=True)
    best = jnp.argmin(misfit + count * penalty, axis=0)
    chosen = jnp.take_along_axis(found, best[None, :, None], axis=0)[0]
    step = step_by(chosen)
    variance = jnp.maximum(sums.squares(step) / T, plan.floor)
    variance = jnp.where(plan.exact, plan.floor, variance)
    next_unknowns = unknowns._replace(
        parameters=scatter(chosen, columns, K), state_noise=variance
    )
    if "observation_noise" in learn:
        r = observation_squares(sweep, model, plan.ys) / observed_steps(plan.ys)
        next_unknowns = next_unknowns._replace(observation_noise=r)
    if "initial" in learn:
        next_unknowns = learn_initial(sweep, next_unknowns)
    next_state = Annealing(
        unknowns=next_unknowns,
        candidates=scatter(found, columns, K),
        statistics=sums.about(step),
        active=active,
        trajectory=sweep.path,
        log_likelihood=sweep.log_likelihood,
        step=state.step + 1,
        unchanged=state.unchanged,
    )
    finite = all_finite(
        (next_unknowns, next_state.trajectory, next_state.log_likelihood)
    )
    # A model that lost the data goes back to following them, with more noise; a flow
    # that ran away within an interval, more slowly.
    slower = 0.5 if model.dynamics == "flow" else 1.0
    lost = state._replace(
        unknowns=unknowns._replace(
            parameters=slower * parameters, state_noise=4 * noise
        ),
        candidates=slower * state.candidates,
        trajectory=plan.trajectory,
        step=state.step + 1,
    )
    change = jnp.max(jnp.abs(chosen - here) * scale / unit[:, None])
    same = jnp.all((chosen != 0) == (here != 0))
    # A tenth of a standard error.
    quiet = finite & same & (change < 0.1) & (state.step >= ramp)
    next_state = where_each(finite, next_state, lost)
    return next_state._replace(unchanged=jnp.where(quiet, state.unchanged + 1, 0))
