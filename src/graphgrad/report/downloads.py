"""Files that the page offers: written into it as text, saved by its script."""

import csv
import io
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from ..shown_text import as_cell
from .edges import SIGNS, Edge
from .findings import Findings
from .mathml import plain_equation
from .pictures import clock
from .text import printable

MOST_CELLS = 200_000
"""Most numbers in the table of states; a larger one is left out."""


class Download(NamedTuple):
    """A file: its name, what it is called on the page, its type, and its text."""

    file: str
    label: str
    kind: str
    text: str


def downloads(findings: Findings, found: list[Edge]) -> list[Download]:
    """States and data as CSV, equations as text and LaTeX, the graph as GraphML."""
    numbers = range(len(findings.states))
    lines = "\n".join(plain_equation(findings, a) for a in numbers)
    made = [Download("equations.txt", "Equations (text)", "text/plain", f"{lines}\n")]
    if findings.latex:
        tex = " \\\\\n".join(findings.latex)
        tex = f"\\begin{{align*}}\n{tex}\n\\end{{align*}}\n"
        made.append(Download("equations.tex", "Equations (LaTeX)", "text/plain", tex))
    xml = graphml(findings, found)
    made.append(Download("graph.graphml", "Graph (GraphML)", "text/xml", xml))
    table = states_csv(findings)
    if table:
        made.append(Download("states.csv", "States and data (CSV)", "text/csv", table))
    return made


def states_csv(findings: Findings) -> str:
    """Time, data, smoothed states with their bands, and residuals; one row per row."""
    columns: list[tuple[str, np.ndarray]] = []
    if findings.times is None or not len(findings.times):
        return ""
    for kind, names, values in (
        ("data", findings.columns, findings.data),
        ("input", findings.inputs, findings.input_data),
        ("state", findings.states, findings.means),
        ("residual", findings.columns, findings.residuals),
    ):
        if values is not None:
            for j, name in enumerate(names):
                columns.append((f"{name} ({kind})", values[:, j]))
                if kind == "state" and findings.bands is not None:
                    ends = zip(("low", "high"), findings.bands[:, j].T, strict=True)
                    columns += [(f"{name} ({end})", each) for end, each in ends]
    if not columns or len(columns) * len(findings.times) > MOST_CELLS:
        return ""
    when = clock(findings)
    stamps = [f"{value:.12g}" for value in when.tolist()]
    if findings.dated and not findings.breaks:
        dates = when.astype("int64").astype("datetime64[ms]")
        stamps = np.datetime_as_string(dates).tolist()
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        [as_cell(name) for name in ("time", *(name for name, _ in columns))]
    )
    for t, stamp in enumerate(stamps):
        row = (float(values[t]) for _, values in columns)
        writer.writerow([stamp, *(f"{v:.6g}" if np.isfinite(v) else "" for v in row)])
    return file.getvalue()


def graphml(findings: Findings, found: list[Edge]) -> str:
    """The graph for other programs."""
    keys = ("terms", "string"), ("sign", "string"), ("strength", "double")
    keys += (("confidence", "double"),)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *(
            f'<key id="{name}" for="edge" attr.name="{name}" attr.type="{kind}"/>'
            for name, kind in keys
        ),
        '<graph edgedefault="directed">',
        *(f"<node id={_name(name)}/>" for name in findings.variables),
    ]
    for edge in found:
        values = {
            "terms": ", ".join(findings.terms[j] for j in edge.terms),
            "sign": None if edge.sign is None else SIGNS[int(edge.sign)],
            "strength": edge.strength,
            "confidence": edge.confidence,
        }
        data = "".join(
            f'<data key="{key}">{escape(_valid(str(value)))}</data>'
            for key, value in values.items()
            if value is not None
        )
        ends = findings.variables[edge.source], findings.states[edge.target]
        source, target = map(_name, ends)
        lines.append(f"<edge source={source} target={target}>{data}</edge>")
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _name(name: str) -> str:
    return quoteattr(_valid(name))


def _valid(text: str) -> str:
    """Text without characters that XML does not allow."""
    return "".join(c if c not in "\ufffe\uffff" else "\ufffd" for c in printable(text))
