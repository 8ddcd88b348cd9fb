"""The table of a study as CSV: for other programs, and to be extended later."""

import csv
import io
from hashlib import sha256

import numpy as np

from .blocks import DATA, shown
from .plan import Study
from .summary import Summaries, Summary, Value
from .tasks import configuration

COLUMNS = (
    *("study", "metric", "row", "source", "cell", "x", "value", "half", "n", "fits"),
    *("configuration", "made"),
)
"""Columns of the CSV table; the last two are set once per method and cell."""


def as_csv(study: Study, table: Summaries, *, times: bool = True) -> str:
    """One row per number, in full precision: for other programs, and for `from_csv`."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    written = set()
    for block in shown(study, table, times):
        for line in block.lines:
            source = "paper" if line.printed else "ours"
            for cell, value in zip(study.columns, line.values, strict=True):
                if value is None:
                    continue
                place = (cell.label, line.name)
                once = ["", ""]
                if place in table and place not in written:
                    made = "; ".join(table[place].made)
                    once = [_configuration(study, cell.label), made]
                    written.add(place)
                counts = ["", ""] if line.printed else [value.known, value.fits]
                writer.writerow(
                    [
                        *(study.name, block.name, line.name, source),
                        *(cell.label, cell.x, _plain(value.value), _plain(value.half)),
                        *(*counts, *once),
                    ]
                )
    return file.getvalue()


def from_csv(study: Study, text: str) -> dict[tuple[str, str], Summary]:
    """Summaries of the fits, from a table written earlier.

    Cells whose configuration has changed since are left out.
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or set(rows[0]) != set(COLUMNS):
        raise ValueError(
            f"{study.name}.csv must have the columns {', '.join(COLUMNS)}. "
            "Remove it, and the page uses only the stored results."
        )
    now = {cell.label: _configuration(study, cell.label) for cell in study.columns}
    values: dict[tuple[str, str], dict[str, Value]] = {}
    for row in rows:
        value, half = (float(row[name] or "nan") for name in ("value", "half"))
        known, fits = (int(row[name] or 0) for name in ("n", "fits"))
        place = (row["cell"], row["row"])
        values.setdefault(place, {})[row["metric"]] = Value(value, half, known, fits)
    return {
        (row["cell"], row["row"]): Summary(
            # All methods of a cell have the same data.
            values.get((row["cell"], DATA), {}) | values[row["cell"], row["row"]],
            int(row["fits"]),
            tuple(row["made"].split("; ")),
        )
        for row in rows
        if row["configuration"] and now.get(row["cell"]) == row["configuration"]
    }


def _configuration(study: Study, column: str) -> str:
    """Digest of the cells of a column."""
    each = [configuration(c, study.chunk) for c in study.cells if c.column == column]
    return (
        each[0] if len(each) == 1 else sha256("".join(each).encode()).hexdigest()[:16]
    )


def _plain(value: float) -> str:
    return "" if np.isnan(value) else repr(value)
