"""Constraints as arrays, and what was stated of each coefficient."""

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from jaxtyping import Bool, Float, Int

from ..checks import check_choice
from ..library import AbstractLibrary
from .constraints import (
    Bounds,
    Delayed,
    Known,
    OnlyEdges,
    Sign,
    Velocity,
)

Place = tuple[int, int]
Matrix = Float[np.ndarray, "Nx M"]


class ConstraintSet(NamedTuple):
    """Constraints as arrays.

    Parameters are departures of the coefficients from `base`: one for each coefficient,
    `(Nx, M)`, or, where some are tied, one row `(1, P)`.

    Attributes:
        base: Coefficients that are known; where the free ones start from.
        zero: Coefficients that count as zero: none, or the identity.
        free: Which parameters are to be found.
        low: Their lowest values, zero or less.
        high: Their highest values, zero or more.
        identity: Parameters of a map that leaves states as they are, as far as it can.
        linear_map: From the parameters to the coefficients, row by row; None where no
            linear constraint ties any.
        sources: For each state that is another one a step before, the index of that
            one; -1 for other states.
    """

    base: Float[np.ndarray, "Nx M"]
    zero: Float[np.ndarray, "Nx M"]
    free: Bool[np.ndarray, "R K"]
    low: Float[np.ndarray, "R K"]
    high: Float[np.ndarray, "R K"]
    identity: Float[np.ndarray, "R K"]
    linear_map: Float[np.ndarray, "n P"] | None
    sources: Int[np.ndarray, "Nx"]


class StatedConstraints:
    """What has been stated of each coefficient, by target and term."""

    def __init__(
        self,
        library: AbstractLibrary,
        states: tuple[str, ...],
        n: int,
        origin: np.ndarray,
    ):
        self.library, self.states, self.targets = library, states, states[:n]
        self.origin = origin
        shape = (n, library.n_terms)
        self.values = np.full(shape, np.nan)
        self.allowed = np.ones(shape, bool)
        self.signs = np.zeros(shape)
        self.low, self.high = np.full(shape, -np.inf), np.full(shape, np.inf)
        self.sources = np.full(n, -1)
        self.delayed: list[tuple[int, int]] = []

    def place(self, target: str, term: str) -> tuple[int, int]:
        check_choice("target", target, self.targets)
        return self.states.index(target), self.library.index(term, self.states)

    def disagree(self, what: str, place: Sequence[int], remedy: str) -> NoReturn:
        term = self.library.names(self.states)[place[1]]
        raise ValueError(
            f"`constraints` must agree, got {what} for {term!r} in the equation of "
            f"{self.states[place[0]]!r}. {remedy}"
        )

    def delay(self, constraint: Delayed, dynamics: str) -> None:
        """A variable is another one a step before; as a state by a known equation."""
        place = self.states.index(constraint.copy)
        source = self.states.index(constraint.source)
        self.delayed.append((place, source))
        if place >= len(self.targets):
            return
        if dynamics == "flow":
            raise ValueError(
                f"`dynamics` must be 'map' or 'difference' for {constraint.copy!r}, a "
                "state a step before, got 'flow'. Use `dynamics='map'`, or delay only "
                "inputs."
            )
        self.sources[place] = source
        row = np.zeros(self.library.n_terms)
        row[self.library.index(constraint.source, self.states)] = 1.0
        if dynamics == "difference":
            row[self.library.index(constraint.copy, self.states)] = -1.0
        else:
            row[~np.any(self.library.incidence, axis=0)] = self.origin[source]
        for j, value in enumerate(row.tolist()):
            self.know((place, j), value)

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
            for place, source in self.delayed:  # sources come before their copies
                acts[:, place] |= acts[:, source]
            acts[self.sources >= 0] = True
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
