"""The graph of Sec. III-B, against hand-drawn ones."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphgrad as gg
from graphgrad import graph, systems


def test_lorenz63_is_the_graph_of_the_paper():
    system = systems.lorenz63()
    A = graph.adjacency(system.coefficients(3), system.degrees(3))
    np.testing.assert_array_equal(A, [[1, 1, 0], [1, 1, 1], [1, 1, 1]])
    assert A.dtype == bool
    drawn = graph.to_networkx(system.coefficients(), system.library())
    assert set(drawn.nodes) == {"x1", "x2", "x3"}
    assert drawn.edges["x3", "x2"]["terms"] == ("x1 x3",)
    assert drawn.edges["x1", "x2"]["terms"] == ("x1", "x1 x3")
    assert ("x3", "x1") not in drawn.edges
    np.testing.assert_array_equal(nx.to_numpy_array(drawn).T, A)


@given(st.integers(0, 10_000))
def test_adjacency_is_the_union_of_the_term_graphs(seed):
    rng = np.random.default_rng(seed)
    D = gg.degree_matrix(n_states=4, degree=2)
    C = rng.normal(size=D.shape) * (rng.random(D.shape) < 0.1)
    graphs = graph.term_graphs(C, D)
    A = graph.adjacency(C, D)
    np.testing.assert_array_equal(A, np.abs(C) @ D.T != 0)
    np.testing.assert_array_equal(A, sum(graphs.values(), np.zeros((4, 4))) != 0)
    for j, weights in graphs.items():
        np.testing.assert_array_equal(weights, np.outer(np.abs(C[:, j]), D[:, j]))
    empty = set(range(D.shape[1])) - set(graphs)
    assert all(not np.outer(C[:, j], D[:, j]).any() for j in empty)


def test_small_coefficients_count_when_asked():
    D = gg.degree_matrix(n_states=2, degree=1)
    C = [[0, 1, 9e-7], [0, 1e-6, 1]]
    np.testing.assert_array_equal(graph.adjacency(C, D), [[1, 1], [1, 1]])
    by_paper = graph.adjacency(C, D, zero_threshold=1e-6)
    np.testing.assert_array_equal(by_paper, [[1, 0], [1, 1]])
    assert list(graph.term_graphs(C, D, zero_threshold=1e-6)[2][0]) == [0, 0]
    edges = graph.to_networkx(C, gg.Polynomial(2, 1), zero_threshold=1e-6).edges
    assert set(edges) == {("x1", "x1"), ("x1", "x2"), ("x2", "x2")}
    # A failed estimate hides no edge.
    assert graph.adjacency([[0, np.nan, 0], [0, 0, 0]], D)[0, 0]


def test_terms_that_are_no_monomials_draw_edges():
    library = gg.Polynomial(3, 1) + gg.trigonometric_terms(3, of="differences")
    C = np.zeros((3, library.n_terms))
    C[0, library.index("sin(x1 - x3)")] = -0.1
    names = ["a", "b", "c"]
    drawn = graph.to_networkx(C, library, names)
    assert set(drawn.edges) == {("a", "a"), ("c", "a")}
    assert drawn.edges["c", "a"]["terms"] == ("sin(a - c)",)
    assert set(drawn.nodes) == set(names)


def test_influence_counts_the_others():
    A = [[1, 0, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]]
    assert graph.influence_ranking(np.array(A), ["a", "b", "c", "d"]) == [
        ("d", 3),
        ("a", 1),
        ("b", 0),
        ("c", 0),
    ]


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_subsystems_are_the_weak_components(seed, n):
    A = np.random.default_rng(seed).random((n, n)) < 0.8 / n
    states = [f"x{i + 1}" for i in range(n)]
    found = graph.subsystems(A, states)
    drawn = nx.from_numpy_array(A.T, create_using=nx.DiGraph)
    components = nx.weakly_connected_components(drawn)
    assert set(map(frozenset, found)) == {
        frozenset(states[i] for i in component) for component in components
    }


def test_a_chain_is_one_subsystem():
    # The longest path that squaring has to bridge.
    states = [f"x{i}" for i in range(17)]
    assert graph.subsystems(np.eye(17, k=1), states) == (tuple(states),)


def test_graphml_reads_back(tmp_path):
    system = systems.lotka_volterra()
    drawn = graph.to_networkx(system.coefficients(), system.library(), system.states)
    path = tmp_path / "graph.graphml"
    graph.save_graphml(drawn, path)
    read = nx.read_graphml(path)
    assert isinstance(read, nx.DiGraph)
    assert set(read.edges) == set(drawn.edges)
    assert read.edges["predator", "prey"]["terms"] == "prey predator"
    assert read.edges["prey", "prey"]["terms"] == "prey; prey predator"
    # The graph itself keeps its names apart.
    assert drawn.edges["prey", "prey"]["terms"] == ("prey", "prey predator")


def test_wrong_shapes_are_refused():
    D = gg.degree_matrix(n_states=2, degree=1)
    with pytest.raises(ValueError, match=r"`coefficients` must have shape \(2, 3\)"):
        graph.adjacency(np.zeros((2, 6)), D)
    with pytest.raises(ValueError, match=r"`adjacency` must have shape \(3, 3\)"):
        graph.subsystems(np.eye(2), ["a", "b", "c"])
