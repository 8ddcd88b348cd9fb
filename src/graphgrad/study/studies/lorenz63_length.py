"""Lorenz 63 by length of the series: Sec. V-B, degrees 2 and 3."""

from ..plan import Cell, Study
from ..printed import printed
from ..wording import (
    BOUNDED,
    METHODS,
    MOST,
    ORACLES,
    PEERS,
    RECOVERY,
    STABLE,
    TUNED,
    WEAK,
    WEIGHTS,
    as_printed,
)


def cells(degree: int, dt: float) -> tuple[Cell, ...]:
    """The four lengths of the paper."""
    return tuple(
        Cell(
            f"T={T}",
            T,
            "lorenz63",
            {"dt": dt},
            steps=T,
            degree=degree,
            settings={"weight": WEIGHTS[degree]},
        )
        for T in (25, 50, 100, 200)
    )


def _study(degree: int, dt: float, name: str, remark: str) -> Study:
    return Study(
        name=f"lorenz63-d{degree}{name}",
        title=f"Lorenz 63, degree {degree}, dt = {dt:g}",
        cells=cells(degree, dt),
        methods=METHODS,
        metrics=RECOVERY,
        paper=printed(f"lorenz63-d{degree}"),
        most=MOST,
        chunk=5,
        remarks=(remark, as_printed(TUNED), ORACLES, PEERS, WEAK),
    )


STUDIES = (
    _study(2, 0.025, "", BOUNDED),
    _study(2, 0.02, "-stable", STABLE),
    _study(3, 0.025, "", BOUNDED),
    _study(3, 0.02, "-stable", STABLE),
)
