"""The best support beside its rivals, each at its own maximum of the likelihood."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, PRNGKeyArray

from ...engines import AbstractEngine
from ...journal import Journal
from .candidate import Exchange
from .plan import Plan
from .quadratic_model import FEW_COEFFICIENTS
from .rivals import MOST_RIVALS, SMALLEST, WINDOW, Rival, rivals
from .runs import ascended, maximum_at
from .settings import AdaptiveSteps
from .windows import MANY_ROWS

FEW_RIVALS = 3
"""Rivals on whose support the likelihood is ascended, where terms are many."""


class Contest(NamedTuple):
    """How the best support did beside its rivals.

    Attributes:
        combined: Where recombined starts ended; the first is a rival that was better.
        rivals: What is left of the rivals, the best first.
        certified: For each equation, whether it is certain that no other support of it
            is better: by the quadratic model, or where that promised it, by the
            likelihood.
    """

    combined: Exchange
    rivals: list[Rival]
    certified: Bool[np.ndarray, "R"]


def contest(
    key: PRNGKeyArray,
    starts: Exchange,
    combined: Exchange,
    plan: Plan,
    exchange: Callable[..., Exchange],
    *,
    engine: AbstractEngine,
    learn: tuple[str, ...],
    settings: AdaptiveSteps,
    journal: Journal | None = None,
) -> Contest:
    """The rivals of the best support; one that is better takes its place.

    Args:
        key: Random key of the exchange of terms.
        starts: Where all starts ended.
        combined: Where recombined starts ended.
        plan: What stays the same.
        exchange: Goes on from stacked starts, with at most so many sweeps on a support.
        engine: How the hidden trajectory is inferred.
        learn: What is learnt beside the coefficients.
        settings: How long to go on.
        journal: Has stages that were computed before the fit was stopped, if any.
    """
    most = 4 * settings.climb
    number, near = MOST_RIVALS, []
    certified = np.zeros(plan.free.shape[0], bool)
    if plan.base.size > FEW_COEFFICIENTS:
        number = FEW_RIVALS
    if len(plan.ys) > MANY_ROWS:
        number = 0  # the quadratic model of so many rows is exact enough
    for _ in range(settings.rounds):
        best = best_of(starts, combined)
        found = rivals(maximum_at(key, best, plan, most, engine, learn), plan)
        near = found.rivals
        not_fitted = {
            row
            for rival, row in zip(near[number:], found.rows[number:], strict=True)
            if rival.rise < -SMALLEST
        }
        ends = [
            ascended(
                key,
                best,
                rival,
                plan,
                most,
                engine=engine,
                learn=learn,
                journal=journal,
            )
            for rival in near[:number]
        ]
        near[:number] = [_fitted(end, best) for end in ends]
        near = [rival for rival in near if rival.rise < WINDOW]
        near.sort(key=lambda rival: rival.rise)
        # What is only predicted to be better is none.
        better = [
            end for end in ends if end.best.criterion < best.best.criterion - SMALLEST
        ]
        if not better:
            certified = found.complete.copy()
            certified[list(not_fitted)] = False
            break
        winner = min(better, key=lambda end: float(end.best.criterion))
        again = jax.tree.map(lambda leaf: np.asarray(leaf)[None], winner)
        again = exchange(again, most=most)
        combined = jax.tree.map(_with_first, combined, again)
    rest = [rival for rival in near if rival.rise > -SMALLEST]
    return Contest(combined, rest, certified)


def _fitted(end: Exchange, best: Exchange) -> Rival:
    """A rival where the ascent on its support ended."""
    found = end.best
    return Rival(
        float(found.criterion - best.best.criterion),
        np.asarray(found.support),
        np.asarray(found.unknowns.parameters),
    )


def best_of(*starts: Exchange) -> Exchange:
    """The start with the lowest criterion, of arrays that can be looked at."""
    each = [(start, np.asarray(start.best.criterion)) for start in starts]
    start, criteria = min(each, key=lambda pair: float(np.min(pair[1])))
    number = int(np.argmin(criteria))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[number], start)


def _with_first(starts: Any, other: Any) -> Any:
    """Stacked arrays whose first entry is another one."""
    return jax.device_put(np.concatenate([np.asarray(other), np.asarray(starts)[1:]]))
