"""Constraints that tie coefficients to one another: conserved sums, equal ones."""

from collections import Counter
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..checks import check_choice
from .constraint_set import ConstraintSet, Matrix, Place, StatedConstraints
from .constraints import Conserve


def conserved_groups(
    conserved: list[Conserve], stated: StatedConstraints
) -> list[list[int]]:
    """Rows of the states that are conserved together."""
    groups, seen = [], set()
    for constraint in conserved:
        for state in constraint.states:
            check_choice("conserve", state, stated.targets)
            if state in seen:
                raise ValueError(
                    f"`constraints` must conserve a state once, got {state!r} twice. "
                    "Conserve all states that exchange something together."
                )
            seen.add(state)
        groups.append([stated.targets.index(state) for state in constraint.states])
    bounded = np.isfinite(stated.low) | np.isfinite(stated.high)
    for i in (i for group in groups for i in group):
        if bounded[i].any():
            place = (i, int(np.argmax(bounded[i])))
            stated.disagree("bounds and `conserve`", place, "Give its sign instead.")
    return groups


def share_among_equals(
    same: list[list[Place]],
    stated: StatedConstraints,
    zero: Matrix,
    groups: list[list[int]],
) -> None:
    """What is known of one of several equal coefficients is known of all."""
    counts = Counter(place for places in same for place in places)
    for place, number in counts.items():
        if number > 1:
            stated.disagree("`equal` twice", place, "Put all that are equal into one.")
        if any(place[0] in group for group in groups):
            stated.disagree("`equal` and `conserve`", place, "Keep one of them.")
    for places in same:
        at = tuple(np.transpose(places))
        values = stated.values[at] - zero[at]
        given = np.unique(values[~np.isnan(values)])
        if len(given) > 1:
            stated.disagree("two values and `equal`", places[0], "Keep one of them.")
        if len(given):
            stated.values[at] = zero[at] + given[0]
        if {-1.0, 1.0} <= set(stated.signs[at]):
            stated.disagree("two signs and `equal`", places[0], "Keep one of them.")
        stated.signs[at] = stated.signs[at].sum().clip(-1, 1)
        stated.low[at] = zero[at] + (stated.low[at] - zero[at]).max()
        stated.high[at] = zero[at] + (stated.high[at] - zero[at]).min()
        stated.allowed[at] = stated.allowed[at].all()


class _Parameter(NamedTuple):
    """One parameter: the coefficients that it moves, each with a factor; its range."""

    moves: dict[Place, float]
    low: float
    high: float
    identity: float = 0.0


def tied(
    stated: StatedConstraints,
    same: list[list[Place]],
    groups: list[list[int]],
    untied: ConstraintSet,
) -> ConstraintSet:
    """What is known where coefficients are tied, from what it is if they were not."""
    base, left = untied.base.copy(), untied.free.copy()
    parameters: list[_Parameter] = []

    def add(places: list[Place]) -> None:
        ends = (float(a[places[0]]) for a in (untied.low, untied.high, untied.identity))
        parameters.append(_Parameter(dict.fromkeys(places, 1.0), *ends))

    for places in same:
        if left[places[0]]:
            add(places)
        left[tuple(np.transpose(places))] = False
    for group in groups:
        for j in range(base.shape[1]):
            rows = [i for i in group if left[i, j]]
            excess = sum(base[i, j] - untied.zero[i, j] for i in group)
            if excess != 0 and not rows:
                what = "known coefficients that do not conserve the sum"
                stated.disagree(what, (group[0], j), "Change one, or leave one free.")
            if rows:  # what is known of the others, one of these makes up for
                base[rows[0], j] -= excess
            parameters += [
                _transfer(a, b, j, stated.signs) for a, b in combinations(rows, 2)
            ]
            left[group, j] = False
    for i, j in np.argwhere(left):
        add([(int(i), int(j))])
    linear_map = np.zeros((*base.shape, len(parameters)))
    for k, parameter in enumerate(parameters):
        for place, factor in parameter.moves.items():
            linear_map[(*place, k)] = factor
    low, high, ahead = (
        np.array([[getattr(parameter, name) for parameter in parameters]])
        for name in ("low", "high", "identity")
    )
    linear_map = linear_map.reshape(base.size, -1)
    return untied._replace(
        base=base,
        free=low < high,
        low=low,
        high=high,
        identity=ahead,
        linear_map=linear_map,
    )


def _transfer(source: int, target: int, term: int, signs: Matrix) -> _Parameter:
    """What the one state loses and the other gains by a term."""
    ways = {-signs[source, term], signs[target, term]}
    return _Parameter(
        {(source, term): -1.0, (target, term): 1.0},
        low=0.0 if 1.0 in ways else -np.inf,
        high=0.0 if -1.0 in ways else np.inf,
    )
