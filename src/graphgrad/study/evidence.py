"""Printed numbers compared with attainable ones: data, errors, scores."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .blocks import blocks
from .plan import Cell, Study
from .summary import Summaries, Value

YARDSTICK = "support-known"
"""The method that is given the support."""


def as_stated(study: Study) -> bool:
    """Whether the data are as the paper states them, by the name of the study."""
    return not study.name.endswith(("-stable", "-small"))


class RanAway(NamedTuple):
    """Share of divergent draws of a cell."""

    study: str
    cell: str
    share: float
    draws: int


class Below(NamedTuple):
    """A printed error and that of the yardstick."""

    study: str
    cell: str
    row: str
    stated: bool
    printed: float
    yardstick: Value
    median: float


class Scores(NamedTuple):
    """A printed specificity, and those implied by recall and precision."""

    study: str
    cell: str
    printed: float
    nonzero: float
    zero: float


def ran_away(
    studies: Sequence[Study], tables: Mapping[str, Summaries]
) -> list[RanAway]:
    """Cells with divergent draws."""
    return [
        RanAway(
            *(study.name, cell.label, value.value),
            round(value.known / (1 - value.value)),
        )
        for study in studies
        for block in blocks(study, tables[study.name])
        if block.name == "rejected"
        for line in block.lines
        for cell, value in zip(study.cells, line.values, strict=True)
        if value is not None and value.value > 0
    ]


def errors(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> list[Below]:
    """Every printed error of the paper's method that has a yardstick."""
    made = []
    for study in studies:
        for row, metrics in study.paper.items():
            printed = metrics.get("rmse", ())
            for cell, error in zip(study.cells, printed, strict=False):
                summary = tables[study.name].get((cell.label, YARDSTICK))
                if summary is None or np.isnan(error):
                    continue
                mean, middle = map(summary.values.get, ("rmse", "rmse_median"))
                if mean is not None and middle is not None and mean.known:
                    place = (study.name, cell.label, row, as_stated(study))
                    made.append(Below(*place, error, mean, middle.value))
    return made


def scores(studies: Sequence[Study]) -> list[Scores]:
    """Each printed specificity with those implied by recall and precision."""
    made = []
    for study in filter(as_stated, studies):
        for metrics in study.paper.values():
            if not {"specificity", "recall", "precision"} <= set(metrics):
                continue
            for i, cell in enumerate(study.cells):
                named = ("specificity", "recall", "precision")
                specificity, recall, precision = (metrics[name][i] for name in named)
                nonzero, zero = _entries(cell)
                if zero and np.isfinite([specificity, recall, precision]).all():
                    place = (study.name, cell.label, specificity)
                    usual = implied_specificity(recall, precision, nonzero, zero)
                    other = implied_specificity(recall, precision, zero, nonzero)
                    made.append(Scores(*place, usual, other))
    return made


def implied_specificity(
    recall: float, precision: float, positives: int, negatives: int
) -> float:
    """The specificity implied by a recall and a precision.

    Of P positives, R P are found; with precision p, R P (1 - p) / p negatives are found
    as well, which are false positives.

    Examples:
        >>> implied_specificity(1.0, 0.5, positives=7, negatives=14)
        0.5
    """
    alarms = recall * positives * (1 - precision) / precision
    return 1 - alarms / negatives


def _entries(cell: Cell) -> tuple[int, int]:
    """Numbers of nonzero and of zero entries of the true coefficients."""
    from .draws import system_of

    system = system_of(cell, 0)
    if system.degree is None:
        return 0, 0
    truth = np.asarray(system.coefficients(cell.degree, dynamics="map"))
    return int(np.count_nonzero(truth)), int(np.sum(truth == 0))
