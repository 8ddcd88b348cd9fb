"""81 flows from an external source, by noise and by sampling; 48 are held out."""

from ..flow_systems import FlowSystem, flow_systems, for_development
from ..plan import Cell, Study

COLUMNS = {
    f"{points}/period {noise} %": (points, noise)
    for points, noise in (
        *((100, noise) for noise in (1, 5, 10, 20)),
        *((points, 1) for points in (50, 25, 12)),
    )
}
METHODS = (
    "flow",
    "stlsq-bic",
    "stlsq-smoothed-bic",
    "stlsq-truth",
    "ensemble-bic",
    "ensemble-truth",
    "weak-bic",
    "weak-truth",
)
SEEDS = 3

DATA = (
    "Flows of the package dysts 0.96 (arXiv 2110.05266): all 81 of 2 to 4 states with "
    "polynomial rates. One series of 500 rows each, from the initial state in dysts, "
    "integrated to 1e-12; no process noise; measurement noise in per cent of each "
    "column's standard deviation; three draws of the noise. Methods know only the "
    "degree of the system and the time between rows."
)
HALVES = (
    "Systems whose name has a SHA-256 that begins with an even byte are for "
    "development (33); the others (48) are held out, and are run after development has "
    "ended."
)
OURS = (
    "flow is `GraphGrad(degree=d, dt=dt).fit(y)`. A fit that reports that the interval "
    "is too long for a flow and returns a map counts as one without any term. Right "
    "and wrong refer to all terms of all equations; intervals of rates are counted if "
    "all terms are right."
)
PEERS = (
    "Peers are PySINDy's, with 26 thresholds from 1e-4 to 10 and a ridge of 0.05 or "
    "1e-6, selected by BIC of the regression that is solved, or by the truth: the "
    "highest F1, which no user can know. stlsq: sequentially thresholded least squares "
    "of finite differences, or smoothed over eleven rows; by the truth the better of "
    "the two. ensemble: the median of 20 bagged fits, every third threshold, ridge "
    "0.05. weak: 200 windows of 9 rows, which suits BIC best; by the truth of 9, 17 or "
    "51."
)
ERRORS = (
    "Coefficient error: of each fit the median over the true terms of the relative "
    "error, where a missing term counts as 1; then the median over fits. Intervals are "
    "of means over systems, whose three draws count as one."
)


def shape(system: FlowSystem) -> tuple[int, int]:
    """The shape that a program is compiled for: states and degree."""
    return len(system.states), system.degree


def _cells(development: bool) -> tuple[Cell, ...]:
    """By system, those of one shape one after another: they compile once."""
    systems = sorted(
        (s for s in flow_systems().values() if for_development(s.name) == development),
        key=lambda system: (shape(system), system.name),
    )
    return tuple(
        Cell(
            f"{system.name} {column}",
            i,
            "flow",
            {"name": system.name, "points": points, "noise": noise / 100},
            steps=500,
            degree=system.degree,
            settings={"column": column},
        )
        for system in systems
        for i, (column, (points, noise)) in enumerate(COLUMNS.items())
    )


def _study(name: str, title: str, development: bool) -> Study:
    return Study(
        name=name,
        title=title,
        cells=_cells(development),
        methods=METHODS,
        metrics=(
            "exact",
            "f1",
            "coefficient_error_median",
            "converged_wrong",
            "converged_right",
            "covered",
            "substeps",
            "no_process_noise",
            "fit_seconds_median",
        ),
        drawn=("exact", "coefficient_error_median"),
        most=dict.fromkeys(METHODS, SEEDS),
        chunk=SEEDS,
        axis="cell",
        figure="panels",
        panels={
            "noise in % (100 points per period)": {
                column: noise for column, (p, noise) in COLUMNS.items() if p == 100
            },
            "points per period (1 % noise)": {
                column: points for column, (points, n) in COLUMNS.items() if n == 1
            },
        },
        folder="flows",
        remarks=(DATA, HALVES, OURS, PEERS, ERRORS),
    )


STUDIES = (
    _study("flows", "33 flows of dysts, for development", True),
    _study("flows-held-back", "48 flows of dysts, held back", False),
)
