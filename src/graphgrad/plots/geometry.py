"""Positions of nodes and arrows."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import networkx as nx

# Possible curvatures of an arrow; no two are opposite, so that both directions of an
# edge are visible.
BENDS = (0.22, 0.1, 0.35, -0.14, -0.28, -0.42, 0.5)


def node_places(
    graph: "nx.DiGraph", layout: str, seed: int, radius: float
) -> dict[str, np.ndarray]:
    """Positions of the nodes."""
    import networkx as nx

    # The first on top, then clockwise.
    turns = np.pi / 2 - 2 * np.pi * np.arange(len(graph)) / max(1, len(graph))
    points = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    if layout == "spring" and len(graph) > 1:
        points = np.array(list(nx.spring_layout(graph, seed=seed, k=1.5).values()))
        gaps = np.linalg.norm(points[:, None] - points, axis=-1)
        nearest = np.min(gaps + np.diag(np.full(len(points), np.inf)))
        points = points * max(1.0, 5 * radius / nearest)
    return dict(zip(graph, points, strict=True))


def route(
    source: str, target: str, places: dict[str, np.ndarray], radius: float
) -> tuple[np.ndarray, np.ndarray, str]:
    """A curve between node borders that avoids other nodes, and its label position."""
    a, b = places[source], places[target]
    side = "center"
    if source == target:
        curve, out = _loop(a, np.mean([*places.values()], axis=0), radius)
        spot = a + 3.3 * radius * out
        side = "left" if out[0] > 0.5 else "right" if out[0] < -0.5 else side
        ends = [(a, 1.0), (a, 1.15)]
    else:
        others = [p for node, p in places.items() if node not in (source, target)]
        curve = max(
            # The first that avoids the others, or the one with the largest distance.
            (_bow(a, b, bend) for bend in BENDS),
            key=lambda c: min(1.3 * radius, _clearance(c, others)),
        )
        spot = curve[42]
        ends = [(a, 1.0), (b, 1.15)]
    free = np.all(
        [np.linalg.norm(curve - end, axis=1) > s * radius for end, s in ends], axis=0
    )
    return curve[free], spot, side


def _bow(a: np.ndarray, b: np.ndarray, bend: float) -> np.ndarray:
    t = np.linspace(0, 1, 101)[:, None]
    left = np.array([a[1] - b[1], b[0] - a[0]])
    middle = (a + b) / 2 + bend * left
    return (1 - t) ** 2 * a + 2 * (1 - t) * t * middle + t**2 * b


def _clearance(curve: np.ndarray, places: list[np.ndarray]) -> float:
    if not places:
        return np.inf
    return float(np.linalg.norm(curve[:, None] - np.array(places), axis=-1).min())


def _loop(
    a: np.ndarray, centre: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """A loop on the side facing away from the others, and that direction."""
    t = np.linspace(0, 1, 101)[:, None]
    out = a - centre if np.linalg.norm(a - centre) > 1e-9 else np.array([0.0, 1.0])
    out = out / np.linalg.norm(out)
    across = np.array([-out[1], out[0]])
    first, second = (a + 4 * radius * (out + s * 0.8 * across) for s in (1, -1))
    curve = 3 * (1 - t) ** 2 * t * first + 3 * (1 - t) * t**2 * second
    return curve + ((1 - t) ** 3 + t**3) * a, out
