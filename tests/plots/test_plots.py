"""Pictures say what the arrays say, on the axes that they are given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Circle, FancyArrowPatch

import graphgrad as gg
from graphgrad import plots
from graphgrad.plots.phase import vector_field

mpl.use("Agg")

SYSTEM = gg.systems.lorenz63(dt=0.02)
C, LIBRARY = SYSTEM.coefficients(dynamics="map"), SYSTEM.library()
RNG = np.random.default_rng(0)
PATH = np.stack([0 * C, C * (abs(C) > 0.1), C, C])
DRAWS = RNG.normal(size=(40, 5, 3)).cumsum(axis=1)
GRAPH = gg.to_networkx(C, LIBRARY, trajectory=RNG.normal(size=(9, 3)))

# For each picture: how many panels it has, and a call.
PICTURES = {
    "graph": (1, lambda ax: plots.plot_graph(GRAPH, ax=ax)),
    "spring": (1, lambda ax: plots.plot_graph(GRAPH, layout="spring", seed=3, ax=ax)),
    "coefficients": (1, lambda ax: plots.plot_coefficients(C, LIBRARY, ax=ax)),
    "path": (
        1,
        lambda ax: plots.plot_path(PATH, [8, 4, 2, 1], LIBRARY, chosen=2, ax=ax),
    ),
    "phase": (
        1,
        lambda ax: plots.plot_phase(
            DRAWS[0], data=DRAWS[1], simulated=DRAWS[2], pair=("x1", "x3"), ax=ax
        ),
    ),
    "vector field": (
        1,
        lambda ax: plots.plot_phase(DRAWS[0], rate=lambda x: x[..., ::-1], ax=ax),
    ),
    "states": (
        3,
        lambda ax: plots.plot_states(
            DRAWS[0], deviations=np.ones((5, 3)), data=DRAWS[1, :4], ax=ax
        ),
    ),
    "forecast": (
        3,
        lambda ax: plots.plot_forecast(DRAWS, history=DRAWS[0], truth=DRAWS[1], ax=ax),
    ),
    "residuals": (3, lambda ax: plots.plot_residuals(DRAWS[:, 0], ax=ax)),
    "convergence": (
        2,
        lambda ax: plots.plot_convergence(
            [-9.0, -np.inf, -5.0, -4.9], [9, 8, 7, 7], stages="aabb", ax=ax
        ),
    ),
}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.parametrize("kind", PICTURES)
def test_pictures_are_drawn_where_asked(kind):
    count, draw = PICTURES[kind]
    figure, axes = plt.subplots(1, count, squeeze=False)
    given = axes[0, 0] if count == 1 else axes[0]
    # Another figure is current: nothing may be drawn there.
    other = plt.figure()
    drawn = draw(given)
    assert list(np.ravel(np.asarray(drawn, dtype=object))) == list(axes[0])
    assert plt.get_fignums() == [figure.number, other.number]
    assert not other.axes
    assert all(ax.has_data() for ax in axes[0])


@pytest.mark.parametrize("kind", ["graph", "residuals"])
def test_a_figure_is_made_where_none_is_given(kind):
    count, draw = PICTURES[kind]
    drawn = np.ravel(np.asarray(draw(None), dtype=object))
    assert len(drawn) == count
    assert len(plt.get_fignums()) == 1
    drawn[0].figure.canvas.draw()


@pytest.mark.parametrize(
    "kind", [kind for kind, (count, _) in PICTURES.items() if count > 1]
)
def test_the_number_of_axes_is_checked(kind):
    count, draw = PICTURES[kind]
    with pytest.raises(ValueError, match=f"`ax` must be {count} axes.*got 1"):
        draw(plt.figure().subplots())


def arrows(ax):
    """The arrows, in the order of the edges."""
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def points(artist):
    """Corners of a patch or of a filled band."""
    paths = artist.get_paths() if hasattr(artist, "get_paths") else [artist.get_path()]
    return np.asarray(paths[0].vertices)


def test_arrows_follow_strength_and_confidence():
    graph = GRAPH.copy()
    for edge, strength, sure in (
        (("x1", "x2"), 4.0, 1.0),
        (("x2", "x1"), 1.0, 0.5),
        (("x1", "x1"), 0.0, 0.0),
    ):
        graph.edges[edge].update(strength=strength, confidence=sure)
    graph.remove_edges_from(
        [e for e in graph.edges if "confidence" not in graph.edges[e]]
    )
    drawn = {
        edge: [arrow.get_linewidth(), arrow.get_alpha()]
        for edge, arrow in zip(
            graph.edges, arrows(plots.plot_graph(graph)), strict=True
        )
    }
    assert np.allclose(drawn["x1", "x2"], [5, 1])
    assert np.allclose(drawn["x2", "x1"], [3, 0.6])
    assert np.allclose(drawn["x1", "x1"], [1, 0.2])


def test_the_layout_depends_on_the_seed_alone():
    first, again = (
        [points(a).tolist() for a in arrows(plots.plot_graph(GRAPH, layout="spring"))]
        for _ in range(2)
    )
    assert first == again
    with pytest.raises(ValueError, match="`layout` must be one of"):
        plots.plot_graph(GRAPH, layout="tree")


def test_no_arrow_crosses_a_node():
    system = gg.systems.lorenz96()
    graph = gg.to_networkx(system.coefficients(), system.library())
    ax = plots.plot_graph(graph)
    nodes = [p for p in ax.patches if isinstance(p, Circle)]
    centres, radius = np.array([p.center for p in nodes]), nodes[0].radius
    paths = [points(arrow) for arrow in arrows(ax)]
    assert len(paths) == 80
    for path in paths:
        away = np.linalg.norm(path[:, None] - centres, axis=-1)
        assert away.min() >= radius
    # So many labels would cover one another.
    assert len(ax.texts) == 20


def test_a_comparison_has_colours_and_missed_edges():
    found = C.copy()
    found[0, LIBRARY.index("x2")] = 0
    found[0, LIBRARY.index("x3")] = 0.1
    graph = gg.to_networkx(found, LIBRARY)
    comparison = gg.compare_graphs(found, C, LIBRARY)
    ax = plots.plot_graph(graph, comparison=comparison)
    legend = ax.get_legend()
    assert legend is not None
    kinds = [text.get_text() for text in legend.get_texts()]
    assert kinds == ["right", "invented", "missed"]
    assert len(arrows(ax)) == 9
    with pytest.raises(ValueError, match="`comparison` must be of the states"):
        plots.plot_graph(gg.to_networkx(C, LIBRARY, "abc"), comparison=comparison)


def test_coefficients_have_signs_and_names():
    ax = plots.plot_coefficients(C, LIBRARY, ["a", "b", "c"])
    texts = [text.get_text() for text in ax.texts]
    assert len(texts) == 7
    assert "\N{MINUS SIGN}0.02" in texts
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    whole = plots.plot_coefficients(C, LIBRARY, all_terms=True)
    assert len(whole.get_xticklabels()) == LIBRARY.n_terms
    assert not list(plots.plot_coefficients(0 * C, LIBRARY).texts)


def test_bands_and_fans_hold_what_they_should():
    [panel] = plots.plot_states(np.zeros((4, 1)), deviations=np.ones((4, 1)))
    assert np.isclose(points(panel.collections[0])[:, 1].max(), 1.645)
    [panel] = plots.plot_forecast(np.arange(101.0)[:, None, None] * np.ones((1, 3, 1)))
    outer, inner = (points(band)[:, 1] for band in panel.collections)
    assert (outer.min(), outer.max()) == (5, 95)
    assert (inner.min(), inner.max()) == (25, 75)


def test_the_vector_field_is_that_of_the_plane():
    """A turn about the origin, with a third state that drives and is at its mean."""

    def rate(x):
        a, b, c = np.moveaxis(x, -1, 0)
        return np.stack([b, -a, np.sqrt(c - 1)], axis=-1)

    path = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 7.0], [0.5, -0.5, np.nan]])
    field = vector_field(rate, path, (2, 0), ((0, 4), (-1, 1)), size=(5, 3))
    assert field.rates.shape == (3, 5, 2)
    mean = 0.5 / 3  # of the second state
    assert np.allclose(field.rates[:, 2, 1], mean)
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(field.x - 1)
    np.testing.assert_allclose(field.rates[0, :, 0], expected)  # NaN below 1
    ax = plots.plot_phase(path, rate=rate, pair=("x1", "x3"))
    limits = ax.get_xlim()
    plain = plots.plot_phase(path, pair=("x1", "x3"))
    assert limits == plain.get_xlim()
    assert len(ax.collections) == len(plain.collections) + 1
    with pytest.raises(ValueError, match="`rate` must have shape"):
        plots.plot_phase(path, rate=lambda x: x[..., 0])


def test_residuals_of_a_wrong_model_stand_out():
    t = np.arange(200)
    _, _, memory = plots.plot_residuals(np.sin(t / 5)[:, None] * 2)
    assert np.asarray(memory.lines[0].get_ydata())[0] > 0.9
    gaps = np.where(t % 7 == 0, np.nan, RNG.normal(size=200))
    for values in (gaps, np.full(200, np.nan)):
        assert len(plots.plot_residuals(values[:, None])) == 3


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.plot_states([1.0, 2.0]), "`means` must have shape"),
        (lambda: plots.plot_states(DRAWS[0], times=[1, 2]), "`times` must have shape"),
        (lambda: plots.plot_forecast(DRAWS[0]), "`ensemble` must have 3 axes, got 2"),
        (lambda: plots.plot_phase(DRAWS[0], pair=("x1", "y")), "`pair` must be one of"),
        (lambda: plots.plot_phase(DRAWS[0, :, :1]), "needs two states"),
        (lambda: plots.plot_path(PATH, [1, 2], LIBRARY), "`path` must have shape"),
        (
            lambda: plots.plot_coefficients(C[:, 1:], LIBRARY),
            "`coefficients` must have",
        ),
        (lambda: plots.plot_convergence([1.0], [1, 2]), "`n_terms` must have shape"),
    ],
)
def test_faults_are_named(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
