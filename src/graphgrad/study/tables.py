"""The table of a study as Markdown and LaTeX."""

import numpy as np

from .blocks import Block, Line, Metric, blocks, shown
from .plan import Study
from .summary import Summaries, Value


def markdown(study: Study, table: Summaries, *, times: bool = True) -> str:
    """A table with one column per cell, and notes below it.

    Args:
        study: The study.
        table: Summary of its fits.
        times: Whether to show times, which differ between runs.
    """
    head = ["", "", "n", *(cell.label for cell in study.columns)]
    rows = [head, ["---", "---", *["---:"] * (len(head) - 2)]]
    for block in shown(study, table, times):
        rows += block_lines(block)
    drawn = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    said = "\n".join(f"- {note}" for note in notes(study, table))
    return f"{drawn}\n\n{said}\n"


def block_lines(block: Block) -> list[list[str]]:
    """Rows of one metric in Markdown."""
    rows = []
    for i, line in enumerate(block.lines):
        heading = f"**{block.metric.heading}**" if i == 0 else ""
        values = [_text(value, block.metric) for value in line.values]
        rows.append([heading, line.name, _count(line), *values])
    return rows


def latex(study: Study, table: Summaries, *, times: bool = True) -> str:
    """A `tabular`, for papers; it needs the package booktabs."""
    cells = " & ".join(_escaped(cell.label) for cell in study.columns)
    lines = [
        rf"\begin{{tabular}}{{ll{'r' * (1 + len(study.columns))}}}",
        r"\toprule",
        rf" &  & n & {cells} \\",
    ]
    for block in shown(study, table, times):
        lines.append(r"\midrule")
        for i, line in enumerate(block.lines):
            heading = _escaped(block.metric.heading) if i == 0 else ""
            values = [
                _text(v, block.metric).replace("±", r"$\pm$") for v in line.values
            ]
            row = [
                heading,
                _escaped(line.name),
                _count(line).replace("-", "--"),
                *values,
            ]
            lines.append(" & ".join(row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def notes(study: Study, table: Summaries) -> list[str]:
    """Notes for readers of the table."""
    said = [
        f"Mean ± half its 95 % interval over n realisations. Chunks of {study.chunk}.",
        *study.remarks,
    ]
    if not study.alone:
        said.append("Seconds are per fit, averaged over a chunk, with compilation.")
    absent = [
        name for name in study.methods if not any(name == method for _, method in table)
    ]
    if absent:
        said.append(f"Not run: {', '.join(absent)}.")
    for block in blocks(study, table):
        for line in block.lines if not block.name.endswith("_median") else ():
            lacking = [
                f"{value.fits - value.known} of {value.fits} fits at {cell.label}"
                for cell, value in zip(study.columns, line.values, strict=True)
                if value is not None and value.known < value.fits
            ]
            if lacking:
                what = f"{block.metric.heading}, {line.name}"
                said.append(f"{what}: no number in {', '.join(lacking)}.")
    return [*said, *(f"Made with {made}." for made in made_with(table))]


def made_with(table: Summaries) -> list[str]:
    """Each set of versions and devices used for the fits."""
    return sorted({made for summary in table.values() for made in summary.made})


def _text(value: Value | None, metric: Metric) -> str:
    if value is None:
        return ""
    if np.isnan(value.value):
        return "none"
    text = format(value.value / metric.unit, metric.format)
    if np.isnan(value.half):
        return text
    return f"{text} ± {format(value.half / metric.unit, metric.format)}"


def _count(line: Line) -> str:
    """Number of realisations; from least to most if cells differ."""
    counts = {v.fits for v in line.values if v is not None}
    if line.printed or not counts:
        return ""
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least}-{most}"


def _escaped(text: str) -> str:
    for mark in "&%_#":
        text = text.replace(mark, rf"\{mark}")
    return text
