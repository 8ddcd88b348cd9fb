"""The summary in sentences: which variables act on each state, and confidence."""

import numpy as np

from .edges import Edge
from .findings import Findings
from .text import listed, number, percent

SURE, NEARLY = 0.9, 0.995

DYNAMICS_WORDS = {
    "flow": "A flow: the terms of an equation add up to dx/dt, the change per unit of "
    "time.",
    "map": "A map: the terms of an equation add up to the next value.",
    "difference": "A difference: the terms of an equation add up to the change per "
    "step.",
}
"""Meaning of the equations for each dynamics."""


def summary(findings: Findings, found: list[Edge]) -> list[str]:
    """Sentences for the top of the page, followed by those of the findings."""
    return [_size(findings, found), *_confidence(findings, found), *findings.summary]


def drivers(findings: Findings, found: list[Edge]) -> list[str]:
    """One sentence per state: the variables in its equation."""
    lines = []
    for a, state in enumerate(findings.states):
        into = [edge for edge in found if edge.target == a]
        # Other variables come first: they are of most interest.
        into.sort(key=lambda edge: edge.source == a)
        names = [_named(findings, edge) for edge in into]
        constant = _constant(findings, a)
        if not names:
            moved = " a constant only" if constant else " nothing: its equation is 0"
            lines.append(f"{state} depends on{moved}.")
        else:
            names += ["a constant"] * constant
            lines.append(f"{state} depends on {listed(names)}.")
    return lines


def _named(findings: Findings, edge: Edge) -> str:
    own = edge.source == edge.target
    name = "itself" if own else findings.variables[edge.source]
    return name if edge.confidence is None else f"{name} ({percent(edge.confidence)})"


def _constant(findings: Findings, a: int) -> bool:
    alone = ~(findings.incidence != 0).any(axis=0)
    return bool(np.any(findings.coefficients[a, alone] != 0))


def _size(findings: Findings, found: list[Edge]) -> str:
    entered = int(np.sum(findings.coefficients != 0))
    links = sum(edge.source != edge.target for edge in found)
    possible = findings.coefficients.size
    return (
        f"Of {possible} possible terms, {entered} enter the equations of "
        f"{_count(len(findings.states), 'state')}. They form "
        f"{_count(links, 'link')} between different variables."
    )


def _confidence(findings: Findings, found: list[Edge]) -> list[str]:
    lines = []
    known = [edge for edge in found if edge.confidence is not None]
    if known:
        sure = sum((edge.confidence or 0) >= SURE for edge in known)
        least = min(known, key=lambda edge: edge.confidence or 0)
        ends = findings.variables[least.source], findings.states[least.target]
        line = (
            f"{sure} of {_count(len(known), 'arrow')} of the graph, self-loops "
            f"included, have a confidence of at least {percent(SURE)}."
        )
        if (least.confidence or 0) < NEARLY:
            how = percent(least.confidence or 0)
            line += f" The lowest is that of {ends[0]} on {ends[1]}, {how}."
        lines.append(line)
    elif found:
        lines.append(no_confidence(findings))
    errors = findings.standard_errors
    if errors is not None:
        known_error = (np.abs(findings.coefficients) > 0) & (errors > 0)
        if known_error.any():
            sizes = np.abs(findings.coefficients[known_error]) / errors[known_error]
            lines.append(
                "Given these terms, every coefficient is at least "
                f"{number(float(sizes.min()), digits=2)} standard errors from zero."
            )
    return lines


def no_confidence(findings: Findings) -> str:
    """Why no confidence is shown."""
    if findings.residuals_first:
        return "No confidence is shown: it holds only if the model is right."
    return "Confidence was not computed."


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
