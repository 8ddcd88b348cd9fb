"""Constraints as arrays: what is known, what is open, and what is tied."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple, NoReturn

import numpy as np
from jaxtyping import Bool, Float

from ..checks import check_choice
from ..library import AbstractLibrary
from ..library.degrees import default_states
from .constraints import (
    Bounds,
    Conserve,
    Constraint,
    Equal,
    Known,
    OnlyEdges,
    Sign,
    Velocity,
)

Place = tuple[int, int]
Matrix = Float[np.ndarray, "Nx M"]

MOST_TIED = 640
"""Most coefficients of a model in which some are tied."""


class Knowledge(NamedTuple):
    """Constraints as arrays.

    Parameters are departures of the coefficients from `base`: one for each coefficient,
    `(Nx, M)`, or, where some are tied, one row `(1, P)`.

    Attributes:
        base: Coefficients that are known; where the open ones start from.
        zero: Coefficients that count as zero: none, or the identity.
        open: Which parameters are to be found.
        low: Their lowest values, zero or less.
        high: Their highest values, zero or more.
        still: Parameters of a map that leaves states as they are, as far as it can.
        ties: How the coefficients, row by row, follow from the parameters; None where
            none are tied.
    """

    base: Float[np.ndarray, "Nx M"]
    zero: Float[np.ndarray, "Nx M"]
    open: Bool[np.ndarray, "R K"]
    low: Float[np.ndarray, "R K"]
    high: Float[np.ndarray, "R K"]
    still: Float[np.ndarray, "R K"]
    ties: Float[np.ndarray, "n P"] | None


class _Told:
    """What has been told of each coefficient, by target and term."""

    def __init__(self, library: AbstractLibrary, states: tuple[str, ...], n: int):
        self.library, self.states, self.targets = library, states, states[:n]
        shape = (n, library.n_terms)
        self.values = np.full(shape, np.nan)
        self.allowed = np.ones(shape, bool)
        self.signs = np.zeros(shape)
        self.low, self.high = np.full(shape, -np.inf), np.full(shape, np.inf)

    def place(self, target: str, term: str) -> tuple[int, int]:
        check_choice("target", target, self.targets)
        return self.states.index(target), self.library.index(term, self.states)

    def disagree(self, what: str, place: Sequence[int], remedy: str) -> NoReturn:
        term = self.library.names(self.states)[place[1]]
        raise ValueError(
            f"`constraints` must agree, got {what} for {term!r} in the equation of "
            f"{self.states[place[0]]!r}. {remedy}"
        )

    def take(self, constraint: Known | Sign | Bounds | OnlyEdges | Velocity) -> None:
        if isinstance(constraint, Velocity):
            own = self.place(constraint.position, constraint.velocity)
            for j in range(self.library.n_terms):
                self.know((own[0], j), 1.0 if j == own[1] else 0.0)
            return
        if isinstance(constraint, OnlyEdges):
            acts = np.eye(len(self.targets), len(self.states), dtype=bool)
            for source, target in constraint.edges:
                check_choice("only_edges", source, self.states)
                check_choice("only_edges", target, self.targets)
                acts[self.states.index(target), self.states.index(source)] = True
            # A term may appear if all states in it may act.
            self.allowed &= (~acts).astype(int) @ (self.library.incidence != 0) == 0
            return
        place = self.place(constraint.target, constraint.term)
        if isinstance(constraint, Sign):
            way = 1.0 if constraint.sign == "+" else -1.0
            if self.signs[place] == -way:
                remedy = "Keep one of them, or forbid the term."
                self.disagree("both signs", place, remedy)
            self.signs[place] = way
        elif isinstance(constraint, Bounds):
            self.low[place] = max(self.low[place], constraint.low)
            self.high[place] = min(self.high[place], constraint.high)
        else:
            self.know(place, constraint.value)

    def know(self, place: tuple[int, int], value: float) -> None:
        before = self.values[place]
        if not np.isnan(before) and before != value:
            what = f"{before:g} and {value:g}"
            self.disagree(what, place, "Keep one of them.")
        self.values[place] = value


def identity(
    library: AbstractLibrary, states: Sequence[str] | None = None
) -> Float[np.ndarray, "Nx M"]:
    """C of the map that leaves states as they are, as far as the library has them."""
    states = default_states(library.n_states) if states is None else states
    names = library.names(states)
    still = np.zeros((len(states), library.n_terms))
    for i, name in enumerate(states):
        if name in names:
            still[i, names.index(name)] = 1
    return still


def knowledge(
    constraints: Iterable[Constraint],
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    n_inputs: int = 0,
    dynamics: str = "map",
) -> Knowledge:
    """All constraints together, checked for contradictions.

    Args:
        constraints: Made by `known`, `forbid`, `sign`, `only_edges`, `bounds`,
            `conserve`, `equal` and `velocity`.
        library: The terms.
        states: Names of the states and then the inputs; x1, x2, ... and u1, u2, ... if
            not given.
        n_inputs: Number of the library's variables, the last ones, that are inputs.
        dynamics: `"map"`, `"difference"` or `"flow"`: what the coefficients are of.

    Examples:
        >>> import graphgrad as gg
        >>> told = knowledge([gg.known("x2", "x1", 0.5)], gg.Polynomial(2, 1))
        >>> told.base.tolist(), told.open.tolist()
        ([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0]], [[True, True, True], [True, False, True]])
    """
    n = library.n_states - n_inputs
    if states is None:
        inputs = (f"u{i + 1}" for i in range(n_inputs))
        states = (*default_states(n), *inputs)
    told = _Told(library, tuple(states), n)
    constraints = tuple(constraints)
    for constraint in constraints:
        if isinstance(constraint, Velocity) and dynamics != "flow":
            raise ValueError(
                f"`velocity` must be absent for `dynamics={dynamics!r}`, got "
                f"{constraint.velocity!r}. Use `dynamics='flow'`, with `dt` or times."
            )
        if not isinstance(constraint, Conserve | Equal):
            told.take(constraint)
    groups = _groups([c for c in constraints if isinstance(c, Conserve)], told)
    zero, still = _zero(told, groups, dynamics)
    equals = [c for c in constraints if isinstance(c, Equal)]
    same = [[told.place(*place) for place in c.places] for c in equals]
    _share(same, told, zero, groups)
    free = _free(told, zero, still)
    if not groups and not same:
        return free
    if zero.size > MOST_TIED:
        raise ValueError(
            "`constraints` must tie no coefficients of a model with more than "
            f"{MOST_TIED}, got {zero.size}. Take a lower degree, or leave out "
            "`conserve` and `equal`."
        )
    return _tied(told, same, groups, free)


def _groups(conserved: list[Conserve], told: _Told) -> list[list[int]]:
    """Rows of the states that are conserved together."""
    groups, seen = [], set()
    for constraint in conserved:
        for state in constraint.states:
            check_choice("conserve", state, told.targets)
            if state in seen:
                raise ValueError(
                    f"`constraints` must conserve a state once, got {state!r} twice. "
                    "Conserve all states that exchange something together."
                )
            seen.add(state)
        groups.append([told.targets.index(state) for state in constraint.states])
    bounded = np.isfinite(told.low) | np.isfinite(told.high)
    for i in (i for group in groups for i in group):
        if bounded[i].any():
            place = (i, int(np.argmax(bounded[i])))
            told.disagree("bounds and `conserve`", place, "Give its sign instead.")
    return groups


def _zero(told: _Told, groups: list[list[int]], dynamics: str) -> tuple[Matrix, Matrix]:
    """Coefficients that count as zero, and those that leave states as they are."""
    n = len(told.targets)
    if dynamics != "map":
        nothing = np.zeros((n, told.library.n_terms))
        return nothing, nothing
    still = identity(told.library, told.states)[:n]
    change = np.array([any(i in g for g in groups) for i in range(n)])
    missing = np.flatnonzero(change & (still.sum(axis=1) == 0))
    if len(missing):
        raise ValueError(
            "`conserve` must be absent for a map whose library lacks the term "
            f"{told.states[missing[0]]!r}. Add the states to the library."
        )
    return np.where(change[:, None], still, 0), still


def _share(
    same: list[list[Place]], told: _Told, zero: Matrix, groups: list[list[int]]
) -> None:
    """What is known of one of several equal coefficients is known of all."""
    flat = [place for places in same for place in places]
    for place in flat:
        if flat.count(place) > 1:
            told.disagree("`equal` twice", place, "Put all that are equal into one.")
        if any(place[0] in group for group in groups):
            told.disagree("`equal` and `conserve`", place, "Keep one of them.")
    for places in same:
        at = tuple(np.transpose(places))
        values = told.values[at] - zero[at]
        given = np.unique(values[~np.isnan(values)])
        if len(given) > 1:
            told.disagree("two values and `equal`", places[0], "Keep one of them.")
        if len(given):
            told.values[at] = zero[at] + given[0]
        if {-1.0, 1.0} <= set(told.signs[at]):
            told.disagree("two signs and `equal`", places[0], "Keep one of them.")
        told.signs[at] = told.signs[at].sum().clip(-1, 1)
        told.low[at] = zero[at] + (told.low[at] - zero[at]).max()
        told.high[at] = zero[at] + (told.high[at] - zero[at]).min()
        told.allowed[at] = told.allowed[at].all()


def _free(told: _Told, zero: Matrix, still: Matrix) -> Knowledge:
    """What is known, as if no coefficients were tied; contradictions are named."""
    given = ~np.isnan(told.values)
    values = np.where(given, told.values, zero)
    low = np.maximum(told.low, np.where(told.signs > 0, zero, -np.inf))
    high = np.minimum(told.high, np.where(told.signs < 0, zero, np.inf))
    open_ = told.allowed & ~given
    must = ~told.allowed & ~given & ((low > zero) | (high < zero))
    for what, where, remedy in (
        (
            "a known coefficient, which `only_edges` rules out,",
            (values != 0) & given & ~told.allowed,
            "Add the edge.",
        ),
        (
            "a known coefficient and another sign",
            (values - zero) * told.signs < 0,
            "Keep one of them.",
        ),
        (
            "a known coefficient outside its bounds",
            given & ((values < told.low) | (values > told.high)),
            "Keep one of them.",
        ),
        ("bounds and signs that leave nothing", low > high, "Change one of them."),
        ("bounds without zero, which `only_edges` rules out,", must, "Add the edge."),
    ):
        if where.any():
            told.disagree(what, np.argwhere(where)[0].tolist(), remedy)
    base = np.where(open_, np.clip(zero, low, high), values)
    return Knowledge(
        base,
        zero,
        open_,
        low=np.where(open_, low - base, 0),
        high=np.where(open_, high - base, 0),
        still=np.where(open_, np.clip(still, low, high) - base, 0),
        ties=None,
    )


class _Amount(NamedTuple):
    """One parameter: the coefficients that it moves, each with a factor; its range."""

    moves: dict[Place, float]
    low: float
    high: float
    still: float = 0.0


def _tied(
    told: _Told, same: list[list[Place]], groups: list[list[int]], free: Knowledge
) -> Knowledge:
    """What is known where coefficients are tied, from what it is if they were not."""
    base, left = free.base.copy(), free.open.copy()
    amounts: list[_Amount] = []

    def add(places: list[Place]) -> None:
        ends = (float(a[places[0]]) for a in (free.low, free.high, free.still))
        amounts.append(_Amount(dict.fromkeys(places, 1.0), *ends))

    for places in same:
        if left[places[0]]:
            add(places)
        left[tuple(np.transpose(places))] = False
    for group in groups:
        for j in range(base.shape[1]):
            rows = [i for i in group if left[i, j]]
            excess = sum(base[i, j] - free.zero[i, j] for i in group)
            if excess != 0 and not rows:
                what = "known coefficients that do not conserve the sum"
                told.disagree(what, (group[0], j), "Change one, or leave one open.")
            if rows:  # what is known of the others, one of these makes up for
                base[rows[0], j] -= excess
            amounts += [_flow(a, b, j, told.signs) for a, b in combinations(rows, 2)]
            left[group, j] = False
    for i, j in np.argwhere(left):
        add([(int(i), int(j))])
    ties = np.zeros((*base.shape, len(amounts)))
    for k, amount in enumerate(amounts):
        for place, factor in amount.moves.items():
            ties[(*place, k)] = factor
    low, high, ahead = (
        np.array([[getattr(amount, name) for amount in amounts]])
        for name in ("low", "high", "still")
    )
    ties = ties.reshape(base.size, -1)
    return Knowledge(base, free.zero, low < high, low, high, ahead, ties)


def _flow(source: int, target: int, term: int, signs: Matrix) -> _Amount:
    """What the one state loses and the other gains by a term."""
    ways = {-signs[source, term], signs[target, term]}
    return _Amount(
        {(source, term): -1.0, (target, term): 1.0},
        low=0.0 if 1.0 in ways else -np.inf,
        high=0.0 if -1.0 in ways else np.inf,
    )
