"""The picture of the graph."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_choice
from ..graph import GraphComparison
from ..graph.export import widths
from .style import COLOURS, GREY, one_axes

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

# More labels than this lie over one another.
MOST_LABELS = 12
LAYOUTS = ("circular", "spring")
# How far an arrow may bend to the left of its way; no two undo each other, so that
# both directions of an edge can be seen.
BENDS = (0.22, 0.1, 0.35, -0.14, -0.28, -0.42, 0.5)
# As in Fig. 5: blue where the terms are right, red where they are not.
VERDICTS = {
    "right": (COLOURS[0], "-"),
    "wrong terms": (COLOURS[1], "-"),
    "invented": (COLOURS[5], "-"),
    "missed": (GREY, (0, (3, 2))),
}


def plot_graph(
    graph: "nx.DiGraph",
    *,
    layout: str = "circular",
    seed: int = 0,
    labels: bool | None = None,
    comparison: GraphComparison | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Who acts on whom: an arrow from b to a where b acts on a.

    Arrows are as wide as the edges are strong and as dark as they are sure, where the
    graph has that. Inputs are squares.

    Args:
        graph: Made by `to_networkx`.
        layout: `"circular"` or `"spring"`.
        seed: Of the spring layout.
        labels: Whether terms are written on the arrows; only on few if not given.
        comparison: Made by `compare_graphs`: arrows are coloured by their verdict and
            those that were missed are dashed.
        ax: Axes to draw on.

    Examples:
        >>> import graphgrad as gg
        >>> system = gg.systems.lorenz63(dt=0.02)
        >>> graph = gg.to_networkx(system.coefficients(), system.library())
        >>> ax = plot_graph(graph)
        >>> [text.get_text() for text in ax.texts][-3:]
        ['x1', 'x2', 'x3']
    """
    import networkx as nx
    from matplotlib.lines import Line2D

    check_choice("layout", layout, LAYOUTS)
    count = max(1, len(graph))
    side = 3.6 + 0.22 * min(count, 25)
    ax = one_axes(ax, size=(side, side))
    # The first on top and then clockwise, as a clock goes.
    turns = np.pi / 2 - 2 * np.pi * np.arange(count) / count
    places = {n: (np.cos(a), np.sin(a)) for n, a in zip(graph, turns, strict=False)}
    if layout == "spring":
        places = nx.spring_layout(graph, seed=seed, pos=places, k=2 / np.sqrt(count))
    verdicts = {} if comparison is None else _verdicts(comparison, set(graph))
    edges: list[tuple[Any, Any, dict]] = list(graph.edges(data=True))
    known = {(source, target) for source, target, _ in edges}
    edges += [
        (*edge, {})
        for edge, kind in verdicts.items()
        if kind == "missed" and edge not in known
    ]
    radius = min(0.16, 1.6 / count)
    if labels is None:
        labels = len(edges) <= MOST_LABELS
    wide = widths(graph)
    for source, target, data in edges:
        kind = verdicts.get((source, target), "right")
        shade, dash = VERDICTS.get(kind, VERDICTS["right"])
        look = {
            "color": shade,
            "linestyle": dash,
            "linewidth": wide[source, target] if "strength" in data else 1.6,
            "alpha": 0.2 + 0.8 * float(np.clip(data.get("confidence", 1.0), 0, 1)),
        }
        curve, spot = _route(source, target, places, radius)
        _arrow(ax, curve, look)
        ax.update_datalim([spot])
        if labels and data.get("terms"):
            ax.text(
                spot[0],
                spot[1],
                "\n".join(data["terms"]),
                fontsize=9,
                ha="center",
                va="center",
                linespacing=1.0,
                bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"},
                zorder=4,
            )
    ax.set_aspect("equal")
    ax.axis("off")
    for node, place in places.items():
        square = graph.nodes[node].get("kind") == "input"
        _node(ax, np.array(place), str(node), radius, square)
    if verdicts:
        present = [kind for kind in VERDICTS if kind in verdicts.values()]
        handles = [
            Line2D([], [], color=VERDICTS[k][0], ls=VERDICTS[k][1], label=k)
            for k in present
        ]
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.02),
            ncols=len(handles),
            frameon=False,
            fontsize=9,
        )
    ax.autoscale_view()
    return ax


