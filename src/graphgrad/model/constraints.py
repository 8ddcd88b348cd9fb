"""What the user knows of the equations, by names."""

from collections.abc import Iterable
from typing import NamedTuple

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
    """All that may act on one another; made by `only_edges`."""

    edges: tuple[tuple[str, str], ...]


class Bounds(NamedTuple):
    """The range of a coefficient; made by `bounds`."""

    target: str
    term: str
    low: float
    high: float


class Conserve(NamedTuple):
    """States whose sum the map leaves as it is; made by `conserve`."""

    states: tuple[str, ...]


class Equal(NamedTuple):
    """Coefficients that are the same, by target and term; made by `equal`."""

    places: tuple[tuple[str, str], ...]


class Velocity(NamedTuple):
    """A state that is the derivative of another one; made by `velocity`."""

    position: str
    velocity: str


Constraint = Known | Sign | OnlyEdges | Bounds | Conserve | Equal | Velocity


def known(target: str, term: str, value: float) -> Known:
    """This term has this coefficient in the equation of `target`.

    The coefficient is that of the dynamics: a rate for a flow, in units per time.

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
    """This term does not appear in the equation of `target`.

    Examples:
        >>> forbid("x1", "x3^2")
        Known(target='x1', term='x3^2', value=0.0)
    """
    return Known(target, term, 0.0)


def sign(target: str, term: str, sign: str) -> Sign:
    """If this term appears in the equation of `target`, it is with this sign.

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
    """Only the first state of a pair may act on the second one; each on itself may.

    Examples:
        >>> only_edges([("x1", "x2")])
        OnlyEdges(edges=(('x1', 'x2'),))
    """
    return OnlyEdges(tuple((source, target) for source, target in edges))


def bounds(
    target: str, term: str, low: float = -np.inf, high: float = np.inf
) -> Bounds:
    """This term's coefficient in the equation of `target` is in this range.

    The coefficient is that of the dynamics: a rate for a flow, in units per time. A
    term may be left out where zero is in its range.

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
    """The sum of these states stays as it is: their rates sum to zero.

    What one of them loses the others gain: a term stands for an exchange between two of
    them, with one coefficient, and counts as one. Exchanges are changes, so that for
    these states of a map staying as they are counts as zero. Noise may still change the
    sum.

    Examples:
        >>> conserve("S", "I", "R")
        Conserve(states=('S', 'I', 'R'))
    """
    if len(set(states)) < 2 or len(set(states)) < len(states):
        raise ValueError(
            "`conserve` must be given two or more different states, got "
            f"{states}. Name the states whose sum stays."
        )
    return Conserve(states)


def equal(*places: tuple[str, str]) -> Equal:
    """These coefficients, each given by target and term, are the same.

    Examples:
        >>> equal(("x1", "x2"), ("x2", "x1"))
        Equal(places=(('x1', 'x2'), ('x2', 'x1')))
    """
    if len(set(places)) < 2 or len(set(places)) < len(places):
        raise ValueError(
            "`equal` must be given two or more different pairs of target and term, "
            f"got {places}. Name the coefficients that are the same."
        )
    return Equal(tuple((target, term) for target, term in places))


def velocity(position: str, velocity: str) -> Velocity:
    """The second state is the derivative of the first one, and need not be seen.

    For a flow. The equation of the position is then known, and terms are looked for in
    that of the velocity, as in Newton's equations. `GraphGrad` adds the velocity to the
    states if it is not among them.

    Examples:
        >>> velocity("angle", "speed")
        Velocity(position='angle', velocity='speed')
    """
    if position == velocity:
        raise ValueError(
            f"`velocity` must be another state than `position`, got {position!r} for "
            "both. Give the velocity a name of its own."
        )
    return Velocity(position, velocity)
