"""The sections of the page, as HTML, with placeholders for the script's drawings."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .downloads import downloads
from .edges import Edge
from .findings import Findings
from .mathml import equation, formula, plain_equation, term
from .tables import coefficient_table, edge_table, pairs_table, skill_table
from .text import number, prose, safe
from .words import DYNAMICS_WORDS, drivers, no_confidence, summary

# Longer lists are collapsed.
MOST_OPEN = 8
# Long equations scroll, also by keyboard.
_REGION = 'role="region" tabindex="0" aria-label="Equations"'


class Section(NamedTuple):
    """A section of the page.

    Attributes:
        name: Its heading, and the text of links to it.
        body: HTML below its heading.
    """

    name: str
    body: str

    @property
    def key(self) -> str:
        """Its `id`: the last word of the name in lower case."""
        return self.name.split()[-1].lower()


def sections(
    findings: Findings, found: list[Edge], content: Mapping[str, Any]
) -> list[Section]:
    """All sections with contents."""
    kept = [
        Section("Summary", _summary(findings, found)),
        Section("Equations", _equations(findings)),
        Section("Graph", _graph(findings, found)),
    ]
    residuals = []
    if content["residuals"] or findings.verdicts or findings.skills:
        residuals = [Section("Residuals", _residuals(findings, content["residuals"]))]
    if findings.residuals_first:
        kept[1:1], residuals = residuals, []
    if content["panels"]:
        kept.append(Section("States", _states(findings, content["panels"])))
    if content["free"]:
        kept.append(Section("Free run", _free(findings)))
    if content["portrait"]:
        kept.append(Section("Phase portrait", _portrait(findings)))
    kept.append(Section("Coefficients", _coefficients(findings)))
    if content["path"]:
        kept.append(Section("Regularisation path", _path(content["path"])))
    kept += residuals
    if content["fans"]:
        kept.append(Section("Forecast", _forecast(findings)))
    kept.append(Section("Downloads", _downloads(findings, found)))
    if findings.settings or findings.versions:
        kept.append(Section("Settings", _settings(findings)))
    return kept


def templates(findings: Findings, content: Mapping[str, Any]) -> str:
    """Formulas of the terms, for the script to copy."""
    return "".join(
        f'<span data-term="{j}">{formula(term(findings, int(j)))}</span>'
        for j in content["terms"]
    )


def _summary(findings: Findings, found: list[Edge]) -> str:
    paragraphs = "".join(f"<p>{prose(line)}</p>" for line in summary(findings, found))
    lines = "".join(f"<li>{safe(line)}</li>" for line in drivers(findings, found))
    body = f'<ul class="drivers">{lines}</ul>'
    if len(findings.states) > MOST_OPEN:
        body = _folded("What each state depends on", body)
    outcome = ""
    if findings.outcome:
        good = findings.outcome in ("converged", "completed")
        outcome = (
            f'<p class="outcome{" good" * good}"><strong>'
            f"{safe(findings.outcome.replace('_', ' '))}</strong> "
            f"{prose(findings.advice)}</p>"
        )
    return outcome + body + paragraphs + _scores(findings.scores)


def _scores(scores: Mapping[str, Any]) -> str:
    cells = "".join(
        f"<div><dt>{safe(name)}</dt><dd>"
        f"{number(value, digits=6) if isinstance(value, float) else safe(value)}"
        "</dd></div>"
        for name, value in scores.items()
    )
    return f'<dl class="scores">{cells}</dl>' if cells else ""


def _equations(findings: Findings) -> str:
    numbers = range(len(findings.states))
    shown = "".join(equation(findings, a) for a in numbers)
    rounding = ""
    if findings.standard_errors is not None:
        rounding = (
            '<p class="note">Coefficients are rounded to the second digit of their '
            "standard error.</p>"
        )
    plain = "\n".join(safe(plain_equation(findings, a)) for a in numbers)
    more = _folded("As text", f'<pre tabindex="0">{plain}</pre>')
    if findings.latex:
        lines = "\n".join(map(safe, findings.latex))
        more += _folded("As LaTeX", f'<pre tabindex="0">{lines}</pre>')
    others = "".join(
        _folded(safe(sentence), f'<pre tabindex="0">{safe(chr(10).join(lines))}</pre>')
        for sentence, lines in findings.alternatives
    )
    words = DYNAMICS_WORDS[findings.dynamics]
    if findings.time_unit:
        words = words.replace("unit of time", findings.time_unit)
    kind = f'<p class="note">{safe(words)}</p>'
    shown = f'<div class="equations" {_REGION}>{shown}</div>'
    return f"{kind}{shown}{rounding}{others}{more}"


def _graph(findings: Findings, found: list[Edge]) -> str:
    slider = f'<p class="note">{no_confidence(findings)}</p>'
    if any(edge.confidence is not None for edge in found):
        slider = (
            '<p class="control"><label for="threshold">Hide arrows with confidence '
            'below</label> <input type="range" id="threshold" min="0" max="100" '
            'value="0" step="1"> <output id="threshold-value" for="threshold">0 %'
            "</output></p>"
        )
    notes = (
        "An arrow from a to b means that a acts on b in the equations: it is "
        "predictive under the model. A common driver that was not observed is the "
        "usual way in which it is wrong. "
    )
    if any(edge.sign is not None for edge in found):
        notes += (
            "+ means that more of a raises b, \N{MINUS SIGN} that it lowers it, "
            "\N{PLUS-MINUS SIGN} that this depends on the state. "
        )
    if any(edge.strength is not None for edge in found):
        notes += "Its width shows the strength. "
    if any(edge.confidence is not None for edge in found):
        notes += "Its opacity shows the confidence; it is dashed below 50 %. "
    if findings.inputs:
        notes += "Squares are inputs. "
    return (
        f'{slider}<div class="graph-and-detail"><div class="picture" '
        'id="graph-picture"></div><div class="detail" id="graph-detail" '
        'aria-live="polite"></div></div>'
        f'<p class="note">{notes}Nodes can be dragged, or moved with the arrow keys.'
        "</p>"
        '<p class="control"><span id="graph-count" role="status"></span> '
        '<button type="button" id="graph-reset">Reset nodes</button></p>'
        + _folded("The graph as a table", edge_table(findings, found))
    )


def _states(findings: Findings, made: list[dict[str, Any]]) -> str:
    notes = []
    if findings.means is not None:
        notes.append("Lines are smoothed states")
        if findings.bands is not None:
            notes[-1] += ", bands cover 90 %"
    if findings.data is not None:
        notes.append("Dots are data, grey areas are gaps")
    if findings.breaks:
        notes.append(
            f"There are {len(findings.breaks) + 1} series, one after another, "
            "separated by vertical lines"
        )
    if any(panel.get("thinned") for panel in made):
        notes.append(
            f"At most {max(p['drawn'] for p in made)} of {made[0]['all']} rows are "
            "drawn per panel: the lowest and the highest of each group of rows, so "
            "that no extreme value is hidden, and some dots between them"
        )
    left = max(panel.get("gapsLeft", 0) for panel in made)
    if left:
        notes.append(f"Up to {left} of the shortest gaps per panel are not marked")
    note = "".join(f"{line}. " for line in notes)
    return f'<p class="note">{note}</p><div class="panels" id="state-panels"></div>'


def _free(findings: Findings) -> str:
    note = (
        "The line is what the equations do on their own: from the first smoothed "
        "state, without noise and without the data. Dots are data. "
    )
    if findings.free_run is not None and np.isnan(findings.free_run).any():
        note += "The equations diverge: the line ends where they leave the data. "
    note += "Noise that drives the states, and chaos, let a right model depart too."
    return f'<p class="note">{note}</p><div class="panels" id="free-panels"></div>'


def _downloads(findings: Findings, found: list[Edge]) -> str:
    made = downloads(findings, found)
    texts = "".join(
        f'<template data-file="{each.file}" data-kind="{each.kind}">{safe(each.text)}'
        "</template>"
        for each in made
    )
    buttons = "".join(
        f'<button type="button" class="download" data-for="{each.file}">{each.label}'
        "</button> "
        for each in made
    )
    picture = '<button type="button" id="graph-svg">Graph (SVG)</button>'
    left = ""
    if findings.times is not None and not any(d.kind == "text/csv" for d in made):
        left = '<p class="note">The table of states is too large for this page.</p>'
    return f'<p class="control">{buttons}{picture}</p>{left}{texts}'


def _portrait(findings: Findings) -> str:
    first, second = findings.states[:2]
    note = "Arrows show the direction of dx/dt, longer for a larger rate. "
    if findings.means is not None:
        note += "The line shows smoothed states. "
    if findings.data is not None:
        note += "Dots are data. "
    if len(findings.states) > 2:
        note += (
            f"{safe(first)} and {safe(second)} are the first two of "
            f"{len(findings.states)} states; for the arrows the others are held at "
            "their means, so the line need not follow them. "
        )
    return f'<p class="note">{note}</p><div class="panels" id="portrait-panel"></div>'


def _coefficients(findings: Findings) -> str:
    extra = []
    if findings.standard_errors is not None:
        extra.append("the standard error after ±")
    if findings.term_confidence is not None:
        extra.append("the confidence of the term below it")
    detail = f", with {' and '.join(extra)}" if extra else ""
    left = int(np.sum(~np.any(findings.coefficients != 0, axis=0)))
    return (
        f'<p class="note">One row per equation{detail}. Blue is positive, orange '
        "negative; darker is larger relative to the other coefficients of a term. "
        f"{left} terms without nonzero coefficients are left out.</p>"
        + coefficient_table(findings)
    )


def _path(path: Mapping[str, Any]) -> str:
    last = len(path["steps"]) - 1
    at = last if path["chosen"] is None else path["chosen"]
    left = f" {path['left']} penalties are left out to keep the file small."
    return (
        '<p class="note">As the penalty decreases, more terms enter. These are the '
        "coefficients of the search along the regularisation path; those at the chosen "
        f"penalty are the equations above.{left * bool(path['left'])}</p>"
        '<p class="control"><label for="penalty">Penalty per term</label> '
        f'<input type="range" id="penalty" min="0" max="{last}" value="{at}" step="1"> '
        '<output id="penalty-value" for="penalty"></output></p>'
        '<div class="picture" id="path-picture"></div>'
        '<div class="path-now"><div class="equations" id="path-equations" '
        f"{_REGION}></div>"
        '<div class="picture" id="path-graph"></div></div>'
    )


def _residuals(findings: Findings, made: list[dict[str, Any]]) -> str:
    verdicts = "".join(f"<li>{prose(line)}</li>" for line in findings.verdicts)
    body = f'<ul class="verdicts">{verdicts}</ul>' if verdicts else ""
    if findings.skills:
        body += (
            '<p class="note">Errors of one-step predictions, on the same rows: root '
            "mean squares in the unit of the column.</p>" + skill_table(findings.skills)
        )
    if not made:
        return body
    options = "".join(
        f'<option value="{i}">{safe(each["name"])}</option>'
        for i, each in enumerate(made)
    )
    return (
        f'{body}<p class="control"><label for="column">Residuals of</label> '
        f'<select id="column">{options}</select></p>'
        '<p class="note" id="residual-words" role="status"></p>'
        '<div class="panels three" id="residual-panels"></div>'
        '<p class="note">Residuals are one-step prediction errors divided by their '
        "expected standard deviation. For a correct model they are standard normal "
        "and uncorrelated.</p>"
    )


def _forecast(findings: Findings) -> str:
    low, high = findings.forecast_levels[0], findings.forecast_levels[-1]
    share = f"{100 * (high - low):.0f} %"
    return (
        f'<p class="note">The line is the median; the widest band covers {share} of '
        "the forecast distribution. The smoothed states precede it."
        f" {safe(findings.forecast_note)}</p>"
        '<div class="panels" id="forecast-panels"></div>'
    )


def _settings(findings: Findings) -> str:
    parts = {"Settings of the fit": findings.settings, "Versions": findings.versions}
    return "".join(pairs_table(name, each) for name, each in parts.items() if each)


def _folded(name: str, body: str) -> str:
    return f"<details><summary>{name}</summary>{body}</details>"
