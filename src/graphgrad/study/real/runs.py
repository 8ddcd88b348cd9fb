"""Runs the study `real`: each method on each set, stored and resumed like others."""

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ..plan import Cell, Study
from ..store import Store
from ..tasks import Methods, Outcome, Row, Task, attempt, tasks_of, versions
from .peers import PEERS, Forecasts
from .sets import SETS, RealSet, Series

OURS = "ours"

SETTINGS: Mapping[str, Any] = {"degree": 2, "dt": 1.0, "lags": "auto"}
"""Settings of every fit; rows are one unit of time apart."""


MEMBERS = 1000
"""Members of each forecast; with few, chance makes medians and bands uneven."""


class Result(NamedTuple):
    """Forecasts of a method on a set, and what it says of its fit.

    Attributes:
        forecasts: `(origins, horizon, Ny, 3)`.
        facts: Outcome, equations, verdicts on the residuals and doubts of ours; by
            name, in words.
    """

    forecasts: Forecasts
    facts: Mapping[str, str]


Results = Mapping[tuple[str, str], Result]
"""Results by set and method."""


def study() -> Study:
    """The study, with one cell per set; what is declared is part of its digest."""
    return Study(
        name="real",
        title="Forecasts of real series",
        cells=tuple(
            Cell(
                label=name,
                x=float(i),
                system="real",
                degree=SETTINGS["degree"],
                settings={
                    "horizons": one.horizons,
                    "declared": one.declared,
                    "fit": dict(SETTINGS),
                },
            )
            for i, (name, one) in enumerate(SETS.items())
        ),
        methods=(OURS, *PEERS),
        chunk=1,
        folder="real",
        keep_coefficients=True,
    )


def execute(
    tasks: Iterable[Task], methods: Methods = None
) -> Iterator[tuple[Task, Outcome]]:
    """One task after another, in this process."""
    for task in tasks:
        yield task, attempt(task, methods, _row)


def _row(task: Task, _: Methods) -> list[Row]:
    begin = time.perf_counter()
    forecasts, facts = forecast_set(SETS[task.cell.label], task.method)
    return [Row(0, {**facts}, time.perf_counter() - begin, versions(), forecasts)]


def forecast_set(of: RealSet, method: str) -> Result:
    """Forecasts of one method."""
    series = of.series()
    if method == OURS:
        return ours(of, series)
    return Result(PEERS[method](of, series), {})


def ours(of: RealSet, series: Series) -> Result:
    """Ours: fitted once to the first rows, and run over the later ones as a filter."""
    from ...estimator import GraphGrad

    origins = of.origins(len(series.values))

    def rows(until: int | None) -> dict[str, Any]:
        frames = {"y": pl.DataFrame(series.values[:until], [*of.columns])}
        if series.inputs is not None:
            frames["inputs"] = pl.DataFrame(series.inputs[:until], [*of.input_names])
        return frames

    model = GraphGrad(**SETTINGS).fit(**rows(int(origins[0])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # forecasts that diverge are counted
        found = model.evaluate(
            **rows(None),
            horizon=max(of.horizons),
            origins=origins.tolist(),
            members=MEMBERS,
        )
    ends = np.moveaxis(found.bands, -1, 0)
    facts = {
        "outcome": model.outcome_,
        "equations": "\n".join(model.equations()),
        "verdicts": "\n".join(model.check_residuals()),
        "doubts": "\n".join(model.doubts_),
        "diverged": f"{found.diverged[-1]:.3f}",
    }
    return Result(np.stack([found.forecasts, *ends], axis=-1), facts)


def stored(results: Store) -> Results:
    """What the store has."""
    made = {}
    for (name, method), fits in results.of_cells(study(), 1).items():
        assert fits.coefficients is not None
        facts = {key: str(values[0]) for key, values in fits.metrics.items()}
        made[name, method] = Result(fits.coefficients[0], facts)
    return made


def tasks(methods: list[str] | None, cells: list[str] | None) -> list[Task]:
    """The tasks of the study."""
    return tasks_of(study(), 1, methods=methods, cells=cells)
