"""Lorenz 96 by length of the series: Sec. V-C, degrees 2 and 3."""

from ..plan import Cell, Study
from ..printed import printed
from ..wording import (
    BOUNDED,
    ORACLES,
    PEERS,
    RECOVERY,
    STABLE,
    STATED,
    WEAK,
    as_printed,
)

METHODS = (
    "b-graphgrad",
    "pmle",
    "adaptive",
    "support-known",
    "states-known",
    "lasso",
    "sindy-stlsq",
    "sindy-weak",
)
STEPS = 20
LARGE = (
    "20 states take minutes per fit on two cores, including compilation: on a CPU run "
    "only some cells, or the smaller studies that end in `-small`."
)
MISPRINT = "The paper prints 0.32 for pMLE at T = 25; 3.2 is probably meant."
SMALL = (
    "Fewer states than the paper's 20, so that the study runs on two cores. The paper "
    "has no numbers for it."
)


def _study(degree: int, name: str, dt: float, n_states: int, *remarks: str) -> Study:
    few = n_states < 20
    capped = 4 if degree == 2 else 2
    return Study(
        name=f"lorenz96-d{degree}{name}",
        title=f"Lorenz 96, {n_states} states, degree {degree}, dt = {dt:g}",
        cells=tuple(
            Cell(
                f"T={T}",
                T,
                "lorenz96",
                {"dt": dt, "n_states": n_states},
                steps=T,
                degree=degree,
                settings={"steps": STEPS},
            )
            for T in (25, 50, 100, 200)
        ),
        methods=METHODS,
        metrics=RECOVERY,
        paper={} if few else printed(f"lorenz96-d{degree}"),
        most={
            "b-graphgrad": capped,
            "pmle": capped,
            "sindy-stlsq": 20,
            "sindy-weak": 20,
        },
        chunk=5 if few else 25,
        remarks=(
            *remarks,
            *([MISPRINT] if degree == 3 and not few else []),
            as_printed(STATED, steps=STEPS, most=capped),
            ORACLES,
            PEERS,
            WEAK,
        ),
    )


STUDIES = tuple(
    study
    for degree, fewer in ((2, 6), (3, 5))
    for study in (
        _study(degree, "", 0.025, 20, BOUNDED, LARGE),
        _study(degree, "-stable", 0.01, 20, STABLE, LARGE),
        _study(degree, "-small", 0.01, fewer, SMALL),
    )
)
