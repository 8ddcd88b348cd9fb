"""`graphgrad fit`: fit equations to a table and write the folder of a run."""

import json
import time as clock
from pathlib import Path
from typing import Annotated, Any

import typer

from ..registries import ENGINES, SELECTIONS, SOLVERS
from .terminal import echo, listed, reported


@reported
def fit(
    data: Annotated[
        str | None,
        typer.Argument(
            help="CSV, Parquet or Excel file.", metavar="DATA", show_default=False
        ),
    ] = None,
    degree: Annotated[
        int | None,
        typer.Option(help="Highest degree of the terms.", show_default="2"),
    ] = None,
    dt: Annotated[
        float | None,
        typer.Option(
            help="Time from row to row, in the unit of time.",
            show_default="median interval of the times",
        ),
    ] = None,
    time_unit: Annotated[
        str | None,
        typer.Option(
            help="Unit of time of dates: second, minute, hour, day, week, month, year; "
            "or auto, by the median interval.",
            show_default="auto",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Folder of the run.", show_default="run")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns to read: x,y.", show_default="all but the times"),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="Column of times; index for a first column without a name.",
            show_default="t, time, date, year, ...",
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            help="Numbers or texts that mean missing: -9999,?; none to take numbers "
            "such as -9999 as values.",
            show_default="empty, NA, NaN, null",
        ),
    ] = None,
    day_first: Annotated[
        bool | None,
        typer.Option(
            "--day-first/--no-day-first",
            help="Whether 01/02/1999 is 1 February.",
            show_default="as the dates show",
        ),
    ] = None,
    states: Annotated[
        str | None,
        typer.Option(
            help="Names of all states, including hidden ones: x,y,z.",
            show_default="the columns",
        ),
    ] = None,
    state_noise: Annotated[
        str | None,
        typer.Option(
            help="Variance of the process noise: per unit of time for a flow, which "
            "may have none, 0; per step otherwise.",
            show_default="learn",
        ),
    ] = None,
    observation_noise: Annotated[
        str | None,
        typer.Option(
            help="Variance of the measurement noise; one per column with commas.",
            show_default="learn",
        ),
    ] = None,
    dynamics: Annotated[
        str | None,
        typer.Option(
            help="flow: dx/dt is a sum of terms; map: x[t+1] is; difference: "
            "x[t+1] - x[t] is; auto: flow if times or --dt are given, else map.",
            show_default="auto",
        ),
    ] = None,
    form: Annotated[str | None, typer.Option(hidden=True)] = None,
    engine: Annotated[
        str | None,
        typer.Option(help=f"{listed('auto', *ENGINES)}.", show_default="auto"),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help=f"{listed('adaptive', *SOLVERS)}; paper is b-graphgrad.",
            show_default="adaptive",
        ),
    ] = None,
    penalty: Annotated[
        float | None,
        typer.Option(help="Penalty of a term, above 1 for fewer.", show_default="1"),
    ] = None,
    selection: Annotated[
        str | None,
        typer.Option(
            help=f"{listed(*SELECTIONS)}; all but ebic also choose the penalty.",
            show_default="ebic",
        ),
    ] = None,
    particles: Annotated[
        int | None,
        typer.Option(help="Particles or ensemble members.", show_default="100"),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(
            help="Columns that are exogenous inputs: u,v.", show_default="none"
        ),
    ] = None,
    inputs_between: Annotated[
        str | None,
        typer.Option(
            help="held or linear: inputs of a flow between rows.",
            show_default="held",
        ),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            help="A constraint, such as 'known(x2, x1, 0.5)'; may be repeated.",
            metavar="KIND(...)",
            show_default="none",
        ),
    ] = None,
    lags: Annotated[
        str | None,
        typer.Option(
            help="Delayed states and inputs: a number of steps, x=2,u=3, or auto.",
            show_default="0",
        ),
    ] = None,
    hidden: Annotated[
        str | None,
        typer.Option(
            help="Hidden states h1, h2, ...: their number, or auto.", show_default="0"
        ),
    ] = None,
    seasons: Annotated[
        str | None,
        typer.Option(
            help="Periods whose sine and cosine are inputs: 12, year=365.25, or auto.",
            show_default="none",
        ),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(
            help="Origin of the terms, (x - c): x=273.15, x=0, or auto.",
            show_default="auto",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            help="Probabilities of terms: x1^3=0.01, or of a degree: degree 2=0.1.",
            show_default="by the criterion",
        ),
    ] = None,
    symmetry: Annotated[
        str | None,
        typer.Option(
            help="Equal coefficients of all states: cyclic, a ring in the order of the "
            "columns; exchangeable; auto, by the criterion; or none.",
            show_default="auto",
        ),
    ] = None,
    refits: Annotated[
        int | None,
        typer.Option(
            help="Refits on resampled blocks, for the confidence in each term.",
            show_default="0",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed.", show_default="0")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file of options; those given here override it."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run in the folder.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a fit that was stopped.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Fit sparse equations and a graph to a table of noisy observations.

    The first row has the names; an empty cell, NaN or NA is missing; a column t, time,
    date or year has the times. The folder of the run gets model.json, arrays.npz,
    graph.graphml, states.csv, config.toml and report.html.

    \b
    Examples:
      graphgrad fit data.csv
      graphgrad fit data.csv --degree 2 --dt 0.02 --out run/ --observation-noise 1.0
      graphgrad fit data.csv --columns prey,predator --dynamics map --json
      graphgrad fit data.csv --constraint 'forbid(x1, x3)' --refits 20
      graphgrad fit data.csv --states x,v --constraint 'velocity(x, v)'
      graphgrad fit sunspots.csv --dynamics map --lags 2
      graphgrad fit furnace.csv --inputs gas --lags auto --dynamics map
      graphgrad fit --config run/config.toml --out again/
    """  # noqa: D301
    given = {
        name: value
        for name, value in locals().items()
        if name not in ("config", "force", "resume", "as_json", "constraint")
    }
    given["constraints"] = constraint or None
    from .job import fit_and_write
    from .options import gather, with_flags
    from .summary import as_json as json_of
    from .summary import run_header, summary

    options = gather(config, given)
    begin = clock.monotonic()

    def show(fitted: Any) -> None:
        # Before anything is written, which may fail.
        echo("")
        for line in summary(run_header(fitted)):
            echo(line)

    silent = {"echo": lambda _: None}
    spoken = {"echo": echo, "show": show}
    estimator, folder, fault = fit_and_write(
        options, force=force, resume=resume, **(silent if as_json else spoken)
    )
    seconds = clock.monotonic() - begin
    if as_json:
        more = {
            "advice": with_flags(estimator.advice_),
            "out": str(folder),
            "seconds": seconds,
        }
        echo(json.dumps(json_of(run_header(estimator), **more)))
    else:
        files = ", ".join(sorted(path.name for path in folder.iterdir()))
        echo(f"\nWrote {folder}: {files} ({seconds:.0f} s).")
    if fault:
        raise ValueError(fault)
    if not as_json:
        echo(f"To view the report, open {folder / 'report.html'} in a browser.")
