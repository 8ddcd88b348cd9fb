"""Kuramoto oscillators, which are not polynomial: Sec. V-D."""

from ..plan import Cell, Study
from ..printed import printed

METHODS = ("b-graphgrad-states", "pmle-states", "true-mle-states", "adaptive-states")
PAPERS = (
    "nRMSE: error of filtered means relative to that of the true model's filter, both "
    "by 100 bootstrap particles, as in the paper; nrmse gaussian: both by the extended "
    "Kalman filter. Every realisation has its own oscillators. Filters start at the "
    "state of the oscillators when observations begin. The figure shows medians of the "
    "first: the mean is dominated by series on which the particles fail."
)
SETTINGS = (
    "The paper states neither the degree nor S nor the number of realisations. "
    "b-graphgrad and pmle are as printed, with S = 50 and lambda = 1. true-mle knows "
    "the equations and estimates frequencies and coupling by maximum likelihood of the "
    "extended Kalman filter, started at the true ones."
)


def _study(name: str, n_states: int, degree: int, most: int, *remarks: str) -> Study:
    return Study(
        name=name,
        title=f"Kuramoto, {n_states} oscillators, degree {degree}",
        cells=tuple(
            Cell(
                f"T={T}",
                T,
                "kuramoto",
                {"n_states": n_states},
                steps=T,
                degree=degree,
                settings={"steps": 50},
            )
            for T in (25, 50, 100, 200)
        ),
        methods=METHODS,
        metrics=("nrmse", "nrmse_gaussian"),
        drawn=(
            "nrmse_median",
            "nrmse_gaussian",
        ),  # means show where particles fail
        paper=printed("kuramoto") if n_states == 20 else {},
        most={"b-graphgrad-states": most, "pmle-states": most},
        chunk=5 if n_states < 20 else 25,
        remarks=(PAPERS, SETTINGS, *remarks),
    )


STUDIES = (
    _study(
        "kuramoto",
        20,
        2,
        4,
        "The paper prints a figure and that B-GraphGrad's mean over T is about 1.2.",
        "20 oscillators take minutes per fit on two cores, including compilation: on a "
        "CPU run only some cells, or `kuramoto-small`.",
    ),
    _study(
        "kuramoto-small",
        5,
        3,
        20,
        "Five oscillators instead of 20, so that the study runs on two cores, and "
        "degree 3, the lowest that can approximate a sine.",
    ),
)
