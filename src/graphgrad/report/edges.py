"""Who acts on whom, by which terms, how strongly and how surely."""

from typing import NamedTuple

import numpy as np

from .findings import Findings
from .text import listed, number, percent


class Edge(NamedTuple):
    """An arrow of the graph.

    Attributes:
        source: Number of the variable that acts.
        target: Number of the state that it acts on.
        terms: Numbers of the terms that carry it.
        strength: Its share in how the target moves; None if not known.
        confidence: How sure it is, from 0 to 1; None if not known.
    """

    source: int
    target: int
    terms: tuple[int, ...]
    strength: float | None
    confidence: float | None


def edges(findings: Findings) -> list[Edge]:
    """All arrows, by target and then by source."""
    enters = findings.incidence != 0
    found = []
    for a, row in enumerate(findings.coefficients):
        for b, entered in enumerate(enters):
            terms = np.flatnonzero((row != 0) & entered).tolist()
            if terms:
                strength = _at(findings.edge_strength, a, b)
                sure = _confidence(findings, a, b, terms)
                found.append(Edge(b, a, tuple(terms), strength, sure))
    return found


def edge_words(findings: Findings, edge: Edge) -> str:
    """One arrow in a sentence."""
    source, target = findings.variables[edge.source], findings.states[edge.target]
    names = listed([findings.terms[j] for j in edge.terms])
    on = "itself" if edge.source == edge.target else target
    text = f"{source} acts on {on} by {names}."
    if edge.strength is not None:
        text += f" Strength {number(edge.strength, digits=2)}."
    if edge.confidence is not None:
        text += f" Confidence {percent(edge.confidence)}."
    return text


def _confidence(findings: Findings, a: int, b: int, terms: list[int]) -> float | None:
    if findings.edge_confidence is not None:
        return _at(findings.edge_confidence, a, b)
    if findings.term_confidence is not None:
        return float(np.max(findings.term_confidence[a, terms]))
    return None


def _at(array: np.ndarray | None, a: int, b: int) -> float | None:
    if array is None or not np.isfinite(array[a, b]):
        return None
    return float(array[a, b])
