"""Lorenz 63 by length of the series: Sec. V-B, degrees 2 and 3."""

from ..plan import Cell, Study
from ..printed import printed

STEPS = (25, 50, 100, 200)


def _study(name: str, degree: int, dt: float) -> Study:
    return Study(
        name=name,
        title=f"Lorenz 63, degree {degree}, dt = {dt:g}",
        cells=tuple(
            Cell(f"T={T}", T, "lorenz63", {"dt": dt}, steps=T, degree=degree)
            for T in STEPS
        ),
        methods=("lasso",),
        paper=printed(f"lorenz63-d{degree}"),
    )


STUDIES = (_study("lorenz63-d2", 2, 0.025),)