def _verdicts(
    comparison: GraphComparison, nodes: set[str]
) -> dict[tuple[str, str], str]:
    """Verdicts of the edges that are in one of the graphs, by source and target."""
    states = comparison.states
    if set(states) != nodes:
        raise ValueError(
            f"`comparison` must be of the states of the graph, got {list(states)}. "
            "Give both the same names."
        )
    return {
        (states[b], states[a]): str(kind)
        for (a, b), kind in np.ndenumerate(comparison.verdicts)
        if kind != "absent"
    }


def _route(
    source: str, target: str, places: dict[str, Any], radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """A curve from rim to rim that meets no other node, and a place for its label."""
    a, b = np.array(places[source]), np.array(places[target])
    if source == target:
        curve, spot = _loop(a, np.mean([*places.values()], axis=0), radius)
        ends = [(a, 1.0), (a, 1.15)]
    else:
        others = [p for node, p in places.items() if node not in (source, target)]
        curve = max(
            # The first that is clear of the others, or the one that is clearest.
            (_bow(a, b, bend) for bend in BENDS),
            key=lambda c: min(1.3 * radius, _clearance(c, others)),
        )
        spot = curve[42]
        ends = [(a, 1.0), (b, 1.15)]
    free = np.all(
        [np.linalg.norm(curve - end, axis=1) > s * radius for end, s in ends], axis=0
    )
    return curve[free], spot


def _bow(a: np.ndarray, b: np.ndarray, bend: float) -> np.ndarray:
    t = np.linspace(0, 1, 101)[:, None]
    left = np.array([a[1] - b[1], b[0] - a[0]])
    middle = (a + b) / 2 + bend * left
    return (1 - t) ** 2 * a + 2 * (1 - t) * t * middle + t**2 * b


def _clearance(curve: np.ndarray, places: list[Any]) -> float:
    if not places:
        return np.inf
    return float(np.linalg.norm(curve[:, None] - np.array(places), axis=-1).min())


def _loop(
    a: np.ndarray, centre: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """A loop on the side that looks away from the others."""
    t = np.linspace(0, 1, 101)[:, None]
    out = a - centre if np.linalg.norm(a - centre) > 1e-9 else np.array([0.0, 1.0])
    out = out / np.linalg.norm(out)
    across = np.array([-out[1], out[0]])
    first, second = (a + 4 * radius * (out + s * 0.8 * across) for s in (1, -1))
    curve = 3 * (1 - t) ** 2 * t * first + 3 * (1 - t) * t**2 * second
    return curve + ((1 - t) ** 3 + t**3) * a, a + 3.3 * radius * out


def _arrow(ax: "Axes", curve: np.ndarray, look: dict[str, Any]) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    ax.add_patch(
        FancyArrowPatch(
            path=Path(curve),
            arrowstyle="-|>",
            mutation_scale=9 + 2 * look["linewidth"],
            joinstyle="miter",
            capstyle="butt",
            zorder=2,
            **look,
        )
    )
    ax.update_datalim(curve)


def _node(
    ax: "Axes", place: np.ndarray, name: str, radius: float, square: bool
) -> None:
    from matplotlib.patches import Circle, Rectangle

    style = {"fc": "#e6eef5", "ec": "black", "lw": 1.1, "zorder": 3}
    if square:
        shape = Rectangle(tuple(place - radius), 2 * radius, 2 * radius, **style)
    else:
        shape = Circle(tuple(place), radius, **style)
    ax.add_patch(shape)
    # The picture is some 2.8 units wide, and a letter 0.6 of its size.
    side = 72 * min(ax.bbox.width, ax.bbox.height) / ax.figure.dpi
    room = 0.8 * 2 * radius * side / 2.8
    size = float(np.clip(room / (0.6 * max(2, len(name))), 6, 11))
    ax.text(place[0], place[1], name, ha="center", va="center", fontsize=size, zorder=5)
