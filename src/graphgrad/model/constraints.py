"""What the user knows of the equations, by names."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..checks import check_choice
from ..library import AbstractLibrary
from ..library.degrees import default_states


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


class Knowledge(NamedTuple):
    """Constraints as arrays.

    Attributes:
        values: Coefficients that are known, zeros elsewhere.
        open: Which coefficients are to be found.
        signs: 1 or -1 where the sign is known, else 0.
    """

    values: Float[np.ndarray, "Nx M"]
    open: Bool[np.ndarray, "Nx M"]
    signs: Float[np.ndarray, "Nx M"]


def known(target: str, term: str, value: float) -> Known:
    """This term has this coefficient in the equation of `target`.

    The coefficient is that of the map x_t = C phi(x_{t-1}), whatever the form.

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

    In rate form the sign is that of the rate.

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


def knowledge(
    constraints: Iterable[Known | OnlyEdges | Sign],
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    n_inputs: int = 0,
) -> Knowledge:
    """All constraints together, checked for contradictions.

    Args:
        constraints: Made by `known`, `forbid`, `sign` and `only_edges`.
        library: The terms.
        states: Names of the states and then the inputs; x1, x2, ... and u1, u2, ... if
            not given.
        n_inputs: Number of the library's variables, the last ones, that are inputs.

    Examples:
        >>> import graphgrad as gg
        >>> told = knowledge([known("x2", "x1", 0.5)], gg.Polynomial(2, 1))
        >>> told.values.tolist(), told.open.tolist()
        ([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0]], [[True, True, True], [True, False, True]])
    """
    n_states = library.n_states - n_inputs
    if states is None:
        inputs = (f"u{i + 1}" for i in range(n_inputs))
        states = (*default_states(n_states), *inputs)
    states = tuple(states)
    targets, shape = states[:n_states], (n_states, library.n_terms)
    values, told = np.zeros(shape), np.full(shape, np.nan)
    allowed, signs = np.ones(shape, bool), np.zeros(shape)
    for constraint in constraints:
        if isinstance(constraint, OnlyEdges):
            acts = np.eye(n_states, len(states), dtype=bool)  # [target, source]
            for source, target in constraint.edges:
                check_choice("only_edges", source, states)
                check_choice("only_edges", target, targets)
                acts[states.index(target), states.index(source)] = True
            # A term may appear if all states in it may act.
            allowed &= (~acts).astype(int) @ (library.incidence != 0) == 0
            continue
        check_choice("target", constraint.target, targets)
        place = (
            states.index(constraint.target),
            library.index(constraint.term, states),
        )
        if isinstance(constraint, Sign):
            way = 1.0 if constraint.sign == "+" else -1.0
            if signs[place] == -way:
                raise ValueError(
                    "`constraints` must agree, got both signs for "
                    f"{constraint.term!r} in the equation of {constraint.target!r}. "
                    "Keep one of them, or forbid the term."
                )
            signs[place] = way
            continue
        if not np.isnan(told[place]) and told[place] != constraint.value:
            raise ValueError(
                "`constraints` must agree, got "
                f"{told[place]:g} and {constraint.value:g} for {constraint.term!r} in "
                f"the equation of {constraint.target!r}. Keep one of them."
            )
        told[place] = values[place] = constraint.value
    against = np.argwhere(values * signs < 0)
    if len(against):
        i, j = against[0]
        raise ValueError(
            "`constraints` must agree, got a known coefficient of "
            f"{values[i, j]:g} and another sign for {library.names(states)[j]!r} in "
            f"the equation of {states[i]!r}. Keep one of them."
        )
    against = np.argwhere((values != 0) & ~allowed)
    if len(against):
        i, j = against[0]
        raise ValueError(
            "`constraints` must agree, got a known coefficient for "
            f"{library.names(states)[j]!r} in the equation of {states[i]!r}, which "
            "`only_edges` rules out. Add the edge."
        )
    return Knowledge(values, allowed & np.isnan(told), signs)
