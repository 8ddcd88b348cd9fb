"""The same equations for all units of a ring, or of identical units, if that is better.

A ring of states, each of which is to the next what that is to the one after it, has
the equation of one state. With the coefficients of all equations tied, all rows tell of
it together. Whether it is so is decided by the criterion, as everything is.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from ..checks import check_choice
from ..data.layout import state_names
from ..data.series import Panel
from ..diagnostics.symmetry import (
    Pooled,
    Steps,
    departures,
    one_step,
    orbit_penalties,
    pooled,
    sameness,
)
from ..fits.record import DOUBTED, Fit
from ..library import origin_of
from ..model import cyclic, exchangeable
from ..model.constraint_resolution import MOST_TIED, identity
from ..model.constraints import Symmetric
from ..model.symmetry import orbits
from ..solution import Outcome, Solution
from ..solvers.adaptive.outcome import UNSURE
from ..solvers.adaptive.windows import MANY_ROWS
from .origin import FitOne

AUTO = "auto"

KINDS = {"cyclic": cyclic, "exchangeable": exchangeable}
"""Symmetries by name, and the functions that state them."""

LEAST_STATES, LEAST_UNITS = 5, 4
"""Fewest states, and fewest units, of which a symmetry is looked for."""

STRONG = 10.0
"""Evidence that equal coefficients are equal, beyond what the symmetry costs.

