"""Symmetric equations: which coefficients a permutation of units makes equal.

A unit is one state, or several. In a ring, every unit is to the next what that is to
the one after it; of exchangeable units, each is to any other the same.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..library import AbstractLibrary
from .constraints import Symmetric


def orbits(
    symmetry: Symmetric,
    library: AbstractLibrary,
    variables: Sequence[str],
    n_states: int,
) -> Int[np.ndarray, "Nx M"] | None:
    """The number of the orbit of each coefficient: those of an orbit are equal.

    Args:
        symmetry: The units, and how they are permuted.
        library: The terms, about zero.
        variables: Names of the states and then the inputs.
        n_states: Number of states.

    Returns:
        None if the permuted terms are not all in the library.

    Examples:
        >>> import graphgrad as gg
        >>> ring = gg.cyclic("x1", "x2", "x3")
        >>> orbits(ring, gg.Polynomial(3, 1), ("x1", "x2", "x3"), 3).tolist()
        [[0, 1, 2, 3], [0, 3, 1, 2], [0, 2, 3, 1]]
        >>> alike = gg.exchangeable("x1", "x2", "x3")
        >>> orbits(alike, gg.Polynomial(3, 1), ("x1", "x2", "x3"), 3).tolist()
        [[0, 1, 2, 2], [0, 2, 1, 2], [0, 2, 2, 1]]
    """
    size = n_states * library.n_terms
    numbers = np.arange(size).reshape(n_states, -1)
    images = []
    for moved in _generators(symmetry, variables):
        terms = _moved_terms(library, moved)
        if terms is None:
            return None
        images.append(numbers[np.ix_(moved[:n_states], terms)].ravel())
    places = np.tile(numbers.ravel(), len(images))
    edges = np.ones(len(places)), (places, np.concatenate(images))
    _, found = connected_components(coo_array(edges, shape=(size, size)))
    return found.reshape(numbers.shape)


def _generators(
    symmetry: Symmetric, variables: Sequence[str]
) -> list[Int[np.ndarray, "Nv"]]:
    """Where variables go in the permutations that make all others."""
    units = np.array([[variables.index(x) for x in unit] for unit in symmetry.units])
    shift, swap = (np.arange(len(variables)) for _ in range(2))
    shift[units] = np.roll(units, -1, axis=0)
    if symmetry.pattern == "cyclic":
        return [shift]
    swap[units[:2]] = units[1::-1]
    return [shift, swap]


def _moved_terms(
    library: AbstractLibrary, moved: Int[np.ndarray, "Nv"]
) -> Int[np.ndarray, "M"] | None:
    """The column of each term in which variables are replaced by others."""
    variables = [f"<{i}>" for i in range(len(moved))]
    before = _keys(library, library.powers, variables)
    powers = np.empty_like(library.powers)
    powers[moved] = library.powers
    after = _keys(library, powers, [variables[i] for i in moved])
    columns = {key: j for j, key in enumerate(before)}
    # Names that do not follow the variables tell nothing of them.
    others = np.arange(len(moved)) != moved
    touched = (library.incidence[others] != 0).any(axis=0)
    named = np.isnan(library.powers).any(axis=0) & touched
    fixed = any(before[j] == after[j] for j in np.flatnonzero(named))
    if fixed or not all(key in columns for key in after):
        return None
    return np.array([columns[key] for key in after])


def _keys(
    library: AbstractLibrary, powers: np.ndarray, variables: list[str]
) -> list[object]:
    """What tells a term from others: powers of a monomial, the name of another one."""
    return [
        name if np.isnan(column).any() else tuple(column.tolist())
        for column, name in zip(powers.T, library.names(variables), strict=True)
    ]
