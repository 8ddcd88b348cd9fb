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
    A = graph.adjacency(system.coefficients(3, dynamics="map"), system.degrees(3))
    np.testing.assert_array_equal(A, [[1, 1, 0], [1, 1, 1], [1, 1, 1]])
    assert A.dtype == bool
    drawn = graph.to_networkx(system.coefficients(dynamics="map"), system.library())
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
    drawn = graph.to_networkx(
        system.coefficients(dynamics="map"), system.library(), system.states
    )
    path = tmp_path / "graph.graphml"
    graph.save_graphml(drawn, path)
    read = nx.read_graphml(path)
    assert isinstance(read, nx.DiGraph)
    assert set(read.edges) == set(drawn.edges)
    assert read.edges["predator", "prey"]["terms"] == "prey predator"
    assert read.edges["prey", "prey"]["terms"] == "prey; prey predator"
    assert read.edges["predator", "prey"]["coefficients"] == str(
        drawn.edges["predator", "prey"]["coefficients"][0]
    )
    # The graph itself keeps its names apart.
    assert drawn.edges["prey", "prey"]["terms"] == ("prey", "prey predator")


def test_wrong_shapes_are_refused():
    D = gg.degree_matrix(n_states=2, degree=1)
    with pytest.raises(ValueError, match=r"`coefficients` must have shape \(2, 3\)"):
        graph.adjacency(np.zeros((2, 6)), D)
    with pytest.raises(ValueError, match=r"`adjacency` must have shape \(3, 3\)"):
        graph.subsystems(np.eye(2), ["a", "b", "c"])


def test_an_edge_carries_coefficients_strength_and_confidence(x64):
    rng = np.random.default_rng(0)
    library = gg.Polynomial(2, 2)  # 1, x1, x2, x1^2, x1 x2, x2^2
    C = np.array([[0.1, 0.9, 0.3, 0, -0.2, 0], [0, 0, 0.5, 0, 0, 0]])
    x = rng.normal(size=(50, 2))
    sure = rng.uniform(size=C.shape)
    drawn = graph.to_networkx(C, library, trajectory=x, term_confidence=sure)
    edge = drawn.edges["x2", "x1"]
    assert edge["terms"] == ("x2", "x1 x2")
    assert edge["coefficients"] == (0.3, -0.2)
    assert edge["confidence"] == max(sure[0, [2, 4]])
    a, b = x[:-1].T
    steps = np.var(np.diff(x, axis=0), axis=0)
    assert np.isclose(edge["strength"], np.var(0.3 * b - 0.2 * a * b) / steps[0])
    # What a state adds to its own step is less than itself.
    own = drawn.edges["x1", "x1"]["strength"]
    assert np.isclose(own, np.var(-0.1 * a - 0.2 * a * b) / steps[0])
    known = np.array([[0.5, 0.25], [0.0, 1.0]])
    drawn = graph.to_networkx(C, library, term_confidence=sure, edge_confidence=known)
    assert drawn.edges["x2", "x1"]["confidence"] == 0.25
    assert "strength" not in drawn.edges["x2", "x1"]


def test_the_only_edge_of_a_noiseless_state_explains_all_of_it(x64):
    first = np.array([1.0, 2.0, -1.0, 0.5])
    x = np.stack([first, 0.5 * np.cumsum([0.0, *first[:-1]])], axis=1)
    C = np.array([[0, 1.0, 0], [0, 0.5, 1]])
    drawn = graph.to_networkx(C, gg.Polynomial(2, 1), trajectory=x)
    assert np.isclose(drawn.edges["x1", "x2"]["strength"], 1)
    assert drawn.edges["x2", "x2"]["strength"] == 0
    still = graph.to_networkx(C, gg.Polynomial(2, 1), trajectory=np.ones((4, 2)))
    assert still.edges["x1", "x2"]["strength"] == 0


def test_inputs_act_and_are_not_acted_on(x64):
    library = gg.Polynomial(2, 1)
    rng = np.random.default_rng(0)
    u = rng.normal(size=(30, 1))
    x = np.concatenate([[[0.0]], 0.5 * u]).cumsum(axis=0)
    C = [[0, 1, 0.5]]
    np.testing.assert_array_equal(graph.adjacency(C, library.incidence), [[1, 1]])
    drawn = graph.to_networkx(C, library, trajectory=x, inputs=u)
    assert set(drawn.edges) == {("x1", "x1"), ("u1", "x1")}
    assert drawn.nodes["u1"] == {"kind": "input"}
    assert np.isclose(drawn.edges["u1", "x1"]["strength"], 1)
    assert 'label="u1", shape=box' in graph.to_dot(drawn)
    with pytest.raises(ValueError, match=r"`inputs` must have shape \(30, 1\)"):
        graph.to_networkx(C, library, trajectory=x)


HOSTILE = ['a"];b', "<x>&amp;'", "back\\slash\\", "new\nline\x00;"]


