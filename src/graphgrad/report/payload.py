"""The data for the page's script, as JSON that is safe in HTML."""

import json
from math import isfinite
from typing import Any

import numpy as np

from .edges import Edge, edge_words
from .findings import Findings
from .pictures import checks, fans, free_runs, panels
from .portrait import portrait
from .text import printable

MOST_PATH = 40_000
"""Most coefficients along the regularisation path; penalties are left out above."""

DIGITS = 5
# Times can be long numbers that differ in their last digits.
TIME_DIGITS = 14
TIMES = ("t", "span", "dataT", "pastT", "gaps")


def payload(findings: Findings, found: list[Edge]) -> dict[str, Any]:
    """Everything that is drawn, thinned and rounded."""
    path = _path(findings)
    used = np.any(findings.coefficients != 0, axis=0)
    for step in path.get("steps", ()):
        used[[j for _, j, _ in step]] = True
    enters = findings.incidence != 0
    return {
        "variables": list(findings.variables),
        "nStates": len(findings.states),
        "dynamics": findings.dynamics,
        "timeName": "row" if findings.breaks else findings.time_name,
        "dated": findings.dated and not findings.breaks,
        "breaks": list(findings.breaks),
        "terms": {
            str(j): {"name": findings.terms[j], "enters": np.flatnonzero(enters[:, j])}
            for j in np.flatnonzero(used).tolist()
        },
        "edges": [_edge(findings, edge) for edge in found],
        "panels": panels(findings),
        "free": free_runs(findings),
        "portrait": portrait(findings),
        "path": path,
        "residuals": checks(findings),
        "levels": list(findings.forecast_levels),
        "fans": fans(findings),
    }


def used_terms(content: dict[str, Any]) -> list[int]:
    """Indices of the terms with a nonzero coefficient, also along the path."""
    return [int(j) for j in content["terms"]]


def embedded(content: Any) -> str:
    r"""JSON that is safe inside a script element.

    Nothing in it can end the element or begin a comment, and NaN is null.

    Examples:
        >>> embedded({"name": "</script>", "values": np.array([0.5, np.nan])})
        '{"name":"\\u003c/script\\u003e","values":[0.5,null]}'
    """
    text = json.dumps(_plain(content), separators=(",", ":"), allow_nan=False)
    for c in "<>&":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return text


def _edge(findings: Findings, edge: Edge) -> dict[str, Any]:
    a, columns = edge.target, list(edge.terms)
    errors, sure = findings.standard_errors, findings.term_confidence
    return {
        "source": edge.source,
        "target": a,
        "terms": columns,
        "values": findings.coefficients[a, columns],
        "errors": None if errors is None else errors[a, columns],
        "sure": None if sure is None else sure[a, columns],
        "strength": edge.strength,
        "confidence": edge.confidence,
        "sign": edge.sign,
        "alt": edge_words(findings, edge),
    }


def _path(findings: Findings) -> dict[str, Any]:
    if findings.path is None or findings.prices is None or not len(findings.prices):
        return {}
    sizes = np.sum(findings.path != 0, axis=(1, 2))
    kept = np.arange(len(sizes))
    while sizes[kept].sum() > MOST_PATH and len(kept) > 2:
        kept = kept[::2]
    if findings.chosen is not None:
        kept = np.union1d(kept, findings.chosen)
    steps = [
        [(int(a), int(j), step[a, j]) for a, j in np.argwhere(step != 0)]
        for step in findings.path[kept]
    ]
    chosen = findings.chosen
    return {
        "penalties": findings.prices[kept],
        "steps": steps,
        "chosen": None if chosen is None else int(np.searchsorted(kept, chosen)),
        "left": len(sizes) - len(kept),
    }


def _plain(value: Any, digits: int = DIGITS) -> Any:
    """Lists, numbers and text; numbers are rounded to what a plot can show."""
    match value:
        case dict():
            return {
                key: _plain(each, TIME_DIGITS if key in TIMES else digits)
                for key, each in value.items()
            }
        case np.ndarray(ndim=1) if value.dtype.kind == "f":
            # Most of a report is this: avoids a call per number.
            return [
                float(f"{v:.{digits}g}") if isfinite(v) else None
                for v in value.tolist()
            ]
        case list() | tuple() | np.ndarray():
            return [_plain(each, digits) for each in value]
        case str():
            return printable(value)
        case bool() | int() | None:
            return value
        case np.integer() | np.bool_():
            return value.item()
        case float() | np.floating():
            return float(f"{value:.{digits}g}") if isfinite(value) else None
    raise TypeError(f"{type(value).__name__} cannot be written into a report")
