"""The best support beside its rivals, each at its own maximum of the likelihood."""

from collections.abc import Callable, Iterable, Sequence
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

LEAST_ROUNDS = 3
"""Fewest rounds there: after one in which a rival was better, others may be, too."""

ROUNDS = 12
"""Most rounds, where terms are few and each one is short."""


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
    elsewhere: Sequence[Rival] = (),
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
        elsewhere: Where other searches ended, each with its criterion as rise.
        journal: Has stages that were computed before the fit was stopped, if any.
    """
    most = 4 * settings.climb
    number, rounds, near = MOST_RIVALS, ROUNDS, []
    certified = np.zeros(plan.free.shape[0], bool)
    if plan.base.size > FEW_COEFFICIENTS:
        number, rounds = FEW_RIVALS, max(settings.rounds, LEAST_ROUNDS)
    if len(plan.ys) > MANY_ROWS:
        number = 0  # the quadratic model of so many rows is exact enough
    for _ in range(rounds):
        best = best_of(starts, combined)
        found = rivals(maximum_at(key, best, plan, most, engine, learn), plan)
        not_fitted = {
            row
            for rival, row in zip(
                found.rivals[number:], found.rows[number:], strict=True
            )
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
            for rival in found.rivals[:number]
        ]
        level = float(best.best.criterion)
        predicted = [
            rival._replace(rise=level + rival.rise) for rival in found.rivals[number:]
        ]
        near = [end for each in ends for end in ends_of(each)] + predicted
        # What is only predicted to be better is none.
        better = [end for end in ends if end.best.criterion < level - SMALLEST]
        if not better:
            certified = found.complete.copy()
            certified[list(not_fitted)] = False
            break
        winner = min(better, key=lambda end: float(end.best.criterion))
        again = jax.tree.map(lambda leaf: np.asarray(leaf)[None], winner)
        again = exchange(again, most=most)
        combined = jax.tree.map(_with_first, combined, again)
    else:
        # There may be better ones.
        combined = combined._replace(done=_with_first(combined.done, [False]))
    top = best_of(starts, combined).best
    every = *near, *elsewhere, *ends_of(starts), *ends_of(combined)
    rest = beside(float(top.criterion), np.asarray(top.support), every)
    return Contest(combined, rest, certified)


def ends_of(starts: Exchange, more: Any = 0.0) -> list[Rival]:
    """The supports where one or more starts ended, with their criteria as rises.

    Args:
        starts: The starts.
        more: What is added to the criterion of each.
    """
    best = jax.tree.map(np.asarray, starts.best)
    shape = -1, *best.support.shape[-2:]
    criteria = np.ravel(best.criterion + np.asarray(more))
    supports = best.support.reshape(shape)
    parameters = best.unknowns.parameters.reshape(shape)
    return [
        Rival(*each)
        for each in zip(criteria.tolist(), supports, parameters, strict=True)
    ]


def beside(
    level: float, support: Bool[np.ndarray, "R K"], ends: Iterable[Rival]
) -> list[Rival]:
    """What is nearest to the best support, each other support once.

    Args:
        level: Criterion of the best support.
        support: The best support.
        ends: Supports, with their criteria as rises.
    """
    seen, rest = {support.tobytes()}, []
    for end in sorted(ends, key=lambda end: end.rise):
        rise, terms = end.rise - level, end.support.tobytes()
        if -SMALLEST < rise < WINDOW and terms not in seen:
            seen.add(terms)
            rest.append(end._replace(rise=rise))
    return rest[:MOST_RIVALS]


def best_of(*starts: Exchange) -> Exchange:
    """The start with the lowest criterion, of arrays that can be looked at."""
    each = [(start, np.asarray(start.best.criterion)) for start in starts]
    start, criteria = min(each, key=lambda pair: float(np.min(pair[1])))
    number = int(np.argmin(criteria))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[number], start)


def _with_first(starts: Any, other: Any) -> Any:
    """Stacked arrays whose first entry is another one."""
    return jax.device_put(np.concatenate([np.asarray(other), np.asarray(starts)[1:]]))
