"""Regressions that tell whether equations may be the same for several units.

One-step predictions from the filtered states of a fit are linear in the coefficients.
Given those states, coefficients that a symmetry makes equal are one coefficient of a
pooled regression, whose terms are selected as those of a fit are. It takes no time
beside a fit, and no compilation. No products of all terms with all are formed for each
state: of 100 states they would fill 21 GB.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.sparse import csr_array

from ..compiling import compiled_once
from ..fits.record import Fit
from ..model import StateSpaceModel
from ..solution import Solution
from ..solvers.adaptive.design import design_rows
from ..solvers.criterion import Terms, choose_criterion, own_states, term_degrees

SPREAD = 0.5
"""By how much coefficients of units would differ, as a share of what they are."""


class Steps(NamedTuple):
    """One-step predictions of a fit as regressions, one for each state.

    Attributes:
        terms: The terms, of all states.
        weights: Of the rows: one over the variance of the state's residuals, or zero.
        cross: Weighted products of the terms with what they are to explain.
        square: The same of what they are to explain.
        pull: The same of the terms with the residuals of the fit.
        rows: Number of rows.
    """

    terms: Float[np.ndarray, "T M"]
    weights: Float[np.ndarray, "T Nx"]
    cross: Float[np.ndarray, "Nx M"]
    square: Float[np.ndarray, "Nx"]
    pull: Float[np.ndarray, "Nx M"]
    rows: Float[np.ndarray, "Nx"]


class Pooled(NamedTuple):
    """A regression with tied coefficients.

    Attributes:
        coefficients: Of the terms selected; zero for others.
        criterion: Its deviance beside that of the fit, with the penalties.
        steps: The regressions about these coefficients.
    """

    coefficients: Float[np.ndarray, "Nx M"]
    criterion: float
    steps: Steps


def one_step(fit: Fit) -> Steps:
    """The regressions of a fit of which each state is a column."""
    solution = fit.solution
    assert isinstance(solution, Solution)
    model, ys = fit.data.model, fit.data.ys
    filtered = np.asarray(solution.filtered)
    before = np.concatenate([np.asarray(solution.initial_mean)[None], filtered[:-1]])
    terms, rest = map(np.asarray, _design(model, jnp.asarray(before)))
    moving = np.asarray(model.moving(len(ys))) > 0
    kept = (moving[:, None] & ~np.isnan(ys)).astype(float)
    target = np.where(kept > 0, ys - rest, 0)
    missed = np.where(kept > 0, ys - np.asarray(solution.predicted), 0)
    rows = np.maximum(kept.sum(axis=0), 1)
    variance = np.maximum((missed**2).sum(axis=0) / rows, np.finfo(float).tiny)
    weights = kept / variance
    return Steps(
        terms=terms,
        weights=weights,
        cross=(weights * target).T @ terms,
        square=(weights * target**2).sum(axis=0),
        pull=(weights * missed).T @ terms,
        rows=rows,
    )


@compiled_once
def _design(model: StateSpaceModel, before: Array) -> tuple[Array, Array]:
    terms, rest = design_rows(model, before[:, None])
    return terms[:, 0], rest[:, 0]


def pooled(fit: Fit, steps: Steps, orbits: Int[np.ndarray, "Nx M"]) -> Pooled:
    """The regression in which the coefficients of an orbit are equal.

    Args:
        fit: The fit, for what terms cost.
        steps: Its regressions.
        orbits: The number of the orbit of each coefficient, from zero.
    """
    number = int(orbits.max()) + 1
    gram, each = np.zeros((number, number)), np.ascontiguousarray(steps.terms.T)
    ones, places = np.ones(len(each)), np.arange(len(each))
    for own, w in zip(orbits, steps.weights.T, strict=True):
        sums = csr_array((ones, (own, places)), shape=(number, len(each)))
        tied = sums @ each
        gram += (tied * w) @ tied.T
    cross = np.bincount(orbits.ravel(), steps.cross.ravel(), number)
    penalties = orbit_penalties(fit, orbits)
    found = stepwise(gram, cross, penalties)
    C = found[orbits]
    pull = steps.cross - (steps.weights * (steps.terms @ C.T)).T @ steps.terms
    left = steps.square - np.sum(C * (steps.cross + pull), axis=1)
    left = np.maximum(left / steps.rows, np.finfo(float).tiny)
    about = Steps(
        steps.terms,
        steps.weights / left,
        steps.cross / left[:, None],
        steps.square / left,
        pull / left[:, None],
        steps.rows,
    )
    deviance = float(np.sum(steps.rows * np.log(left)))
    return Pooled(C, deviance + float(penalties[found != 0].sum()), about)


def departures(steps: Steps) -> Float[np.ndarray, "Nx M"]:
    """Fall of the deviance, to first order, if a coefficient were free."""
    diagonal = steps.weights.T @ steps.terms**2
    there = diagonal > 0
    return np.where(there, steps.pull**2 / np.where(there, diagonal, 1), 0)


def sameness(
    steps: Steps,
    coefficients: Float[np.ndarray, "Nx M"],
    tied: Bool[np.ndarray, "Nx M"],
) -> float:
    """Evidence that equal coefficients are equal: twice a logarithm of odds.

    Against coefficients that differ from unit to unit, with a normal distribution of
    `SPREAD` times their size. Each counts with its own variance, the others of its
    equation being free: sums that the data tell precisely, such as the mean of a
    step, which is near zero in any series, say nothing of the coefficients in them.

    Args:
        steps: Regressions about the coefficients.
        coefficients: What they are, beside what leaves a state as it is.
        tied: Which of them are equal to others.
    """
    total = 0.0
    for weights, pull, own, equal in zip(
        steps.weights.T, steps.pull, coefficients, tied, strict=True
    ):
        inside = np.flatnonzero(own)
        terms = steps.terms[:, inside]
        block = (terms.T * weights) @ terms
        unit = np.sqrt(np.where(np.diag(block) > 0, np.diag(block), 1))
        scaled = block / np.outer(unit, unit) + 1e-10 * np.eye(len(inside))
        covariance = np.linalg.inv(scaled) / np.outer(unit, unit)
        away, variance = covariance @ pull[inside], np.diag(covariance)
        among = (SPREAD * own[inside]) ** 2
        odds = np.log1p(among / variance)
        odds -= away**2 / variance * among / (among + variance)
        total += float(odds[equal[inside]].sum())
    return total


def orbit_penalties(
    fit: Fit, orbits: Int[np.ndarray, "Nx M"]
) -> Float[np.ndarray, "P"]:
    """What each coefficient costs if those of an orbit count as one."""
    solution = fit.solution
    assert isinstance(solution, Solution)
    degrees = term_degrees(fit.layout.library)
    _, first = np.unique(orbits.ravel(), return_index=True)
    # Always as many: what is compiled depends on their number.
    mine = np.zeros((1, orbits.size), int)
    mine[0, : len(first)] = degrees[first % orbits.shape[1]]
    free = jnp.asarray(np.arange(orbits.size) < len(first))[None]
    own = np.zeros(mine.shape, bool)
    own[0, orbits[own_states(fit.layout.library, len(orbits))]] = True
    terms = Terms.of(free, mine, int(degrees.max()), own)
    criterion = choose_criterion(solution.criterion_name, fit.dynamics)
    n = jnp.asarray(float(np.sum(~np.isnan(fit.data.ys))))
    each = criterion.penalties(n, terms, ~free)
    return float(solution.penalty_multiplier) * np.asarray(each)[0, : len(first)]


def stepwise(
    gram: Float[np.ndarray, "P P"],
    cross: Float[np.ndarray, "P"],
    penalties: Float[np.ndarray, "P"],
    most: int = 100,
) -> Float[np.ndarray, "P"]:
    """Coefficients of a regression whose terms no addition, drop or swap improves.

    By the sweep operator: entering and leaving terms are steps of Gauss and Jordan.

    Args:
        gram: Products of the terms.
        cross: Products of the terms with what they are to explain.
        penalties: What each term costs.
        most: Most changes.

    Examples:
        >>> gram, cross = np.diag([1.0, 4.0, 0.0]), np.array([3.0, 0.2, 0.0])
        >>> stepwise(gram, cross, np.full(3, 2.0)).tolist()
        [3.0, 0.0, 0.0]
    """
    size = np.sqrt(np.diag(gram))
    unit = np.where(size > 0, size, 1)
    table = np.block(
        [[gram / np.outer(unit, unit), (cross / unit)[:, None]], [cross / unit, 0.0]]
    )
    inside = np.zeros(len(cross), bool)
    for _ in range(most):
        costs = _costs(table, inside, penalties)
        changes = [int(np.argmin(costs))]
        if costs[changes[0]] > -1e-3:
            changes = _best_swap(table, inside, penalties, costs)
        for term in changes:
            table, inside[term] = _swept(table, term), not inside[term]
        if not changes:
            break
    return np.where(inside, table[:-1, -1], 0) / unit


def _best_swap(
    table: np.ndarray, inside: np.ndarray, penalties: np.ndarray, costs: np.ndarray
) -> list[int]:
    """The term that leaves and the one that enters in the best swap; none if worse."""
    best, least = [], -1e-3
    for leaving in np.flatnonzero(inside).tolist():
        without, others = _swept(table, leaving), inside.copy()
        others[leaving] = False
        after = _costs(without, others, penalties)
        after[inside] = np.inf
        entering = int(np.argmin(after))
        if costs[leaving] + after[entering] < least:
            best, least = [leaving, entering], costs[leaving] + after[entering]
    return best


def _costs(
    table: np.ndarray, inside: Bool[np.ndarray, "P"], penalties: np.ndarray
) -> Float[np.ndarray, "P"]:
    """By how much each change of one term raises deviance and penalties."""
    diagonal, side = np.diag(table)[:-1], table[:-1, -1]
    usable = inside | (diagonal > 1e-9)
    gains = side**2 / np.where(usable, np.abs(diagonal), 1)
    rises = np.where(inside, gains - penalties, penalties - gains)
    return np.where(usable, rises, np.inf)


def _swept(table: np.ndarray, term: int) -> np.ndarray:
    """The table after a term enters, or leaves: a sweep on its diagonal."""
    pivot, row = table[term, term], table[term]
    out = table - np.outer(row, row) / pivot
    out[term] = out[:, term] = row / abs(pivot)
    out[term, term] = -1 / pivot
    return out