Very strong by Kass and Raftery, J. Am. Stat. Assoc. 90 (1995).
"""


UNFINISHED = (Outcome.out_of_sweeps, Outcome.not_determined)
"""Outcomes of fits, other than of those that succeed, after which it is tried."""


class _Trial(NamedTuple):
    """A symmetry that the regressions of a fit speak for.

    Attributes:
        symmetry: What is equal.
        orbits: The number of the orbit of each coefficient.
        regression: With the coefficients of an orbit tied.
        cost: What it costs that one of several symmetries is chosen, and what is apart.
    """

    symmetry: Symmetric
    orbits: Int[np.ndarray, "Nx M"]
    regression: Pooled
    cost: float

    @property
    def criterion(self) -> float:
        """Of the regression, with the cost."""
        return self.regression.criterion + self.cost


def with_symmetry(settings: Mapping[str, Any], panel: Panel) -> Mapping[str, Any]:
    """Settings with the symmetry of all states that they ask for, as a constraint."""
    asked = settings["symmetry"]
    if asked is None or asked == AUTO:
        return settings
    check_choice("symmetry", asked, (AUTO, *KINDS))
    stated = KINDS[asked](*state_names(settings, panel))
    return {**settings, "constraints": [*settings["constraints"], stated]}


def fit_with_symmetry(first: Fit, fit_one: FitOne) -> Fit:
    """The fit, or one with the coefficients of a symmetry tied if it is better.

    Args:
        first: The fit with every coefficient for itself.
        fit_one: Fits with other settings.
    """
    if not _may_be_symmetric(first):
        return first
    assert isinstance(first.solution, Solution)
    penalties = first.solution.criterion + 2 * first.solution.log_likelihood
    trials = [
        trial
        for trial in _trials(first, one_step(first))
        if trial.criterion < float(penalties)
        and _same(trial, first, trial.regression.steps, trial.regression.coefficients)
    ]
    if not trials:
        return first
    best = min(trials, key=lambda trial: trial.criterion)
    trial, tied, all_same = _fit(first, best, fit_one)
    rise = _criterion(tied) + trial.cost - _criterion(first)
    words = symmetry_words(_differing(trial.symmetry, tied))
    if (
        tied.solution.outcome in DOUBTED
        and rise < -UNSURE
        and all_same
        and _same(trial, tied, one_step(tied), tied.coefficients)
    ):
        before = int(np.count_nonzero(first.solution.departures()))
        after = _number(tied)
        note = (
            f"{words}: {after} coefficient{'s' * (after != 1)} in place of {before}; "
            f"criterion {rise:+.1f}."
        )
        return tied._replace(notes=(*first.notes, note))
    note = f"Tried, with the change of the criterion: {words[0].lower()}{words[1:]}"
    return first._replace(notes=(*first.notes, f"{note} {rise:+.1f}."))


def found_symmetry(fit: Fit) -> Symmetric | None:
    """The symmetry among the constraints of a fit, if any."""
    stated = [c for c in fit.task.settings["constraints"] if isinstance(c, Symmetric)]
    return stated[0] if stated else None


def symmetry_words(symmetry: Symmetric) -> str:
    """What is the same, in words.

    Examples:
        >>> symmetry_words(cyclic("x1", "x2", "x3", "x4", "x5"))
        'The equations are the same for all of the ring x1 -> x2 -> ... -> x5 -> x1'
        >>> symmetry_words(exchangeable(["v1", "w1"], ["v2", "w2"]))
        'The equations are the same for (v1, w1) and (v2, w2), in any order'
    """
    units = [
        unit[0] if len(unit) == 1 else f"({', '.join(unit)})" for unit in symmetry.units
    ]
    if symmetry.pattern == "cyclic":
        inner = [*units, units[0]]
        if len(units) > 4:
            inner = [*units[:2], "...", units[-1], units[0]]
        who = f"all of the ring {' -> '.join(inner)}"
    else:
        inner = units if len(units) <= 4 else [*units[:2], "...", units[-1]]
        who = f"{', '.join(inner[:-1])} and {inner[-1]}, in any order"
    apart = [f"{term} in that of {target}" for target, term in symmetry.apart]
    but = f", but for {', '.join(apart)}" if apart else ""
    return f"The equations are the same for {who}{but}"


def _differing(symmetry: Symmetric, fit: Fit) -> Symmetric:
    """The symmetry with those coefficients apart that are not as the others are."""
    layout, C = fit.layout, fit.coefficients
    found = orbits(symmetry, layout.library, layout.variables, len(layout.states))
    assert found is not None
    kept = []
    for target, term in symmetry.apart:
        place = layout.states.index(target), layout.terms.index(term)
        if np.ptp(C[found == found[place]]) > 0:
            kept.append((target, term))
    return symmetry._replace(apart=tuple(kept))


def _may_be_symmetric(fit: Fit) -> bool:
    """Whether nothing is stated that treats states differently."""
    settings, layout = fit.task.settings, fit.layout
    n = len(layout.states)
    return (
        settings["symmetry"] == AUTO
        and settings["solver"] == "adaptive"
        and settings["selection"] == "ebic"
        and not settings["constraints"]
        and not settings["prior"]
        and n >= LEAST_STATES
        and not layout.delays
        and layout.matrix is not None
        and np.array_equal(layout.matrix, np.eye(n))
        and not np.any(origin_of(layout.library))
        and len(fit.data.ys) <= MANY_ROWS
        and not fit.engine.stochastic
        and fit.solution.outcome in (*DOUBTED, *UNFINISHED)
    )


def _hypotheses(states: tuple[str, ...]) -> Iterator[Symmetric]:
    """Rings and identical units, of one state each or of several.

    The states of a unit are beside one another, or as far apart as there are units.
    """
    n = len(states)
    for size in range(1, n // LEAST_UNITS + 1):
        if n % size:
            continue
        beside = [states[i : i + size] for i in range(0, n, size)]
        apart = [states[i :: n // size] for i in range(n // size)]
        for units in [beside] + [apart] * (size > 1):
            for state in KINDS.values():
                yield state(*units)


def _trials(fit: Fit, steps: Steps) -> Iterator[_Trial]:
    """The symmetries that the library has, each with its regression."""
    layout = fit.layout
    stated = list(_hypotheses(layout.states))
    for symmetry in stated:
        found = orbits(symmetry, layout.library, layout.variables, len(layout.states))
        if found is None or found.max() >= MOST_TIED:
            continue
        trial = _regress(fit, steps, symmetry, found, len(stated))
        for _ in range(_most_apart(symmetry)):
            place = _departing(fit, trial.regression.steps, trial)
            if place is None:
                break
            trial = _regress(fit, steps, *_without(trial, place, fit), len(stated))
        yield trial


def _regress(
    fit: Fit,
    steps: Steps,
    symmetry: Symmetric,
    found: Int[np.ndarray, "Nx M"],
    number: int,
) -> _Trial:
    cost = 2 * float(np.log(number) + len(symmetry.apart) * np.log(found.size))
    return _Trial(symmetry, found, pooled(fit, steps, found), cost)


def _same(
    trial: _Trial, fit: Fit, steps: Steps, coefficients: Float[np.ndarray, "Nx M"]
) -> bool:
    """Whether the data could tell if equal coefficients were not."""
    layout = fit.layout
    if fit.dynamics == "map":
        n = len(layout.states)
        still = identity(layout.library, layout.variables)[:n] != 0
        # What a step changes may be a small part of the coefficient.
        less = np.minimum(np.abs(coefficients), np.abs(coefficients - 1))
        coefficients = np.where(still, less, coefficients)
    tied = np.bincount(trial.orbits.ravel())[trial.orbits] > 1
    units = len(trial.symmetry.units)
    evidence = sameness(steps, coefficients, tied) * (units - 1) / units
    return evidence > STRONG + trial.cost


def _most_apart(symmetry: Symmetric) -> int:
    """Most coefficients that are apart: with more, it is no symmetry."""
    return 1 + len(symmetry.units) // 4


def _without(
    trial: _Trial, place: tuple[int, int], fit: Fit
) -> tuple[Symmetric, Int[np.ndarray, "Nx M"]]:
    """The symmetry with another coefficient apart, and its orbits."""
    i, j = place
    name = fit.layout.states[i], fit.layout.terms[j]
    symmetry = trial.symmetry._replace(apart=(*trial.symmetry.apart, name))
    found = trial.orbits.copy()
    found[i, j] = found.max() + 1
    return symmetry, np.unique(found, return_inverse=True)[1].reshape(found.shape)


def _departing(fit: Fit, steps: Steps, trial: _Trial) -> tuple[int, int] | None:
    """The coefficient that departs most, if by more than one of its own costs."""
    gains = departures(steps)
    every = np.arange(gains.size).reshape(gains.shape)
    excess = gains - orbit_penalties(fit, every).reshape(gains.shape)
    for target, term in trial.symmetry.apart:
        excess[fit.layout.states.index(target), fit.layout.terms.index(term)] = -np.inf
    place = np.unravel_index(np.argmax(excess), gains.shape)
    return (int(place[0]), int(place[1])) if excess[place] > 0 else None


def _fit(first: Fit, trial: _Trial, fit_one: FitOne) -> tuple[_Trial, Fit, bool]:
    """The fit with tied coefficients; more are apart if the criterion falls by it.

    Returns:
        What is tied, the fit, and whether no other coefficient departs.
    """
    assert isinstance(first.solution, Solution)
    tied = _tied(first, trial, first.solution, trial.regression.coefficients, fit_one)
    while True:
        place = _departing(tied, one_step(tied), trial)
        if place is None:
            return trial, tied, True
        if len(trial.symmetry.apart) >= _most_apart(trial.symmetry):
            return trial, tied, False
        symmetry, found = _without(trial, place, tied)
        cost = trial.cost + 2 * float(np.log(found.size))
        freer = trial._replace(symmetry=symmetry, orbits=found, cost=cost)
        assert isinstance(tied.solution, Solution)
        again = _tied(first, freer, tied.solution, tied.coefficients, fit_one)
        if _criterion(again) + freer.cost >= _criterion(tied) + trial.cost:
            return trial, tied, True
        trial, tied = freer, again


def _tied(
    first: Fit,
    trial: _Trial,
    start: Solution,
    coefficients: Float[np.ndarray, "Nx M"],
    fit_one: FitOne,
) -> Fit:
    """The fit with the coefficients of a symmetry tied, from a start."""
    settings = {
        **first.task.settings,
        "dynamics": first.dynamics,
        "constraints": [trial.symmetry],
    }
    start = eqx.tree_at(lambda s: s.coefficients, start, jax.device_put(coefficients))
    return fit_one(settings, start)


def _criterion(fit: Fit) -> float:
    assert isinstance(fit.solution, Solution)
    value = float(fit.solution.criterion)
    return value if np.isfinite(value) else np.inf


def _number(fit: Fit) -> int:
    """Number of different coefficients."""
    there = (fit.solution.departures() != 0).ravel()
    assert fit.task.linear_map is not None
    return int(np.count_nonzero(np.any((fit.task.linear_map != 0)[there], axis=0)))
