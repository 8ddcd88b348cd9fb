"""Lorenz by noise and length, compared with ODR-BINDy: arXiv 2507.23426."""

from ..plan import Cell, Study
from ..published import published

PUBLISHED = published("lorenz-odr")
COLUMNS = {
    f"eps {eps} time {length}": (float(eps), length)
    for eps in PUBLISHED["exact"]
    for length in PUBLISHED["lengths"]
}
METHODS = ("flow-noise-given", "flow", "flow-ode-given")

STUDIES = (
    Study(
        name="lorenz-odr",
        title="Lorenz by noise and length, beside ODR-BINDy",
        cells=tuple(
            Cell(column, i, "lorenz-odr", {"eps": eps}, steps=100 * length)
            for i, (column, (eps, length)) in enumerate(COLUMNS.items())
        ),
        methods=METHODS,
        metrics=(
            "exact",
            "f1",
            "coefficient_error_median",
            "converged_wrong",
            "converged_right",
            "covered",
            "no_process_noise",
            "fit_seconds_median",
        ),
        drawn=("exact",),
        paper={
            "ODR-BINDy, noise given": {
                "exact": tuple(
                    share for shares in PUBLISHED["exact"].values() for share in shares
                )
            }
        },
        printed_by="published",
        most=dict.fromkeys(METHODS, 100),
        chunk=10,
        axis="cell",
        figure="panels",
        panels={
            f"units of time (eps = {eps})": {
                column: length
                for column, (size, length) in COLUMNS.items()
                if size == float(eps)
            }
            for eps in PUBLISHED["exact"]
        },
        folder="flows",
        remarks=(
            "Rows 0.01 apart from (-8, 8, 27), no process noise, degree 2. The noise "
            "has eps times the standard deviation of all entries of ten units of time, "
            "as in Lorenz_heatmap.m, which uses one seed for all repetitions; here "
            "each has its own.",
            "flow-noise-given is given the measurement noise, like ODR-BINDy; flow "
            "estimates it. Both estimate the process noise, too; how often it is zero "
            "is in the table. flow-ode-given is given that it is zero.",
            f"Published: {PUBLISHED['source']}.",
        ),
    ),
)
