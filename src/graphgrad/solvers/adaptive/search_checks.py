"""What the search asks, and tells, of where its starts are."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ...solution import Solution
from ..trees import host_entry
from .candidate import Exchange
from .exchange import TOLERANCE
from .plan import Plan
from .settings import AdaptiveProgress
from .substeps import SIZES, doubling, next_size, substeps_of


def needed_steps(starts: Exchange, plan: Plan, learn: tuple[str, ...]) -> int:
    """Steps an interval that the best start needs."""
    winner = int(np.argmin(np.asarray(starts.best.criterion)))
    best = host_entry(starts.best, winner)
    model = plan.build(best.unknowns, learn)
    change = doubling(model, plan.ys, best.trajectory)
    return next_size(change, int(substeps_of(model))) or SIZES[-1]


def settled(starts: Exchange) -> bool:
    """Whether there is one start, at a maximum from which no other terms were tried."""
    best, at = starts.best, starts.at
    same = np.all(np.asarray(at.support) == np.asarray(best.support))
    maximum = np.all(np.asarray(best.decrement) < TOLERANCE)
    return len(starts.done) == 1 and bool(starts.done[0] & same & maximum)


def same_terms(starts: Exchange, found: Solution, plan: Plan) -> bool:
    """Whether the one start has the terms of a fit of fewer rows."""
    before = np.asarray(found.coefficients) != np.asarray(plan.base)
    now = np.asarray(starts.best.support)[0]
    if plan.linear_map is not None:  # the coefficients that these parameters move
        now = ((np.asarray(plan.linear_map) != 0) @ now[0]).reshape(before.shape)
    return bool(np.all(now == before))


def progress_of(
    stage: str, sweeps: Any, most: int, starts: Any, plan: Plan
) -> AdaptiveProgress:
    """How far a stage is, for a callback."""
    best = int(np.argmax(np.asarray(starts.log_likelihood)))
    parameters = np.asarray(starts.unknowns.parameters)[best]
    return AdaptiveProgress(
        stage=stage,
        sweeps=int(np.max(np.asarray(sweeps))),
        most=most,
        log_likelihood=float(np.asarray(starts.log_likelihood)[best]),
        n_nonzero=int(np.count_nonzero(parameters)),
        coefficients=np.asarray(plan.coefficients(jnp.asarray(parameters))),
    )
