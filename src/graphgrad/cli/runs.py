"""Commands that read runs: `show`, `forecast`, `compare`."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import echo, interruptible, reported
from .unused_imports import UNUSED, put_off

Run = Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")]


@reported
def show(
    run: Run,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Print equations, graph and scores of a run.

    \b
    Examples:
      graphgrad show run/
      graphgrad show run/ --json
    """  # noqa: D301
    from .headers import read_header
    from .summary import as_json as json_of
    from .summary import summary

    header = read_header(run)
    if as_json:
        echo(json.dumps(json_of(header)))
        return
    for line in summary(header):
        echo(line)


@reported
def forecast(
    run: Run,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Number of steps of dt.", show_default="50, or rows of --inputs"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="CSV file to write.", show_default="standard output"),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of the bands.")] = 0.9,
    members: Annotated[int, typer.Option(help="Number of draws.")] = 200,
    seed: Annotated[
        int | None,
        typer.Option(help="Random seed.", show_default="that of the fit"),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet file of the future inputs, a row per step."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Forecast after the data of a run: means and bands of the states.

    \b
    Examples:
      graphgrad forecast run/ --steps 50 --out forecast.csv
      graphgrad forecast run/ --inputs future.csv
      graphgrad forecast run/ --steps 10 --level 0.5
    """  # noqa: D301
    from ..checks import check_at_least
    from ..data.clock import shown_times, time_name
    from ..registries import MOTIONS
    from .folder import check_file, new_file, write_bands
    from .headers import read_header
    from .inputs import future_inputs

    # Errors in the header are reported before JAX is imported.
    header = read_header(run)
    dynamics = MOTIONS[header["dynamics"]]
    future, steps = future_inputs(inputs, header.get("inputs") or [], steps)
    check_at_least("--steps", steps, 1, "It is the number of steps to forecast.")
    check_at_least("--members", members, 1, "200 give accurate bands.")
    if not 0 < level < 1:
        raise ValueError(f"`--level` must be between 0 and 1, got {level}.")
    check_file(out, force=force)
    estimator, ahead = interruptible(
        lambda: _ahead(
            run,
            steps=steps,
            members=members,
            level=level,
            random_state=seed,
            future_inputs=future,
        )
    )
    with new_file(out) as file:
        clock = estimator._fit.panel.series[0].clock
        times = [float(f"{time:.12g}") for time in ahead.times]
        when = (time_name(clock), shown_times(times, clock))
        names = estimator.state_names_
        write_bands(file, when, names, ahead.states.median, ahead.band())
    if ahead.message:
        echo(f"graphgrad: {ahead.message}", err=True)
    if ahead.rivals is not None:
        echo(ahead.rivals.sentence, err=True)
    if out is None:
        echo(f"Forecast of a {dynamics}.", err=True)
    else:
        echo(f"Wrote {out}: {steps} steps of a {dynamics}, with bands of {level:.0%}.")


@reported
def compare(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of runs.", metavar="RUN...")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Compare runs on the same data: information criteria and terms.

    \b
    Examples:
      graphgrad compare run1/ run2/
      graphgrad compare degree1/ degree2/ degree3/ --json
    """  # noqa: D301
    put_off(*UNUSED)
    from ..estimator import GraphGrad
    from ..registries import MOTIONS
    from .headers import read_header

    names = [str(run) for run in runs]
    if len(set(names)) < len(names):
        raise ValueError(f"`runs` must differ, got {' '.join(names)}.")
    headers = {name: read_header(run) for name, run in zip(names, runs, strict=True)}
    from ..estimator import compare_fits

    fits = {name: GraphGrad.load(run) for name, run in zip(names, runs, strict=True)}
    table = compare_fits(fits)
    terms = _terms(headers)
    kinds = {name: header["dynamics"] for name, header in headers.items()}
    if as_json:
        rows = [row._asdict() for row in table.rows]
        tests = [test._asdict() for test in table.tests]
        found = {"rows": rows, "tests": tests, "dynamics": kinds, "terms": terms}
        echo(json.dumps(found))
        return
    echo(table)
    for name, kind in kinds.items():
        echo(f"{name} is a {MOTIONS[kind]}.")
    if len(set(kinds.values())) > 1:
        echo("Coefficients of different dynamics are not comparable.")
    differ = {t: c for t, c in terms.items() if 0 < len(c) < len(names)}
    echo(f"Terms in all runs: {sum(len(c) == len(names) for c in terms.values())}")
    for term, coefficients in differ.items():
        values = ", ".join(f"{value:.3g} in {n}" for n, value in coefficients.items())
        echo(f"Only in some runs: {term}: {values}")


def _ahead(run: Path, **options: Any) -> tuple[Any, Any]:
    """The estimator of a run, and its forecast."""
    put_off(*UNUSED)
    from ..estimator import GraphGrad

    estimator = GraphGrad.load(run)
    with warnings.catch_warnings():
        # The warning is in `message`.
        warnings.simplefilter("ignore", UserWarning)
        ahead = estimator.forecast(**options)
    return estimator, ahead


def _terms(headers: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Nonzero coefficients by equation and term, and by run."""
    found: dict[str, dict[str, float]] = {}
    for name, header in headers.items():
        for state, row in zip(header["states"], header["coefficients"], strict=True):
            for term, value in zip(header["terms"], row, strict=True):
                if value:
                    found.setdefault(f"{term} in {state}", {})[name] = value
    return found
