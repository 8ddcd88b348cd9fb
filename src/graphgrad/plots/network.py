"""Plot of the graph."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_choice
from ..graph import GraphComparison
from ..graph.export import widths
from .geometry import node_places, route
from .style import COLOURS, GREY, one_axes

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

# More labels than this overlap.
MOST_LABELS = 12
LAYOUTS = ("circular", "spring")
# As in Fig. 5: blue for right terms, red for wrong ones.
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
    """The graph: an arrow from b to a where b acts on a.

    Line widths show the strength of an edge and opacity its confidence, if the graph
    has them. Inputs are squares.

    Args:
        graph: A graph from `to_networkx`.
        layout: `"circular"` or `"spring"`.
        seed: Seed of the spring layout.
        labels: Whether to write terms on the arrows; by default only if there are few.
        comparison: From `compare_graphs`: arrows are coloured by verdict, and missed
            edges are dashed.
        ax: Axes to draw on.

    Examples:
        >>> import graphgrad as gg
        >>> system = gg.systems.lorenz63(dt=0.02)
        >>> graph = gg.to_networkx(system.coefficients(), system.library())
        >>> ax = plot_graph(graph)
        >>> [text.get_text() for text in ax.texts][-3:]
        ['x1', 'x2', 'x3']
    """
    from matplotlib.lines import Line2D

    check_choice("layout", layout, LAYOUTS)
    count = max(1, len(graph))
    side = 3.6 + 0.22 * min(count, 25)
    ax = one_axes(ax, size=(side, side))
    longest = max((len(str(node)) for node in graph), default=1)
    radius = min(0.16 * float(np.clip(longest / 4, 1, 1.8)), 1.6 / count)
    places = node_places(graph, layout, seed, radius)
    verdicts = {} if comparison is None else _verdicts(comparison, set(graph))
    edges: list[tuple[Any, Any, dict]] = list(graph.edges(data=True))
    known = {(source, target) for source, target, _ in edges}
    edges += [
        (*edge, {})
        for edge, kind in verdicts.items()
        if kind == "missed" and edge not in known
    ]
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
        curve, spot, side = route(source, target, places, radius)
        _arrow(ax, curve, look)
        ax.update_datalim([spot])
        if labels and data.get("terms"):
            ax.text(
                spot[0],
                spot[1],
                "\n".join(data["terms"]),
                fontsize=9,
                ha=side,
                va="center",
                linespacing=1.0,
                bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"},
                zorder=4,
            )
    ax.set_aspect("equal")
    ax.axis("off")
    # Leave room for loops on both sides.
    extent = np.ptp([*places.values()], axis=0).max() + 8 * radius if places else 1.0
    for node, place in places.items():
        square = graph.nodes[node].get("kind") == "input"
        _node(ax, place, str(node), radius, square, extent)
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
    """Verdicts on the edges that are in one of the graphs, by source and target."""
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
    ax: "Axes",
    place: np.ndarray,
    name: str,
    radius: float,
    square: bool,
    extent: float,
) -> None:
    from matplotlib.patches import Circle, Rectangle

    style = {"fc": "#e6eef5", "ec": "black", "lw": 1.1, "zorder": 3}
    if square:
        shape = Rectangle(tuple(place - radius), 2 * radius, 2 * radius, **style)
    else:
        shape = Circle(tuple(place), radius, **style)
    ax.add_patch(shape)
    # A letter is about 0.6 of its size wide.
    side = 72 * min(ax.bbox.width, ax.bbox.height) / ax.figure.dpi
    room = 0.85 * 2 * radius * side / extent
    size = float(np.clip(room / (0.6 * max(2, len(name))), 7, 11))
    ax.text(place[0], place[1], name, ha="center", va="center", fontsize=size, zorder=5)
