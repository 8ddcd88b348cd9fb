"""The degree matrix and the names of its monomials: Sec. III-A, Alg. 3."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import chain, combinations_with_replacement

import numpy as np

from ..checks import check_at_least
from ..resources import count_monomials


def degree_matrix(n_states: int, degree: int) -> np.ndarray:
    """Powers of each state in each monomial up to a degree: Alg. 3.

    Columns are ordered by degree and, within a degree, lexicographically.

    Args:
        n_states: Number of states, Nx.
        degree: Highest degree, d.

    Returns:
        Integers of shape `(n_states, M)`; entry `[i, j]` is the power of state i in
        monomial j.

    Examples:
        >>> degree_matrix(n_states=3, degree=2)
        array([[0, 1, 0, 0, 2, 1, 1, 0, 0, 0],
               [0, 0, 1, 0, 0, 1, 0, 2, 1, 0],
               [0, 0, 0, 1, 0, 0, 1, 0, 1, 2]])
    """
    n_states = check_at_least("n_states", n_states, 1, "It is the number of states.")
    degree = check_at_least("degree", degree, 1, "Most systems are of degree 2 or 3.")
    count_monomials(n_states, degree)
    return _degree_matrix(n_states, degree).copy()


@cache
def _degree_matrix(n_states: int, degree: int) -> np.ndarray:
    # Alg. 3, line 3: all combinations with replacement, degree by degree.
    factors = list(
        chain.from_iterable(
            combinations_with_replacement(range(n_states), d) for d in range(degree + 1)
        )
    )
    # Alg. 3, line 4: count how often each state occurs in each.
    degrees = np.zeros((n_states, len(factors)), dtype=int)
    for j, states in enumerate(factors):
        np.add.at(degrees[:, j], list(states), 1)
    return degrees


def monomial_names(
    degrees: np.ndarray, states: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Names such as `1`, `x1`, `x1^2`, `x1 x2`, `x1^(1/2)` for the columns of D.

    Examples:
        >>> monomial_names(degree_matrix(2, 2))
        ('1', 'x1', 'x2', 'x1^2', 'x1 x2', 'x2^2')
    """
    states = default_states(len(degrees)) if states is None else states
    return tuple(_name(column, states) for column in degrees.T)


def default_states(n_states: int) -> tuple[str, ...]:
    """Default names of the states: x1, x2, ...."""
    return tuple(f"x{i + 1}" for i in range(n_states))


def variable_names(
    n_variables: int, n_states: int, names: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Names of the states and then of the inputs, checked if given.

    Args:
        n_variables: Number of states and inputs together: `library.n_states`.
        n_states: How many of them are states: rows of C.
        names: Names; x1, x2, ... and u1, u2, ... if not given.

    Examples:
        >>> variable_names(3, 2)
        ('x1', 'x2', 'u1')
    """
    if names is None:
        inputs = (f"u{i + 1}" for i in range(n_variables - n_states))
        return (*default_states(n_states), *inputs)
    names = tuple(names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if len(names) != n_variables or twice:
        fault = f"{twice[0]!r} twice" if twice else f"{len(names)}"
        raise ValueError(
            f"`states` must be {n_variables} different names, got {fault}. Name the "
            "states and then the inputs."
        )
    return names


def _name(powers: np.ndarray, states: Sequence[str]) -> str:
    parts = []
    for state, power in zip(states, powers.tolist(), strict=True):
        if power == 0:
            continue
        exact = Fraction(power).limit_denominator(1000)
        if exact == 1:
            parts.append(state)
        elif exact.denominator == 1 and exact != 0:
            parts.append(f"{state}^{exact}")
        elif exact != 0:
            parts.append(f"{state}^({exact})")
    return " ".join(parts) or "1"
