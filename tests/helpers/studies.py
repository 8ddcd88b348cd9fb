"""A small study whose methods take no time, for processes that tests start."""

import os
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from graphgrad.study.plan import Cell, Draws, Results, Study


def sizes(cell: Cell, draws: Draws) -> Results:
    """Numbers that depend on the data alone, to the last digit; the data are spoilt."""
    ys = np.array(draws.observations)
    draws.observations[:] = 0
    return {
        "rmse": np.sqrt((ys**2).mean(axis=(1, 2))) * 1e-3,
        "f1": 1 / (1 + np.abs(ys[:, -1, 0])),
        "threads": np.full(len(ys), max(_threads())),
        "coefficients": ys[:, -2:],
    }


def _threads() -> list[int]:
    return [
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]


def lingering(cell: Cell, draws: Draws) -> Results:
    """The same, after a note of who is at it, and a while."""
    note = Path(cell.settings["folder"]) / f"{draws.seeds[0]} {os.getpid()}"
    note.touch()
    time.sleep(cell.settings["seconds"])
    return sizes(cell, draws)


def failing(cell: Cell, draws: Draws) -> Results:
    """Nothing in the second chunk."""
    if draws.seeds[0]:
        raise RuntimeError("no luck\ntoday")
    return sizes(cell, draws)


METHODS = {"sizes": sizes, "lingering": lingering, "failing": failing}


def study(*methods: str, **settings: object) -> Study:
    """Two cells of a linear system, in chunks of three."""
    return Study(
        "small",
        "A small study",
        tuple(
            Cell(f"T={T}", T, "damped_oscillator", steps=T, settings=settings)
            for T in (5, 9)
        ),
        methods,
        metrics=("rmse", "f1"),
        paper={"theirs": {"rmse": (0.002, float("nan"))}},
        chunk=3,
        remarks=("It means nothing.",),
    )
