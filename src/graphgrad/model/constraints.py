"""Constraints on the equations, by names of states and terms."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks import check_choice


class Known(NamedTuple):
    """The coefficient of a term in the equation of a state; made by `known`."""

    target: str
    term: str
    value: float


class Sign(NamedTuple):
    """The sign of a term in the equation of a state; made by `sign`."""

    target: str
    term: str
    sign: str


class OnlyEdges(NamedTuple):
    """The only edges that the graph may have; made by `only_edges`."""

    edges: tuple[tuple[str, str], ...]


class Bounds(NamedTuple):
    """The range of a coefficient; made by `bounds`."""

    target: str
    term: str
    low: float
    high: float


class Conserve(NamedTuple):
    """States whose sum is conserved; made by `conserve`."""

    states: tuple[str, ...]


class Equal(NamedTuple):
    """Equal coefficients, by target and term; made by `equal`."""

    places: tuple[tuple[str, str], ...]


class Symmetric(NamedTuple):
    """Equations that are the same for all units; by `cyclic` or `exchangeable`.

    Attributes:
        pattern: `"cyclic"` or `"exchangeable"`.
        units: The states of each unit, in the same order.
        apart: Coefficients, by target and term, that are free all the same.
    """

    pattern: str
    units: tuple[tuple[str, ...], ...]
    apart: tuple[tuple[str, str], ...] = ()


class Velocity(NamedTuple):
    """A state that is the derivative of another one; made by `velocity`."""

    position: str
    velocity: str


class Delayed(NamedTuple):
    """A variable that is another one a step before: `x1[t-1]`, or an input.

    As a state of a map or a difference its equation is known and without noise: its
    process noise stays as the model has it. `GraphGrad(lags=...)` states it.
    """

    copy: str
    source: str


Constraint = (
    Known
    | Sign
    | OnlyEdges
    | Bounds
    | Conserve
    | Equal
    | Symmetric
    | Velocity
    | Delayed
)


def check_constraint_list(constraints: Any) -> tuple[Constraint, ...]:
    """Return constraints as a tuple, or raise if they are not a list of them.

    Examples:
        >>> check_constraint_list(forbid("x1", "x2"))
        Traceback (most recent call last):
        ...
        ValueError: `constraints` must be a list of constraints, got Known(target='x1',
        term='x2', value=0.0). Put brackets around it: [known("x2", "x1", 0.5)].
    """
    alone = isinstance(constraints, str | Constraint)
    if alone or not isinstance(constraints, Iterable):
        raise ValueError(
            f"`constraints` must be a list of constraints, got {constraints!r:.60}. "
            'Put brackets around it: [known("x2", "x1", 0.5)].'
        )
    made = tuple(constraints)
    for each in made:
        if not isinstance(each, Constraint):
            raise ValueError(
                f"`constraints` must be made by `known`, `forbid` and the like, got "
                f"{each!r:.60}. For instance [known('x2', 'x1', 0.5)]."
            )
        for name in _texts(each):
            if not isinstance(name, str):
                raise ValueError(
                    f"`constraints` must have names of states and terms, got "
                    f"{name!r:.40} in {each!r:.60}. Use text, such as 'x1'."
                )
    return made


def _texts(constraint: Constraint) -> list[Any]:
    """What must be names in a constraint."""
    if isinstance(constraint, OnlyEdges):
        return [name for edge in constraint.edges for name in edge]
    if isinstance(constraint, Equal):
        return [name for place in constraint.places for name in place]
    if isinstance(constraint, Conserve):
        return list(constraint.states)
    if isinstance(constraint, Symmetric):
        pairs = (*constraint.units, *constraint.apart)
        return [name for names in pairs for name in names]
    return list(constraint[:2])


def known(target: str, term: str, value: float) -> Known:
    """Fix the coefficient of a term in the equation of `target`.

    The coefficient is one of the model's dynamics: a rate per unit of time for a flow.

    Examples:
        >>> known("x1", "x2", 0.25)
        Known(target='x1', term='x2', value=0.25)
    """
    value = float(value)
    if not np.isfinite(value):
        raise ValueError(
            f"`value` must be finite, got {value}. Give the coefficient of {term!r}."
        )
    return Known(target, term, value)


def forbid(target: str, term: str) -> Known:
    """Exclude a term from the equation of `target`.

    Examples:
        >>> forbid("x1", "x3^2")
        Known(target='x1', term='x3^2', value=0.0)
    """
    return Known(target, term, 0.0)


def sign(target: str, term: str, sign: str) -> Sign:
    """Fix the sign of a term in the equation of `target`; it may still be absent.

    Args:
        target: The state.
        term: The term.
        sign: `"+"` or `"-"`.

    Examples:
        >>> sign("x1", "x1 x2", "-")
        Sign(target='x1', term='x1 x2', sign='-')
    """
    return Sign(target, term, check_choice("sign", sign, ("+", "-")))


def only_edges(edges: Iterable[tuple[str, str]]) -> OnlyEdges:
    """Allow only the edges (source, target); self-loops are always allowed.

    Examples:
        >>> only_edges([("x1", "x2")])
        OnlyEdges(edges=(('x1', 'x2'),))
    """
    return OnlyEdges(tuple((source, target) for source, target in edges))


def bounds(
    target: str, term: str, low: float = -np.inf, high: float = np.inf
) -> Bounds:
    """Bound the coefficient of a term in the equation of `target`.

    The coefficient is one of the model's dynamics: a rate per unit of time for a flow.
    The term may be absent if zero lies in its range.

    Examples:
        >>> bounds("x1", "x1", 0.0, 1.0)
        Bounds(target='x1', term='x1', low=0.0, high=1.0)
    """
    low, high = float(low), float(high)
    if not low < high:
        raise ValueError(
            f"`low` must be below `high`, got {low:g} and {high:g} for {term!r}. Use "
            "`known` for a single value."
        )
    return Bounds(target, term, low, high)


def conserve(*states: str) -> Conserve:
    """Conserve the sum of these states: their rates sum to zero.

    A term transfers from one of them to another, with one coefficient that is counted
    once. Transfers are changes: for these states of a map, the identity counts as zero.
    Process noise may still change the sum.

    Examples:
        >>> conserve("S", "I", "R")
        Conserve(states=('S', 'I', 'R'))
    """
    if len(set(states)) < 2 or len(set(states)) < len(states):
        raise ValueError(
            "`conserve` must be given two or more different states, got "
            f"{states}. Name the states whose sum is conserved."
        )
    return Conserve(states)


def equal(*places: tuple[str, str]) -> Equal:
    """Tie coefficients, each given by target and term, to one common value.

    Examples:
        >>> equal(("x1", "x2"), ("x2", "x1"))
        Equal(places=(('x1', 'x2'), ('x2', 'x1')))
    """
    if len(set(places)) < 2 or len(set(places)) < len(places):
        raise ValueError(
            "`equal` must be given two or more different pairs of target and term, "
            f"got {places}. Name the coefficients that are equal."
        )
    return Equal(tuple((target, term) for target, term in places))


def cyclic(
    *units: str | Sequence[str], apart: Iterable[tuple[str, str]] = ()
) -> Symmetric:
    """State that the equations are the same for all units of a ring.

    Replacing every state by that of the next unit, and the last by the first, turns the
    equation of a unit into that of the next one.

    Args:
        *units: The states in the order of the ring; or lists of states, all of the same
            length, of units that have several.
        apart: Coefficients, by target and term, that are free all the same.

    Examples:
        >>> cyclic("x1", "x2", "x3").units
        (('x1',), ('x2',), ('x3',))
    """
    return _symmetric("cyclic", units, apart)


def exchangeable(
    *units: str | Sequence[str], apart: Iterable[tuple[str, str]] = ()
) -> Symmetric:
    """State that the equations are the same for all units, in any order.

    Args:
        *units: The states; or lists of states, all of the same length, of units that
            have several.
        apart: Coefficients, by target and term, that are free all the same.

    Examples:
        >>> exchangeable(["v1", "w1"], ["v2", "w2"]).units
        (('v1', 'w1'), ('v2', 'w2'))
    """
    return _symmetric("exchangeable", units, apart)


def _symmetric(pattern: str, units: Sequence[Any], apart: Iterable[Any]) -> Symmetric:
    made = tuple((u,) if isinstance(u, str) else tuple(u) for u in units)
    states = [state for unit in made for state in unit]
    same = len({len(unit) for unit in made}) == 1 and len(set(states)) == len(states)
    if len(made) < 2 or not same or not states:
        raise ValueError(
            f"`{pattern}` must be given two or more units of as many different states, "
            f"got {units!r:.60}. Name the states, or lists of those of each unit."
        )
    return Symmetric(pattern, made, tuple((target, term) for target, term in apart))


def velocity(position: str, velocity: str) -> Velocity:
    """State that `velocity` is the time derivative of `position`, in a flow.

    The velocity may be unobserved. The equation of the position is then known, and
    terms are selected in that of the velocity, as in Newton's equations. `GraphGrad`
    adds the velocity to the states if it is not among them.

    Examples:
        >>> velocity("angle", "speed")
        Velocity(position='angle', velocity='speed')
    """
    if position == velocity:
        raise ValueError(
            f"`velocity` must be another state than `position`, got {position!r} for "
            "both. Give the velocity a different name."
        )
    return Velocity(position, velocity)
