"""The edges of the graph, with terms, strength and confidence."""

from typing import NamedTuple

import numpy as np

from .findings import Findings
from .text import listed, number, percent


class Edge(NamedTuple):
    """An edge of the graph.

    Attributes:
        source: Index of the variable that acts.
        target: Index of the state it acts on.
        terms: Indices of its terms.
        strength: Its share of the variance of the target's steps; None if unknown.
        confidence: Its confidence, from 0 to 1; None if unknown.
        sign: 1 if it raises the target, -1 if it lowers it, 0 if that changes; None if
            unknown.
    """

    source: int
    target: int
    terms: tuple[int, ...]
    strength: float | None
    confidence: float | None
    sign: float | None = None


SIGNS = {1: "+", -1: "\N{MINUS SIGN}", 0: "\N{PLUS-MINUS SIGN}"}
"""Signs of effects, for tables."""


def edges(findings: Findings) -> list[Edge]:
    """All edges, by target and then by source."""
    enters = findings.incidence != 0
    found = []
    for a, row in enumerate(findings.coefficients):
        for b, entered in enumerate(enters):
            terms = np.flatnonzero((row != 0) & entered).tolist()
            if terms:
                strength = _at(findings.edge_strength, a, b)
                sure = _confidence(findings, a, b, terms)
                sign = _at(findings.edge_sign, a, b)
                found.append(Edge(b, a, tuple(terms), strength, sure, sign))
    return found


def edge_words(findings: Findings, edge: Edge) -> str:
    """One edge in a sentence."""
    source, target = findings.variables[edge.source], findings.states[edge.target]
    names = listed([findings.terms[j] for j in edge.terms])
    on = "itself" if edge.source == edge.target else target
    text = f"{source} acts on {on} by {names}."
    if edge.sign:
        text += f" It {'raises' if edge.sign > 0 else 'lowers'} it."
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
