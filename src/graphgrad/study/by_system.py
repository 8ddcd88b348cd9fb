"""Results per system: which systems each method recovers."""

import csv
import io
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..solution import Outcome
from .plan import Fits, Found, Study

COLUMNS = (
    *("system", "column", "method", "fits", "exact", "converged_wrong", "error"),
    *("substeps", "seconds", "outcomes"),
)


class OfSystem(NamedTuple):
    """The fits of a method to a system in a column of the table.

    Attributes:
        fits: Number of fits.
        exact: Number of fits with exactly the true terms.
        outcomes: Outcomes of the fits, if known.
    """

    system: str
    column: str
    method: str
    fits: int
    exact: int
    outcomes: str


def is_by_system(study: Study) -> bool:
    """Whether the cells of a study are systems."""
    return all("name" in cell.options for cell in study.cells)


def systems_csv(study: Study, found: Found, before: str = "") -> str:
    """One row per system, column and method.

    Args:
        study: The study.
        found: Its fits, by cell.
        before: An earlier table; of each row the version with more fits is kept.
    """
    old = {
        (row["system"], row["column"], row["method"]): [row[name] for name in COLUMNS]
        for row in csv.DictReader(io.StringIO(before))
    }
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cell in study.cells:
        for method in study.methods:
            place = (cell.options["name"], cell.column, method)
            line, fits = old.get(place), found.get((cell.label, method))
            if fits is not None and (line is None or len(fits.seeds) >= int(line[3])):
                line = [*place, len(fits.seeds), *_numbers(fits)]
            if line is not None:
                writer.writerow(line)
    return file.getvalue()


def _numbers(fits: Fits) -> list[object]:
    def of(name: str) -> np.ndarray:
        return fits.metrics.get(name, np.full(len(fits.seeds), np.nan))

    def shown(value: float) -> str:
        return "" if np.isnan(value) else f"{value:.4g}"

    codes = of("outcome")
    ended = [Outcome(int(code)).name for code in codes[np.isfinite(codes)]]
    return [
        int(np.nansum(of("exact"))),
        shown(of("converged_wrong").sum()),
        shown(float(np.median(of("coefficient_error")))),
        shown(of("substeps").max()),
        shown(float(np.median(of("fit_seconds")))),
        " ".join(ended),
    ]


def from_systems_csv(text: str) -> list[OfSystem]:
    """The exact fits according to such a table."""
    return [
        OfSystem(
            *(row["system"], row["column"], row["method"]),
            int(row["fits"]),
            int(row["exact"]),
            row["outcomes"],
        )
        for row in csv.DictReader(io.StringIO(text))
    ]


def wrong(rows: list[OfSystem], method: str) -> Mapping[str, list[OfSystem]]:
    """By column, the systems that a method does not recover in every fit."""
    made = {}
    for row in rows:
        if row.method == method:
            made.setdefault(row.column, [])
            if row.exact < row.fits:
                made[row.column].append(row)
    return made
