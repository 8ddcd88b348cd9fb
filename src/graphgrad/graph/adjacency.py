"""The adjacency matrix: which state acts on which (Sec. III-B)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import check_shape


def adjacency(
    coefficients: Any, incidence: Any, *, zero_threshold: float = 0.0
) -> np.ndarray:
    """A = 1[abs(C) D' != 0]: which state acts on which (Sec. III-B).

    Args:
        coefficients: C of shape `(Nx, M)`.
        incidence: D, or any `(Nx, M)` array that is nonzero where a state enters a
            term: `library.incidence`. Rows beyond those of C are inputs.
        zero_threshold: Coefficients below this size count as zero. The paper uses 1e-6
            (Sec. V-A) where estimates are not exactly sparse.

    Returns:
        Booleans of shape `(Nx, Nx)`, or `(Nx, Nx + Nu)` with inputs; `[a, b]` is true
        where b acts on a.

    Examples:
        >>> import graphgrad as gg
        >>> D = gg.degree_matrix(n_states=2, degree=2)
        >>> C = [[0, 0.9, 0, 0, 0.1, 0],   # x1 <- 0.9 x1 + 0.1 x1 x2
        ...      [1, 0, 0.5, 0, 0, 0]]     # x2 <- 1 + 0.5 x2
        >>> adjacency(C, D).astype(int)
        array([[1, 1],
               [0, 1]])
    """
    kept, enters = present(coefficients, incidence, zero_threshold)
    return kept.astype(int) @ enters.T.astype(int) > 0


def term_graphs(
    coefficients: Any, incidence: Any, *, zero_threshold: float = 0.0
) -> dict[int, np.ndarray]:
    """The graphs G_j of single terms, abs(C_j) D_j' (Sec. III-B).

    Their union is the graph of `adjacency`. Most of the M graphs of a sparse C are
    empty; only nonempty ones are returned.

    Args:
        coefficients: C of shape `(Nx, M)`.
        incidence: D, as for `adjacency`.
        zero_threshold: Coefficients below this size count as zero.

    Returns:
        Maps the index j of a term to the `(Nx, Nx)` weights of its graph.

    Examples:
        >>> import graphgrad as gg
        >>> D = gg.degree_matrix(n_states=2, degree=2)
        >>> graphs = term_graphs([[0, 0.9, 0, 0, 0.1, 0], [1, 0, 0.5, 0, 0, 0]], D)
        >>> list(graphs)  # x1, x2 and x1 x2; the constant draws no edge
        [1, 2, 4]
        >>> graphs[4]
        array([[0.1, 0.1],
               [0. , 0. ]])
    """
    kept, enters = present(coefficients, incidence, zero_threshold)
    sizes = np.where(kept, np.abs(np.asarray(coefficients, dtype=float)), 0.0)
    degrees = np.asarray(incidence)
    return {
        int(j): np.outer(sizes[:, j], degrees[:, j])
        for j in np.flatnonzero(kept.any(axis=0) & enters.any(axis=0))
    }


def influence_ranking(
    adjacency: np.ndarray, states: Sequence[str]
) -> list[tuple[str, int]]:
    """States by the number of other states they act on, in descending order.

    Examples:
        >>> influence_ranking(np.array([[1, 1, 0], [1, 1, 1], [1, 1, 1]]), "abc")
        [('a', 2), ('b', 2), ('c', 1)]
    """
    others = _square(adjacency, states) & ~np.eye(len(states), dtype=bool)
    counts = zip(states, others.sum(axis=0).tolist(), strict=True)
    return sorted(counts, key=lambda pair: -pair[1])


def subsystems(
    adjacency: np.ndarray, states: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Groups of states that do not interact with one another, in order of the states.

    They can be filtered in parallel if the observations separate as well.

    Examples:
        >>> subsystems(np.array([[1, 0, 1], [0, 1, 0], [0, 0, 1]]), "abc")
        (('a', 'c'), ('b',))
    """
    reach = _square(adjacency, states)
    reach = reach | reach.T | np.eye(len(states), dtype=bool)
    # Squaring doubles the length of the walks covered, up to Nx.
    for _ in range(len(states).bit_length()):
        reach = reach.astype(int) @ reach.astype(int) > 0
    groups = dict.fromkeys(tuple(np.flatnonzero(row).tolist()) for row in reach)
    return tuple(tuple(states[i] for i in group) for group in groups)


def adjacency_table(adjacency: np.ndarray, states: Sequence[str]) -> str:
    """The adjacency as text: a row shows which states act on its state.

    Examples:
        >>> print(adjacency_table(np.array([[1, 1], [0, 1]]), ["prey", "predator"]))
                  prey  predator
        prey         1         1
        predator     .         1
    """
    marks = np.where(_square(adjacency, states), "1", ".")
    margin = max(map(len, states))
    header = " " * margin + "".join(f"  {state}" for state in states)
    rows = [
        f"{state:<{margin}}"
        + "".join(f"  {mark:>{len(s)}}" for mark, s in zip(row, states, strict=True))
        for state, row in zip(states, marks, strict=True)
    ]
    return "\n".join([header, *rows])


def present(
    coefficients: Any,
    incidence: Any,
    zero_threshold: float,
    *,
    name: str = "coefficients",
) -> tuple[np.ndarray, np.ndarray]:
    """Which terms are nonzero in which equation, and which states enter which term."""
    sizes = np.abs(np.asarray(coefficients, dtype=float))
    enters = np.asarray(incidence) != 0
    fits = sizes.ndim == 2 and 1 <= len(sizes) <= len(enters)
    check_shape(
        name,
        sizes.shape,
        (len(sizes), *enters.shape[1:]) if fits else enters.shape,
        "Give one row per state, one column per term.",
    )
    # NaN is neither zero nor below the threshold: a failed estimate hides no edge.
    return (sizes != 0) & ~(sizes < zero_threshold), enters


def _square(adjacency: Any, states: Sequence[str]) -> np.ndarray:
    array = np.asarray(adjacency) != 0
    n = len(states)
    check_shape("adjacency", array.shape, (n, n), f"There are {n} names of states.")
    return array
