"""Lorenz with process noise, only x1 observed, all known but rho: see dynestyx."""

from ..plan import Cell, Study
from ..published import published

PUBLISHED = published("lorenz-sde")
METHODS = ("flow-one-unknown",)

STUDIES = (
    Study(
        name="lorenz-sde",
        title="Lorenz with process noise, x1 seen at dt 0.04: rho",
        cells=(Cell("100 rows", 0, "lorenz-sde", steps=100),),
        methods=METHODS,
        metrics=(
            "rho",
            "rho_low",
            "rho_high",
            "rho_error",
            "rho_covered",
            "converged",
            "fit_seconds_median",
        ),
        drawn=("rho",),
        figure="intervals",
        paper={
            row: {metric: (value,) for metric, value in values.items()}
            for row, values in PUBLISHED["rows"].items()
        },
        printed_by="published",
        most=dict.fromkeys(METHODS, 100),
        chunk=10,
        axis="cell",
        folder="flows",
        remarks=(
            "Unit diffusion in every equation, x1 observed with unit variance at 100 "
            "times from 0 to 4, the initial state from N((1, 1, 1), 0.01 I), Heun's "
            "steps of 0.001. Noises and all coefficients but rho are known; rho is 28.",
            "Limits of intervals are means over draws; the share that contains 28 is "
            "counted. Seconds are medians: most fits reuse compiled programs. Those "
            "published are of one series, with compilation, on another machine.",
            f"Published: {PUBLISHED['source']}.",
        ),
    ),
)
