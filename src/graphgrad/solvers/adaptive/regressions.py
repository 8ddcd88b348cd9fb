"""Starts from regressions: the terms of each equation by beam search, given states.

Where candidate terms are more than rows, annealing ends at wrong ones that together do
as well, and the exchange of terms, which looks at the few that explain most of what is
missed, does not come to the right ones. Given the states, a beam search over all terms
does, and the data smoothed without equations are near enough. Given the states that a
fit inferred, it says whether other terms explain these better.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...compiling import compiled_once
from ...solution import Stage
from .beam import Regressors, beam_search
from .candidate import Exchange
from .contest import best_of
from .design import design_along
from .plan import Plan
from .quadratic_model import FEW_COEFFICIENTS
from .rivals import SMALLEST
from .smoothing import smoothed_series
from .stages import begin_exchanges, with_better_start
from .trail import Trail
from .unknowns import model_unknowns

MANY_STATES = 8
"""States from which on regressions are tried, and starts annealed one by one."""


def from_smoothed(
    plan: Plan, fit: Callable[[Exchange], Exchange], trail: Trail, rounds: int
) -> tuple[Exchange, bool]:
    """One start by regressions on the smoothed data, and whether it is settled.

    Args:
        plan: What stays the same.
        fit: Ascends and exchanges terms.
        trail: What each stage came to.
        rounds: Most regressions on inferred states.
    """
    start = smoothed_start(plan, fit, trail)
    return with_inferred(start, plan, fit, trail, rounds)


def smoothed_start(
    plan: Plan, fit: Callable[[Exchange], Exchange], trail: Trail
) -> Exchange:
    """One start by regressions on the smoothed data; arguments as above."""
    return _fitted(regression_start(plan, _smoothed(plan)), fit, trail)


def with_inferred(
    starts: Exchange,
    plan: Plan,
    fit: Callable[[Exchange], Exchange],
    trail: Trail,
    rounds: int,
) -> tuple[Exchange, bool]:
    """The starts, one of them by regressions on the states that the best one inferred.

    Again while that helps. They are settled if the regressions come to the terms that
    these states were inferred with. Arguments as above.
    """
    for _ in range(rounds):
        found = best_of(starts)
        start = regression_start(plan, found.best.trajectory)
        if np.array_equal(np.asarray(start.at.support)[0], found.best.support):
            return starts, bool(found.done)
        end = _fitted(start, fit, trail)
        starts = with_better_start(starts, end)
        better = found.best.criterion - SMALLEST
        if not np.asarray(end.best.criterion)[0] < better:
            break
    return starts, False


def _fitted(
    start: Exchange, fit: Callable[[Exchange], Exchange], trail: Trail
) -> Exchange:
    trail.add(Stage.regression, start.at.support)
    end = fit(start)
    trail.add(Stage.regression, end.best.support)
    return end


def has_regressions(plan: Plan) -> bool:
    """Whether regressions can be made: states are seen, and coefficients not tied."""
    return plan.linear_map is None and plan.model.sees_all_states


def many_terms(plan: Plan) -> bool:
    """Whether regressions can be made, of so many terms that they come first."""
    many = plan.model.n_states >= MANY_STATES and plan.base.size > FEW_COEFFICIENTS
    return many and has_regressions(plan)


def _smoothed(plan: Plan) -> Float[np.ndarray, "T_plus_1 Nx"]:
    """The data as states x_0..x_T, smoothed."""
    path = np.asarray(plan.trajectory, float)
    rows = path[1:]
    lengths, fresh = np.ones(len(rows)), np.zeros(len(rows), bool)
    if plan.model.schedule is not None:
        lengths = np.asarray(plan.model.schedule.pace)
        fresh = np.asarray(plan.model.schedule.fresh)
    smooth = smoothed_series(rows, lengths, fresh)
    return np.concatenate([path[:1], smooth])


def regression_start(
    plan: Plan, trajectory: Float[np.ndarray | Array, "T_plus_1 Nx"]
) -> Exchange:
    """One start: the terms that explain a trajectory best, equation by equation."""
    dtype = plan.ys.dtype
    path = np.asarray(trajectory, dtype)
    found = jax.tree.map(np.asarray, _rows(plan, jax.device_put(path)))
    terms, targets, penalties, free, low, high, floor, length = found[:-1]
    good = found[-1]
    regressors = Regressors.of(terms[good].astype(float))
    parameters, noise = np.zeros(free.shape), np.zeros(len(free))
    for i in range(len(free)):
        target = targets[good, i].astype(float)
        support, amounts = beam_search(regressors, target, penalties[i], free[i])
        parameters[i, support] = np.clip(amounts, low[i, support], high[i, support])
        missed = target - terms[good] @ parameters[i]
        noise[i] = np.mean(missed**2) / length
    unknowns = model_unknowns(plan.model)._replace(
        parameters=parameters.astype(dtype),
        state_noise=np.maximum(noise, floor).astype(dtype),
    )
    # With NumPy: each operation of JAX would be a program of its own.
    one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], (unknowns, path))
    return begin_exchanges(*jax.device_put(one))


@compiled_once
def _rows(plan: Plan, trajectory: Array) -> tuple[Array, ...]:
    """Terms, targets and usable rows of the regressions, and what limits them."""
    model = plan.model
    terms, rest = (
        part[:, 0] for part in design_along(model, trajectory, plan.interpolated)
    )
    targets = trajectory[1:] - rest - terms @ plan.base.T
    good = ~(plan.interpolated[:-1] | plan.interpolated[1:])
    if model.schedule is not None:
        good &= ~model.schedule.fresh
    penalties = plan.term_penalties(jnp.zeros_like(plan.free))
    limits = plan.free, plan.low, plan.high, plan.floor
    length = jnp.mean(model.mean.noise_length())
    return terms, targets, penalties, *limits, length, good
