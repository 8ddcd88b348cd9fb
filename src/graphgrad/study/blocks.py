"""The values of a table, metric by metric."""

from typing import NamedTuple

import numpy as np

from .plan import Study
from .summary import LONG_TAILED, Summaries, Summary, Value

TIMES = ("seconds", "relative_seconds")
"""Metrics that differ between runs."""

DATA = "data"
"""Name of the row shared by all methods of a cell."""

SHARE = ".2f"
"""Format of values between 0 and 1."""


class Metric(NamedTuple):
    """Heading, unit and format of a metric."""

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
    "near": Metric("share with coefficient error below 0.1", 1, SHARE),
    "coefficient_error_median": Metric("coefficient error (%), median", 0.01),
    "spectral_error_median": Metric("coefficient error (spectral), median"),
    "converged_right": Metric("share right and `converged`", 1, SHARE),
    "converged_wrong": Metric("share wrong and `converged`", 1, SHARE),
    "covered": Metric("share of rates within 90 % intervals", 1, SHARE),
    "no_process_noise": Metric("share without process noise", 1, SHARE),
    "substeps": Metric("substeps"),
    "rho": Metric("rho", 1, ".4g"),
    "rho_low": Metric("rho, lower end of the 90 % interval", 1, ".4g"),
    "rho_high": Metric("rho, upper end of the 90 % interval", 1, ".4g"),
    "rho_error": Metric("error of rho"),
    "rho_covered": Metric("share of intervals with the true rho", 1, SHARE),
    "fit_seconds_median": Metric("seconds a fit, median"),
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
"""Metrics with a heading; others are shown by their name."""


class Line(NamedTuple):
    """A row of a table, one value per cell."""

    name: str
    values: tuple[Value | None, ...]
    printed: bool = False


class Block(NamedTuple):
    """The rows of one metric."""

    name: str
    metric: Metric
    lines: tuple[Line, ...]


def blocks(study: Study, table: Summaries) -> list[Block]:
    """Values of a study, metric by metric; times come last.

    Args:
        study: The study.
        table: Summary of its fits.
    """
    wanted = [name for name in study.metrics if name not in TIMES]
    for name in LONG_TAILED:
        if name in wanted:
            wanted.insert(wanted.index(name) + 1, f"{name}_median")
    made = [_block(name, study, table) for name in wanted]
    times = [name for name in study.metrics if name in TIMES]
    if "seconds" not in times:
        times.append("seconds")
    made += [_rejected(study, table), *(_block(name, study, table) for name in times)]
    return [block for block in made if block.lines]


def shown(study: Study, table: Summaries, times: bool) -> list[Block]:
    """The metrics to show: with or without times."""
    return [b for b in blocks(study, table) if times or b.name not in TIMES]


def metric(name: str) -> Metric:
    """Heading, unit and format of a metric."""
    return METRICS.get(name, Metric(name.replace("_", " ")))


def _block(name: str, study: Study, table: Summaries) -> Block:
    lines = [
        Line(f"{study.printed_by}: {row}", tuple(map(_printed, metrics[name])), True)
        for row, metrics in study.paper.items()
        if name in metrics
    ]
    for method in study.methods:
        values = [
            _value(name, table.get((cell.label, method))) for cell in study.columns
        ]
        if name == "relative_seconds":
            base = values[_base(study)]
            unit = np.nan if base is None else base.value
            values = [v and v._replace(value=v.value / unit) for v in values]
        if name == "seconds" and not study.alone:
            # The fits of a chunk share one time, so there is no spread.
            values = [v and v._replace(half=np.nan) for v in values]
        if any(value is not None for value in values):
            lines.append(Line(method, tuple(values)))
    return Block(name, metric(name), tuple(lines))


def _value(name: str, summary: Summary | None) -> Value | None:
    return None if summary is None else summary.values.get(name)


def _printed(value: float) -> Value | None:
    return Value(value) if np.isfinite(value) else None


def _base(study: Study) -> int:
    """The cell where the paper has 1, or the first one."""
    rows = [row.get("relative_seconds", ()) for row in study.paper.values()]
    return next((i for row in rows for i, value in enumerate(row) if value == 1), 0)


def _rejected(study: Study, table: Summaries) -> Block:
    """Share of divergent draws: all methods of a cell have the same data."""
    values = []
    for cell in study.columns:
        found = [
            value
            for method in study.methods
            if (value := _value("rejected", table.get((cell.label, method))))
        ]
        values.append(max(found, key=lambda value: value.fits, default=None))
    if all(value is None or value.value == 0 for value in values):
        return Block("rejected", metric("rejected"), ())
    line = Line(DATA, tuple(values))
    return Block("rejected", metric("rejected"), (line,))
