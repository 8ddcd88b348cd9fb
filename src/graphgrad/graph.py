"""The graph that coefficients draw among the states: Sec. III-B.

An edge goes from b to a where b acts on a, that is where `adjacency[a, b]` is true.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .checks import check_shape
from .library import AbstractLibrary
from .library.degrees import default_states

if TYPE_CHECKING:
    import networkx as nx


def adjacency(
    coefficients: Any, incidence: Any, *, zero_threshold: float = 0.0
) -> np.ndarray:
    """A = 1[abs(C) D' != 0]: which state acts on which (Sec. III-B).

    Args:
        coefficients: C of shape `(Nx, M)`.
        incidence: D, or any `(Nx, M)` array that is nonzero where a state enters a
            term: `library.incidence`.
        zero_threshold: Coefficients below this size count as zero. The paper uses 1e-6
            (Sec. V-A) where estimates are not exactly sparse.

    Returns:
        Truth values of shape `(Nx, Nx)`; `[a, b]` says that b acts on a.

    Examples:
        >>> import graphgrad as gg
        >>> D = gg.degree_matrix(n_states=2, degree=2)
        >>> C = [[0, 0.9, 0, 0, 0.1, 0],   # x1 <- 0.9 x1 + 0.1 x1 x2
        ...      [1, 0, 0.5, 0, 0, 0]]     # x2 <- 1 + 0.5 x2
        >>> adjacency(C, D).astype(int)
        array([[1, 1],
               [0, 1]])
    """
    present, enters = _present(coefficients, incidence, zero_threshold)
    return present.astype(int) @ enters.T.astype(int) > 0


def term_graphs(
    coefficients: Any, incidence: Any, *, zero_threshold: float = 0.0
) -> dict[int, np.ndarray]:
    """The graphs G_j of single terms, abs(C_j) D_j' (Sec. III-B).

    Their union is the graph of `adjacency`. Most of the M graphs of a sparse C are
    empty; only the others are returned.

    Args:
        coefficients: C of shape `(Nx, M)`.
        incidence: D, as for `adjacency`.
        zero_threshold: Coefficients below this size count as zero.

    Returns:
        From the number j of a term to the `(Nx, Nx)` weights of its graph.

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
    present, enters = _present(coefficients, incidence, zero_threshold)
    sizes = np.where(present, np.abs(np.asarray(coefficients, dtype=float)), 0.0)
    degrees = np.asarray(incidence)
    return {
        int(j): np.outer(sizes[:, j], degrees[:, j])
        for j in np.flatnonzero(present.any(axis=0) & enters.any(axis=0))
    }


def influence_ranking(
    adjacency: np.ndarray, states: Sequence[str]
) -> list[tuple[str, int]]:
    """States by the number of other states they act on, the most influential first.

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
    """Groups of states that do not interact with one another, in the states' order.

    They can be filtered in parallel where the observations separate as well.

    Examples:
        >>> subsystems(np.array([[1, 0, 1], [0, 1, 0], [0, 0, 1]]), "abc")
        (('a', 'c'), ('b',))
    """
    reach = _square(adjacency, states)
    reach = reach | reach.T | np.eye(len(states), dtype=bool)
    # Squaring doubles the length of the paths seen, up to Nx.
    for _ in range(len(states).bit_length()):
        reach = reach.astype(int) @ reach.astype(int) > 0
    groups = dict.fromkeys(tuple(np.flatnonzero(row).tolist()) for row in reach)
    return tuple(tuple(states[i] for i in group) for group in groups)


def adjacency_table(adjacency: np.ndarray, states: Sequence[str]) -> str:
    """The adjacency as text: a row says by which states its state is acted on.

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


def to_networkx(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    zero_threshold: float = 0.0,
) -> "nx.DiGraph":
    """The graph with states as nodes; an edge's `terms` name what carries it.

    Args:
        coefficients: C of shape `(Nx, M)`.
        library: The terms.
        states: Names of the states; x1, x2, ... if not given.
        zero_threshold: Coefficients below this size count as zero.

    Examples:
        >>> import graphgrad as gg
        >>> library = gg.Polynomial(n_states=2, degree=2)
        >>> graph = to_networkx([[0, 0.9, 0, 0, 0.1, 0], [1, 0, 0.5, 0, 0, 0]], library)
        >>> graph.edges["x2", "x1"]["terms"]
        ('x1 x2',)
    """
    import networkx as nx

    present, enters = _present(coefficients, library.incidence, zero_threshold)
    if states is None:
        states = default_states(library.n_states)
    _square(np.eye(library.n_states), states)
    names = library.names(states)
    graph = nx.DiGraph()
    graph.add_nodes_from(states)
    for target, row in zip(states, present, strict=True):
        for source, terms in zip(states, enters & row, strict=True):
            if terms.any():
                carried = tuple(names[j] for j in np.flatnonzero(terms))
                graph.add_edge(source, target, terms=carried)
    return graph


def save_graphml(graph: "nx.DiGraph", path: str | Path) -> None:
    """Write a graph as GraphML; each edge's `terms` become one text with semicolons.

    Examples:
        >>> import networkx as nx, tempfile, os
        >>> graph = nx.DiGraph()
        >>> graph.add_edge("x2", "x1", terms=("x2", "x1 x2"))
        >>> path = os.path.join(tempfile.mkdtemp(), "graph.graphml")
        >>> save_graphml(graph, path)
        >>> nx.read_graphml(path).edges["x2", "x1"]["terms"]
        'x2; x1 x2'
    """
    import networkx as nx

    # GraphML has no lists.
    plain = graph.copy()
    for _, _, data in plain.edges(data=True):
        data["terms"] = "; ".join(data["terms"])
    nx.write_graphml(plain, path)


def _present(
    coefficients: Any, incidence: Any, zero_threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """Which terms are present in which equation, and which states enter which term."""
    sizes = np.abs(np.asarray(coefficients, dtype=float))
    enters = np.asarray(incidence) != 0
    check_shape(
        "coefficients",
        sizes.shape,
        enters.shape,
        "Give one row a state, one column a term.",
    )
    # NaN is neither zero nor below the threshold: a failed estimate hides no edge.
    return (sizes != 0) & ~(sizes < zero_threshold), enters


def _square(adjacency: Any, states: Sequence[str]) -> np.ndarray:
    array = np.asarray(adjacency) != 0
    n = len(states)
    check_shape("adjacency", array.shape, (n, n), f"There are {n} names of states.")
    return array
