"""What the scripts of the gallery share: data of the study, and printed checks."""

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import graphgrad as gg
from graphgrad.diagnostics.baselines import fit_ar, fit_var
from graphgrad.study.real.sets import SETS, RealSet


class Data(NamedTuple):
    """A series of the study `real`, as frames.

    Attributes:
        about: Title, source and what is declared.
        y: The observed columns.
        inputs: Measured inputs, and sine and cosine of a declared season; or None.
        first: Number of rows for the fit; the others are held out.
    """

    about: RealSet
    y: pl.DataFrame
    inputs: pl.DataFrame | None
    first: int


def load(name: str) -> Data:
    """A series of the study `real`; needs the extra `peers`."""
    about = SETS[name]
    series = about.series()
    inputs = None
    if series.inputs is not None:
        inputs = pl.DataFrame(series.inputs, [*about.input_names])
    y = pl.DataFrame(series.values, [*about.columns])
    print(f"{about.title}.\nSource: {about.source}.\nLicence: {about.licence}.")
    return Data(about, y, inputs, about.first_origin(len(y)))


def say(model: gg.GraphGrad) -> None:
    """Print outcome, equations, doubts and verdicts on the residuals."""
    print(f"Outcome: {model.outcome_}")
    print("\n".join(model.equations()))
    for line in (*model.doubts_, *model.check_residuals()):
        print(textwrap.fill(f"- {line}", 88, subsequent_indent="  "))


def beside(
    model: gg.GraphGrad,
    y: pl.DataFrame,
    first: int,
    horizons: Sequence[int],
    inputs: pl.DataFrame | None = None,
) -> None:
    """Print errors of held-out forecasts beside persistence and an autoregression.

    Args:
        model: A fit of the first rows.
        y: All rows.
        first: Number of rows of the fit.
        horizons: Numbers of steps ahead.
        inputs: Of all rows, if the model has any.
    """
    rows, most = y.to_numpy(), max(horizons)
    origins = np.arange(first, len(rows) - most + 1)
    options: dict[str, Any] = {} if inputs is None else {"inputs": inputs}
    found = model.evaluate(y, most, origins.tolist(), **options)
    linear = (fit_ar if rows.shape[1] == 1 else fit_var)(rows[:first])
    ahead = linear.forecasts(rows, origins, most)
    true = np.stack([rows[t : t + most] for t in origins])
    spread = rows[:first].std(axis=0)
    name = "AR" if rows.shape[1] == 1 else "VAR"
    print("Errors of held-out rows, in standard deviations, and share in 90 % bands:")
    print(f"steps  graphgrad  persistence  {name:>5}  in band")
    for h in horizons:
        ours, last = (
            np.sqrt(np.mean((each[h - 1] / spread) ** 2))
            for each in (found.rmse, found.persistence)
        )
        other = np.sqrt(np.mean(((ahead - true)[:, h - 1] / spread) ** 2))
        inside = np.mean(found.coverage[h - 1])
        print(f"{h:5d}  {ours:9.2f}  {last:11.2f}  {other:5.2f}  {inside:7.0%}")
