"""Tables: coefficients, edges, settings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .edges import SIGNS, Edge
from .findings import Findings
from .mathml import formula, term
from .text import number, percent, safe

SHADES = 5
"""Number of shades of blue and of red."""


def coefficient_table(findings: Findings) -> str:
    """The coefficient matrix without all-zero columns; darker is larger."""
    C = findings.coefficients
    used = np.flatnonzero(np.any(C != 0, axis=0)).tolist()
    if not used:
        return "<p>No terms.</p>"
    heads = "".join(f'<th scope="col">{_head(findings, j)}</th>' for j in used)
    # Terms have different units: shades compare the coefficients of one term.
    largest = np.nanmax(np.abs(C), axis=0, initial=0)
    rows = "".join(
        f'<tr><th scope="row">{safe(state)}</th>'
        + "".join(_cell(findings, a, j, largest[j]) for j in used)
        + "</tr>"
        for a, state in enumerate(findings.states)
    )
    return _scrolling(
        "Coefficients",
        f'<table class="matrix"><thead><tr><th scope="col">state</th>{heads}</tr>'
        f"</thead><tbody>{rows}</tbody></table>",
    )


def edge_table(findings: Findings, found: list[Edge]) -> str:
    """All edges: the graph for readers who cannot see it."""
    heads = ["from", "to", "terms"]
    strong = any(edge.strength is not None for edge in found)
    sure = any(edge.confidence is not None for edge in found)
    signed = any(edge.sign is not None for edge in found)
    heads += ["sign"] * signed + ["strength"] * strong + ["confidence"] * sure
    rows = []
    for edge in found:
        cells = [
            safe(findings.variables[edge.source]),
            safe(findings.states[edge.target]),
            ", ".join(safe(findings.terms[j]) for j in edge.terms),
        ]
        if signed:
            cells.append("" if edge.sign is None else SIGNS[int(edge.sign)])
        if strong:
            strength = edge.strength
            cells.append("" if strength is None else number(strength, digits=2))
        if sure:
            cells.append("" if edge.confidence is None else percent(edge.confidence))
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    return _table("Arrows of the graph", heads, rows)


def skill_table(skills: Sequence[Mapping[str, Any]]) -> str:
    """One-step errors of the fit and of what it is compared with."""
    rows = [
        "".join(
            f"<td>{safe(value) if isinstance(value, str) else number(value)}</td>"
            for value in skill.values()
        )
        for skill in skills
    ]
    return _table("One-step predictions", [safe(name) for name in skills[0]], rows)


def pairs_table(name: str, pairs: Mapping[str, Any]) -> str:
    """Names and values."""
    rows = "".join(
        f'<tr><th scope="row">{safe(key)}</th><td>{safe(value)}</td></tr>'
        for key, value in pairs.items()
    )
    return (
        f'<table class="pairs"><caption>{safe(name)}</caption><tbody>{rows}</tbody>'
        "</table>"
    )


def _head(findings: Findings, j: int) -> str:
    """The term, without the time index of its variables."""
    inside = term(findings, j, timed=False)
    return formula(inside or "<mn>1</mn>")


def _cell(findings: Findings, a: int, j: int, largest: float) -> str:
    value = float(findings.coefficients[a, j])
    if value == 0:
        return '<td class="zero"><span class="unseen">0</span></td>'
    errors, sure = findings.standard_errors, findings.term_confidence
    error = np.nan if errors is None else float(errors[a, j])
    text = number(value, error)
    if np.isfinite(error) and error > 0:
        text += f'<span class="error">± {number(error, digits=2)}</span>'
    if sure is not None:
        text += f'<span class="error">{percent(float(sure[a, j]))}</span>'
    part = abs(value) / largest if np.isfinite(value) and largest > 0 else 0.0
    shade = max(1, int(np.ceil(SHADES * part)))
    return f'<td class="{"minus" if value < 0 else "plus"}{shade}">{text}</td>'


def _table(name: str, heads: list[str], rows: list[str]) -> str:
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return _scrolling(
        name, f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _scrolling(name: str, table: str) -> str:
    """A table that scrolls by itself, also by keyboard."""
    return (
        f'<div class="scrolling" role="region" tabindex="0" aria-label="{name}">'
        f"{table}</div>"
    )
