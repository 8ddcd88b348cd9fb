"""The summary of a fit as text: size, outcome, equations, edges, residuals."""

from typing import Any

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..data.series import time_line
from ..diagnostics.alternatives import noticeable
from ..diagnostics.residuals import fit_residuals, residual_verdicts
from ..fits.record import Fit
from ..registries import MOTIONS
from ..report.text import listed
from .equations import fit_equations, fit_graph

MOST_EDGES = 20
"""Most edges that are listed."""


def fit_summary(
    key: PRNGKeyArray,
    fit: Fit,
    edge_confidence: Float[np.ndarray, "Nx Nv"] | None = None,
) -> str:
    """Summary as text; edges with their confidence, if it is given."""
    rows = sum(len(series.values) for series in fit.panel.series)
    series = len(fit.panel.series)
    there = fit.solution.departures() != 0
    found, given = int(np.sum(there)), int(np.sum(there & ~fit.estimated))
    possible = max(fit.task.n_free + given, found)
    source = f"{rows} rows" + (f" of {series} series" if series > 1 else "")
    outcome = f"Outcome: {fit.outcome.name}. {fit.advice}"
    if fit.doubted:
        edge_confidence = None  # it holds if the model is right
    blocks = [
        [
            f"{_count(len(fit.layout.present), 'state')} from {source}, in steps of "
            f"{fit.dt:g}: a {MOTIONS[fit.dynamics]}.",
            *filter(None, [time_line(fit.panel)]),
            f"{found} of {possible} candidate terms "
            f"{'is' if found == 1 else 'are'} selected"
            f"{f', {given} of them given' if given else ''}.",
            *([] if fit.search is None else [fit.search.words]),
            *["No process noise is needed."] * fit.needs_no_noise,
            *fit.notes,
        ],
        [
            *fit_equations(fit, align=True),
            *(other.sentence for other in noticeable(fit)),
        ],
        _edges(fit, fit_graph(fit, edge_confidence)),
        [
            f"Residuals of {line}"
            for line in residual_verdicts(fit, fit_residuals(key, fit))
        ],
    ]
    if fit.outcome.good:
        blocks[0].append(outcome)
    else:
        blocks.insert(0, [outcome])
    return "\n\n".join("\n".join(block) for block in blocks)


def _edges(fit: Fit, graph: Any) -> list[str]:
    """One sentence per edge, of the strongest if there are many."""
    n = fit.n_present
    errors, away = fit.standard_errors[:n], np.abs(fit.solution.departures()[:n])
    known = errors > 0
    z_scores = np.divide(away, errors, out=np.full(away.shape, np.inf), where=known)
    edges = list(graph.edges(data=True))
    if len(edges) > MOST_EDGES:
        strongest = sorted(edges, key=lambda edge: -edge[2].get("strength", 0.0))
        edges = strongest[:MOST_EDGES]
    lines = []
    for source, target, data in edges:
        i = fit.layout.present.index(target)
        columns = [fit.layout.terms.index(term) for term in data["terms"]]
        best = float(max(z_scores[i, j] for j in columns))
        how = f"{best:.0f} standard errors from 0" if best < np.inf else "as given"
        if "confidence" in data:
            how += f", confidence {100 * data['confidence']:.0f} %"
        object_ = "itself" if source == target else target
        lines.append(
            f"{source} acts on {object_} through {_listed(data['terms'])}, {how}."
        )
    moved = {target for _, target in graph.edges}
    lines += [f"Nothing acts on {s}." for s in fit.layout.present if s not in moved]
    left = graph.number_of_edges() - len(edges)
    return [*lines, f"{left} weaker edges are not listed."] if left else lines


def _listed(names: tuple[str, ...]) -> str:
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more terms"
    return listed(list(names))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
