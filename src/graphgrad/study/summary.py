"""From fits to the numbers of a table: means, intervals, medians."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from .plan import Fits, Found, Study

TIMES = ("seconds", "relative_seconds")
"""What no two runs share."""


SHARE = ".2f"
"""Format of what lies between 0 and 1."""


class Metric(NamedTuple):
    """How a metric is shown: its heading, its unit, its format."""

    heading: str
    unit: float = 1
    format: str = ".3g"


METRICS = {
    "rmse": Metric("RMSE (1e-3)", 1e-3),
    "rmse_median": Metric("RMSE (1e-3), median", 1e-3),
    "rmse_nonzero": Metric("RMSE of entries found (1e-3)", 1e-3),
    "mean_abs_where_zero": Metric("mean size of entries that are 0 (1e-3)", 1e-3),
    "f1": Metric("F1", 1, SHARE),
    "precision": Metric("precision", 1, SHARE),
    "recall": Metric("recall", 1, SHARE),
    "specificity": Metric("specificity", 1, SHARE),
    "f1_zero": Metric("F1 of the zeros", 1, SHARE),
    "precision_zero": Metric("precision of the zeros", 1, SHARE),
    "exact": Metric("share of exact supports", 1, SHARE),
    "degenerate": Metric("share of fits that degenerated", 1, SHARE),
    "undecided": Metric("share of fits that were undecided", 1, SHARE),
    "nrmse": Metric("nRMSE", 1, ".3f"),
    "nrmse_median": Metric("nRMSE, median", 1, ".3f"),
    "nrmse_gaussian": Metric("nRMSE, extended Kalman filter", 1, ".3f"),
    "links": Metric("links found"),
    "links_wrong": Metric("links with wrong terms"),
    "links_missed": Metric("links missed"),
    "links_invented": Metric("links invented"),
    "steps": Metric("steps before the likelihood vanishes"),
    "steps_product": Metric("the same, by the product of all weights"),
    "agreed": Metric("share of runs whose starts agreed", 1, SHARE),
    "agreeing": Metric("share of starts that agreed", 1, SHARE),
    "batches": Metric("share of batches", 1, SHARE),
    "work": Metric("share of filter steps", 1, SHARE),
    "rejected": Metric("share of draws that ran away", 1, SHARE),
    "seconds": Metric("seconds a fit"),
    "relative_seconds": Metric("median time, relative"),
}
"""Metrics that have a name of their own; others are shown as they are called."""


class Value(NamedTuple):
    """One number of a table; `half` is half its 95 % interval, NaN if there is none.

    `known` of `fits` fits have a number.
    """

    value: float
    half: float = np.nan
    known: int = 0
    fits: int = 0


class Line(NamedTuple):
    """A row of a table, one value a cell."""

    name: str
    values: tuple[Value | None, ...]
    printed: bool = False


class Block(NamedTuple):
    """The rows of one metric."""

    name: str
    metric: Metric
    lines: tuple[Line, ...]


def blocks(study: Study, found: Found) -> list[Block]:
    """Numbers of a study, metric by metric; times come last.

    Args:
        study: The study.
        found: What is stored of it.
    """
    wanted = [name for name in study.metrics if name not in TIMES]
    for name in ("rmse", "nrmse"):  # which have long tails
        if name in wanted:
            wanted.insert(wanted.index(name) + 1, f"{name}_median")
    made = [_block(name, study, found) for name in wanted]
    times = [name for name in study.metrics if name in TIMES]
    if "seconds" not in times:
        times.append("seconds")
    made += [_rejected(study, found), *(_block(name, study, found) for name in times)]
    return [block for block in made if block.lines]


def interval(values: np.ndarray) -> float:
    """Half the 95 % interval of a mean, by Student's law; NaN for a single value.

    Examples:
        >>> round(interval(np.array([1.0, 2.0, 3.0])), 3)
        2.484
    """
    n = len(values)
    if n < 2:
        return np.nan
    return float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(n))


def summarise(name: str, fits: Fits, base: float = 1) -> Value | None:
    """The number of a metric in one cell.

    Args:
        name: The metric.
        fits: All fits of the cell.
        base: What `relative_seconds` are relative to.
    """
    if name in TIMES:
        values = fits.seconds
    else:
        values = fits.metrics.get(name.removesuffix("_median"))
    if values is None:
        return None
    known = values[np.isfinite(values)]
    counts = (len(known), len(values))
    if not len(known):
        return Value(np.nan, np.nan, *counts)
    if name == "relative_seconds" or name.endswith("_median"):
        return Value(float(np.median(known)) / base, np.nan, *counts)
    return Value(float(np.mean(known)), interval(known), *counts)


def metric(name: str) -> Metric:
    """How a metric is shown."""
    return METRICS.get(name, Metric(name.replace("_", " ")))


def _block(name: str, study: Study, found: Found) -> Block:
    lines = [
        Line(f"paper: {row}", tuple(map(_printed, metrics[name])), True)
        for row, metrics in study.paper.items()
        if name in metrics
    ]
    for method in study.methods:
        fits = [found.get((cell.label, method)) for cell in study.cells]
        base = _base(study, fits) if name == "relative_seconds" else 1.0
        values = tuple(None if f is None else summarise(name, f, base) for f in fits)
        if name == "seconds" and not study.alone:
            # The fits of a chunk have one time, so that their spread says nothing.
            values = tuple(v and v._replace(half=np.nan) for v in values)
        if any(value is not None for value in values):
            lines.append(Line(method, values))
    return Block(name, metric(name), tuple(lines))


def _printed(value: float) -> Value | None:
    return Value(value) if np.isfinite(value) else None


def _base(study: Study, fits: Sequence[Fits | None]) -> float:
    """Median time in the cell where the paper has 1, or in the first one."""
    rows = [row.get("relative_seconds", ()) for row in study.paper.values()]
    ones = [i for row in rows for i, value in enumerate(row) if value == 1]
    there = fits[ones[0] if ones else 0]
    return np.nan if there is None else float(np.median(there.seconds))


def _rejected(study: Study, found: Found) -> Block:
    """Share of draws that ran away: all methods of a cell have the same data."""
    values = []
    for cell in study.cells:
        fits = [
            found[cell.label, method]
            for method in study.methods
            if (cell.label, method) in found
        ]
        most = max(fits, key=lambda f: len(f.seeds), default=None)
        gone = None if most is None else most.metrics.get("rejected")
        if gone is None or not np.isfinite(gone).all():
            values.append(None)
            continue
        share = float(gone.sum() / (gone.sum() + len(gone)))
        values.append(Value(share, np.nan, len(gone), len(gone)))
    if all(value is None or value.value == 0 for value in values):
        return Block("rejected", metric("rejected"), ())
    line = Line("data", tuple(values))
    return Block("rejected", metric("rejected"), (line,))
