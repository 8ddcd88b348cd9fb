"""The graph in file formats of other programs: GraphML and Graphviz."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx as nx


def save_graphml(graph: "nx.DiGraph", path: str | Path) -> None:
    """Write a graph as GraphML; an edge's terms become one string with semicolons.

    The same holds for their coefficients. A semicolon in a name is escaped by a
    backslash, and characters that XML cannot hold are replaced by visible symbols.

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

    plain = nx.DiGraph()
    for node, data in graph.nodes(data=True):
        plain.add_node(_printable(node), **data)
    for source, target, data in graph.edges(data=True):
        # GraphML has no lists.
        texts = {
            key: "; ".join(_printable(str(v)).replace(";", r"\;") for v in value)
            if isinstance(value, tuple)
            else value
            for key, value in data.items()
        }
        plain.add_edge(_printable(source), _printable(target), **texts)
    nx.write_graphml(plain, path)


def to_dot(graph: "nx.DiGraph") -> str:
    r"""A graph in the DOT language of Graphviz, with the terms as edge labels.

    If the edges have them, strengths set the line widths, and a confidence below one
    half a dashed line. Inputs are boxes.

    Examples:
        >>> import graphgrad as gg
        >>> C = [[0, 0.9, 0.1, 0, 0.1, 0], [0, 0, 0, 0, 0, 0]]
        >>> graph = gg.to_networkx(C, gg.Polynomial(2, 2), ["prey", 'a "fox"'])
        >>> print(to_dot(graph))
        digraph {
          n0 [label="prey"];
          n1 [label="a \"fox\""];
          n0 -> n0 [label="prey\nprey a \"fox\""];
          n1 -> n0 [label="a \"fox\"\nprey a \"fox\""];
        }
    """
    wide = widths(graph)
    number = {node: i for i, node in enumerate(graph.nodes)}
    lines = ["digraph {"]
    for node, i in number.items():
        shape = ", shape=box" if graph.nodes[node].get("kind") == "input" else ""
        lines.append(f'  n{i} [label="{_quoted(node)}"{shape}];')
    for source, target, data in graph.edges(data=True):
        options = ['label="{}"'.format(r"\n".join(map(_quoted, data.get("terms", ()))))]
        if "strength" in data:
            options.append(f"penwidth={wide[source, target]:.2f}")
        if data.get("confidence", 1.0) < 0.5:
            options.append("style=dashed")
        lines.append(
            f"  n{number[source]} -> n{number[target]} [{', '.join(options)}];"
        )
    return "\n".join([*lines, "}"])


def widths(graph: "nx.DiGraph") -> dict[tuple[str, str], float]:
    """From 1 to 5, by the square root of the strength relative to the largest one."""
    strengths = {
        (source, target): max(data.get("strength", 0.0), 0.0)
        for source, target, data in graph.edges(data=True)
    }
    most = max(strengths.values(), default=0.0) or 1.0
    return {edge: 1 + 4 * (value / most) ** 0.5 for edge, value in strengths.items()}


def _quoted(text: str) -> str:
    return _printable(text).replace("\\", "\\\\").replace('"', '\\"')


def _printable(text: str) -> str:
    """The text with symbols for characters that XML or a terminal cannot show."""
    return "".join(_picture(c) for c in text)


def _picture(c: str) -> str:
    code = ord(c)
    if code < 0x20:
        return chr(0x2400 + code)
    unseen = 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF)
    return "\N{REPLACEMENT CHARACTER}" if unseen else c
