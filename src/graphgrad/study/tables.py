"""The table of a study as Markdown, CSV and LaTeX."""

import csv
import io
from collections.abc import Iterable

import numpy as np

from .plan import Found, Study
from .summary import TIMES, Block, Line, Metric, Value, blocks


def markdown(study: Study, found: Found, *, times: bool = True) -> str:
    """A table with one column a cell, and what a reader must know below it.

    Args:
        study: The study.
        found: What is stored of it.
        times: Whether times are shown, which no two runs share.
    """
    head = ["", "", "n", *(cell.label for cell in study.cells)]
    rows = [head, ["---", "---", *["---:"] * (len(head) - 2)]]
    for block in _shown(study, found, times):
        for i, line in enumerate(block.lines):
            heading = f"**{block.metric.heading}**" if i == 0 else ""
            values = [_text(value, block.metric) for value in line.values]
            rows.append([heading, line.name, _count(line), *values])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    said = "\n".join(f"- {note}" for note in notes(study, found))
    return f"{table}\n\n{said}\n"


def as_csv(study: Study, found: Found, *, times: bool = True) -> str:
    """One line a number, to the last digit: for other programs."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = ("study", "metric", "row", "source", "cell", "x", "value", "half", "n")
    writer.writerow(columns)
    for block in _shown(study, found, times):
        for line in block.lines:
            source = "paper" if line.printed else "ours"
            for cell, value in zip(study.cells, line.values, strict=True):
                if value is not None:
                    number = (_plain(value.value), _plain(value.half))
                    place = (study.name, block.name, line.name, source)
                    count = "" if line.printed else value.known
                    writer.writerow((*place, cell.label, cell.x, *number, count))
    return file.getvalue()


def latex(study: Study, found: Found, *, times: bool = True) -> str:
    """A `tabular`, for papers; it needs the package booktabs."""
    cells = " & ".join(_escaped(cell.label) for cell in study.cells)
    lines = [
        rf"\begin{{tabular}}{{ll{'r' * (1 + len(study.cells))}}}",
        r"\toprule",
        rf" &  & n & {cells} \\",
    ]
    for block in _shown(study, found, times):
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


def notes(study: Study, found: Found) -> list[str]:
    """What a reader of the table must know."""
    said = [
        f"Mean ± half its 95 % interval over n realisations. Chunks of {study.chunk}.",
        *study.remarks,
    ]
    if not study.alone:
        said.append("Seconds are those of a chunk over its fits, with compilation.")
    absent = [
        name for name in study.methods if not any(name == method for _, method in found)
    ]
    if absent:
        said.append(f"Not run: {', '.join(absent)}.")
    for block in blocks(study, found):
        for line in block.lines if not block.name.endswith("_median") else ():
            lacking = [
                f"{value.fits - value.known} of {value.fits} fits at {cell.label}"
                for cell, value in zip(study.cells, line.values, strict=True)
                if value is not None and value.known < value.fits
            ]
            if lacking:
                what = f"{block.metric.heading}, {line.name}"
                said.append(f"{what}: no number in {', '.join(lacking)}.")
    return [*said, *(f"Made with {made}." for made in made_with(found))]


def made_with(found: Found) -> list[str]:
    """Each set of versions and devices that fits were made with."""
    return sorted(
        {
            ", ".join(f"{part} {version}" for part, version in used.items())
            for fits in found.values()
            for used in fits.versions
        }
    )


def _shown(study: Study, found: Found, times: bool) -> Iterable[Block]:
    return [b for b in blocks(study, found) if times or b.name not in TIMES]


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
    """How many realisations; from least to most where cells differ."""
    counts = {v.fits for v in line.values if v is not None}
    if line.printed or not counts:
        return ""
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least}-{most}"


def _plain(value: float) -> str:
    return "" if np.isnan(value) else repr(value)


def _escaped(text: str) -> str:
    for mark in "&%_#":
        text = text.replace(mark, rf"\{mark}")
    return text
