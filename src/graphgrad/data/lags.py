"""Delayed variables: how many steps, and their names."""

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import check_at_least, check_choice
from ..resources import count_monomials

MOST_TERMS = 100
"""Most terms of a library that has products of delayed variables by default."""

REMEDY = "Give a number of steps, or one for each name: {'x1': 2, 'u': 3}."


class Delay(NamedTuple):
    """A variable of the library that is another one some steps before.

    Attributes:
        name: Its name.
        source: The variable without delay.
        steps: By how many steps of dt it is delayed.
    """

    name: str
    source: str
    steps: int


def read_lags(lags: Any, of_all: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Number of delayed values of each variable that has any.

    Args:
        lags: A number, or one for each name.
        of_all: Variables that a single number is for.
        names: Variables that may be named.

    Examples:
        >>> read_lags(2, ["x", "u"], ["x", "h", "u"])
        {'x': 2, 'u': 2}
        >>> read_lags({"u": 3}, ["x", "u"], ["x", "h", "u"])
        {'u': 3}
    """
    if not isinstance(lags, Mapping):
        number = check_at_least("lags", lags, 0, REMEDY)
        return dict.fromkeys(of_all, number) if number else {}
    for name in lags:
        check_choice("lags", name, names)
    each = {name: check_at_least("lags", n, 0, REMEDY) for name, n in lags.items()}
    return {name: number for name, number in each.items() if number}


def count_terms(degree: int, plain: int, delayed: int, seasonal: int = 0) -> int:
    """Number of terms of the default library.

    Args:
        degree: Highest degree.
        plain: Number of variables that are neither delayed nor seasons.
        delayed: Number of delayed variables.
        seasonal: Number of sines and cosines of seasons, which are in no products.

    Examples:
        >>> count_terms(2, 1, 3), count_terms(2, 5, 15)
        (15, 36)
    """
    of_plain = count_monomials(plain, degree)
    if not delayed:
        return of_plain + seasonal
    every = comb(plain + delayed + degree, degree) + seasonal
    return every if every <= MOST_TERMS else of_plain + delayed + seasonal


def check_most(lags: Any, rows: int) -> None:
    """Reject more delayed steps than a quarter of the rows."""
    most = max(lags.values(), default=0) if isinstance(lags, Mapping) else lags
    if check_at_least("lags", most, 0, REMEDY) > rows // 4:
        raise ValueError(
            f"`lags` must be at most {rows // 4}, a quarter of the rows, got {most}. "
            "Give fewer."
        )


def even_steps(times: Sequence[Float[np.ndarray, "_"]], dt: float) -> bool:
    """Whether all rows are whole steps of dt apart.

    Examples:
        >>> even_steps([np.array([0.0, 1.0, 3.0])], 1.0)
        True
    """
    steps = np.concatenate([np.diff(each) for each in times]) / dt
    return bool(np.allclose(steps, np.round(steps), atol=1e-4))


def delays_states(lags: Any, inputs: Sequence[str]) -> bool:
    """Whether states are delayed.

    Examples:
        >>> delays_states(2, ["u"]), delays_states({"u": 3}, ["u"])
        (True, False)
    """
    if not isinstance(lags, Mapping):
        return bool(check_at_least("lags", lags, 0, REMEDY))
    return any(number for name, number in lags.items() if name not in inputs)


def delayed_states(lags: Mapping[str, int], states: Sequence[str]) -> tuple[Delay, ...]:
    """Delayed states, those of one step first.

    Examples:
        >>> [delay.name for delay in delayed_states({"x": 2}, ["x", "y"])]
        ['x[t-1]', 'x[t-2]']
    """
    most = max((lags.get(name, 0) for name in states), default=0)
    return tuple(
        Delay(f"{name}[t-{k}]", name, k)
        for k in range(1, most + 1)
        for name in states
        if lags.get(name, 0) >= k
    )


def delayed_inputs(
    lags: Any, inputs: Sequence[str], dynamics: str, dt: float
) -> tuple[Delay, ...]:
    """Delayed inputs, by their time in the equation of x[t+1], or of dx/dt at t.

    Row t + 1 of the inputs acts from row t to row t + 1.

    Examples:
        >>> [delay.name for delay in delayed_inputs(2, ["u"], "map", 1.0)]
        ['u[t]', 'u[t-1]']
        >>> [delay.name for delay in delayed_inputs({"u": 1}, ["u"], "flow", 0.5)]
        ['u(t - 0.5)']
    """
    names = [*lags] if isinstance(lags, Mapping) else inputs
    steps = read_lags(lags, inputs, names)
    return tuple(
        Delay(_input_name(name, k, dynamics, dt), name, k)
        for name in inputs
        for k in range(1, steps.get(name, 0) + 1)
    )


def _input_name(name: str, k: int, dynamics: str, dt: float) -> str:
    if dynamics == "flow":
        return f"{name}(t - {k * dt:.6g})"
    return f"{name}[t]" if k == 1 else f"{name}[t-{k - 1}]"