def test_hostile_names_stay_names(tmp_path):
    library = gg.Polynomial(4, 1)
    C = np.concatenate([np.zeros((4, 1)), np.ones((4, 4))], axis=1)
    drawn = graph.to_networkx(C, library, HOSTILE, edge_confidence=np.eye(4))
    graph.save_graphml(drawn, tmp_path / "graph.graphml")
    read = nx.read_graphml(tmp_path / "graph.graphml")
    assert list(read)[:3] == HOSTILE[:3]
    assert list(read)[3] == "new\N{SYMBOL FOR LINE FEED}line\N{SYMBOL FOR NULL};"
    assert read.edges[HOSTILE[1], HOSTILE[0]]["terms"] == HOSTILE[1].replace(";", r"\;")
    lines = graph.to_dot(drawn).splitlines()
    assert len(lines) == 2 + 4 + 16
    assert lines[1] == r"""  n0 [label="a\"];b"];"""
    assert lines[3] == r"""  n2 [label="back\\slash\\"];"""
    assert sum("style=dashed" in line for line in lines) == 12


def test_strengths_know_the_dynamics():
    """An oscillator that nothing disturbs: each state alone moves the other one."""
    times = 0.05 * np.arange(200)
    path = np.stack([np.sin(times), np.cos(times)], axis=1)
    A, library = np.array([[0, 0, 1.0], [0, -1.0, 0]]), gg.Polynomial(2, 1)
    drawn = gg.to_networkx(A, library, dynamics="flow", dt=0.05, trajectory=path)
    for ends in (("x2", "x1"), ("x1", "x2")):
        assert np.isclose(drawn.edges[ends]["strength"], 1, atol=1e-3)
    turn = np.array([[np.cos(0.05), np.sin(0.05)], [-np.sin(0.05), np.cos(0.05)]])
    C = np.concatenate([np.zeros((2, 1)), turn], axis=1)
    moved = gg.to_networkx(C, library, trajectory=path)
    change = C - np.eye(2, 3, 1)
    other = gg.to_networkx(change, library, dynamics="difference", trajectory=path)
    for ends, edge in moved.edges.items():
        assert np.isclose(edge["strength"], other.edges[ends]["strength"])
    with pytest.raises(ValueError, match="`dt` must be a positive finite number"):
        gg.to_networkx(A, library, dynamics="flow", trajectory=path)
    with pytest.raises(ValueError, match="`dynamics` must be one of"):
        gg.to_networkx(A, library, dynamics="rate")


def test_widths_in_dot_follow_the_strengths():
    drawn = nx.DiGraph()
    drawn.add_edge("a", "b", terms=("a",), strength=0.5)
    drawn.add_edge("a", "a", terms=("a",), strength=0.0)
    drawn.add_edge("b", "a", terms=("b",), strength=2.0)
    text = graph.to_dot(drawn)
    assert "penwidth=3.00" in text
    assert "penwidth=1.00" in text
    assert "penwidth=5.00" in text


def test_every_edge_gets_its_verdict():
    library = gg.Polynomial(3, 2)
    truth, found = np.zeros((2, 3, library.n_terms))
    column = library.index
    truth[0, [column("x1"), column("x2")]] = 1
    found[0, [column("x1"), column("x2^2"), column("x3")]] = 1
    truth[1, column("x1 x3")] = 1
    compared = graph.compare_graphs(found, truth, library, ["a", "b", "c"])
    assert compared.verdicts.tolist() == [
        ["right", "wrong terms", "invented"],
        ["missed", "absent", "missed"],
        ["absent", "absent", "absent"],
    ]
    assert compared.counts == {
        "right": 1,
        "wrong terms": 1,
        "missed": 2,
        "invented": 1,
        "absent": 4,
    }
    assert compared.table().splitlines()[:4] == [
        "   a  b  c",
        "a  =  ~  +",
        "b  -  .  -",
        "c  .  .  .",
    ]


def test_lorenz96_as_in_the_paper():
    """Its 80 links; a quadratic self loop is a right link by the wrong term."""
    system = systems.lorenz96()
    truth, library = system.coefficients(dynamics="map"), system.library()
    perfect = graph.compare_graphs(truth, truth, library)
    assert perfect.counts["right"] == 80
    assert perfect.counts["absent"] == 320
    found = truth.copy()
    found[15, library.index("x16")] = 0
    found[15, library.index("x16^2")] = 0.9
    compared = graph.compare_graphs(found, truth, library)
    assert compared.verdicts[15, 15] == "wrong terms"
    assert compared.counts["right"] == 79


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"trajectory": np.zeros((2, 2))}, "`trajectory` must have at least 3 rows"),
        ({"trajectory": np.zeros((5, 3))}, r"`trajectory` must have shape \(5, 2\)"),
        ({"trajectory": np.full((5, 2), np.nan)}, "`trajectory` must be finite"),
        ({"term_confidence": np.full((2, 3), 1.5)}, "must be from 0 to 1, got 1.5"),
        ({"edge_confidence": np.ones((2, 3))}, "`edge_confidence` must have shape"),
        ({"states": ["a", "a"]}, "`states` must be 2 different names"),
    ],
)
def test_faults_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        graph.to_networkx(np.ones((2, 3)), gg.Polynomial(2, 1), **wrong)


def test_a_truth_of_another_shape_is_refused():
    library = gg.Polynomial(2, 1)
    with pytest.raises(ValueError, match="`truth` must have the shape of"):
        graph.compare_graphs(np.ones((2, 3)), np.ones((1, 3)), library)
    with pytest.raises(ValueError, match=r"`truth` must have shape \(2, 3\)"):
        graph.compare_graphs(np.ones((2, 3)), np.ones((2, 6)), library)
