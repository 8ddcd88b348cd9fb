"""Time of a fit of Lorenz 63 by length and by degree: Sec. V-B."""

from ..plan import Cell, Study
from ..printed import printed

OPTIONS = {"dt": 0.02}
# Relative times do not depend on S.
SETTINGS = {"steps": 20}
ONE = (
    "One fit at a time, after compilation, on the series with dt = 0.02, which does "
    "not diverge. S = 20: relative times hardly depend on it."
)

STUDIES = (
    Study(
        name="lorenz63-runtime",
        title="Lorenz 63: time of a fit by length",
        cells=tuple(
            Cell(f"T={T}", T, "lorenz63", OPTIONS, steps=T, settings=SETTINGS)
            for T in (25, 50, 100, 200)
        ),
        methods=("b-graphgrad-time", "b-graphgrad-fixed-time", "adaptive-time"),
        metrics=("relative_seconds", "seconds"),
        paper=printed("lorenz63-runtime"),
        chunk=2,
        most={"b-graphgrad-time": 20, "b-graphgrad-fixed-time": 20},
        alone=True,
        remarks=(
            ONE,
            "b-graphgrad-time has batches growing by 10, so that its time grows with "
            "the square of T; b-graphgrad-fixed-time has five batches for any T, so "
            "that it grows in proportion to T.",
        ),
    ),
    Study(
        name="lorenz63-degree",
        title="Lorenz 63: time of a fit by degree, T = 50",
        cells=tuple(
            Cell(
                f"d={d}",
                d,
                "lorenz63",
                OPTIONS,
                steps=50,
                degree=d,
                settings=SETTINGS,
            )
            for d in (1, 2, 3, 4, 5, 6)
        ),
        methods=("b-graphgrad-time",),
        metrics=("relative_seconds", "seconds"),
        paper=printed("lorenz63-degree"),
        chunk=2,
        axis="degree",
        most={"b-graphgrad-time": 20},
        alone=True,
        remarks=(
            ONE,
            "The terms are evaluated in one matrix product, so that time grows more "
            "slowly than their number; the paper evaluated them one after another.",
        ),
    ),
)
