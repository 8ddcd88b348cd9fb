"""`graphgrad fit`: a table in; equations, graph, states and a report out."""

import json
import sys
import time as clock
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .telling import interruptible, reported

if TYPE_CHECKING:
    from .reading import Table

LEVEL = 0.9
"""Probability of the bands in `states.csv`."""


@reported
def fit(
    data: Annotated[
        str | None,
        typer.Argument(help="CSV or Parquet file.", metavar="DATA", show_default=False),
    ] = None,
    degree: Annotated[
        int | None,
        typer.Option(help="Highest degree of the terms.", show_default="2"),
    ] = None,
    dt: Annotated[
        float | None,
        typer.Option(help="Length of a step.", show_default="median interval, or 1"),
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Folder of the run.", show_default="run")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns to take: x,y.", show_default="all but the times"),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column of times.", show_default="t or time, in any case"),
    ] = None,
    states: Annotated[
        str | None,
        typer.Option(
            help="Names of all states, of those never seen, too: x,y,z.",
            show_default="the columns",
        ),
    ] = None,
    state_noise: Annotated[
        str | None,
        typer.Option(help="Variance of a step's noise.", show_default="learn"),
    ] = None,
    observation_noise: Annotated[
        str | None,
        typer.Option(
            help="Variance of an observation's noise; one a column with commas.",
            show_default="learn",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(help="map or rate: what is to be sparse.", show_default="map"),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(help="auto, gaussian, particle or ensemble.", show_default="auto"),
    ] = None,
    solver: Annotated[
        str | None, typer.Option(help="adaptive or paper.", show_default="adaptive")
    ] = None,
    penalty: Annotated[
        float | None,
        typer.Option(help="How dear a term is, above 1 for fewer.", show_default="1"),
    ] = None,
    selection: Annotated[
        str | None,
        typer.Option(
            help="ebic, or held-out to choose the penalty.", show_default="ebic"
        ),
    ] = None,
    particles: Annotated[
        int | None,
        typer.Option(help="Particles of an engine with some.", show_default="100"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of all draws.", show_default="0")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file of options; those given here outdo it."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run in the folder.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Find equations and graph in a table of noisy observations.

    Names are in the first row; an empty cell, NaN or NA is missing; a column t or time
    says when. The folder of the run gets model.json, arrays.npz, graph.graphml,
    states.csv, config.toml and report.html.

    \b
    Examples:
      graphgrad fit data.csv
      graphgrad fit data.csv --degree 2 --dt 0.02 --out run/ --observation-noise 1.0
      graphgrad fit data.csv --columns prey,predator --form rate --json
      graphgrad fit --config run/config.toml --out again/
    """  # noqa: D301
    given = {
        name: value
        for name, value in locals().items()
        if name not in ("config", "force", "as_json")
    }
    from .folder import check_out, read_header
    from .options import gather
    from .reading import check_data, read_table
    from .summary import as_json as json_of
    from .summary import summary
    from .understanding import step, understood

    begin = clock.monotonic()
    options = gather(config, given)
    folder = Path(options["out"])
    check_data(Path(options["data"]))
    check_out(folder, force=force)
    try:
        table = read_table(
            Path(options["data"]), columns=options["columns"], time=options["time"]
        )
        if not as_json:
            for line in understood(table, options):
                typer.echo(line)
            sys.stdout.flush()
        options["dt"], _ = step(table, options["dt"])
        estimator = interruptible(lambda: _fitted(table, options))
        seconds = clock.monotonic() - begin
        _write(estimator, table, options, folder)
    except KeyboardInterrupt:
        passed = clock.monotonic() - begin
        said = f" after {passed:.0f} s; nothing was written to {folder}"
        raise KeyboardInterrupt(said) from None
    header = read_header(folder)
    if as_json:
        more = {"advice": estimator.advice_, "out": str(folder), "seconds": seconds}
        typer.echo(json.dumps(json_of(header, **more)))
        return
    typer.echo("")
    for line in summary(header):
        typer.echo(line)
    files = ", ".join(sorted(path.name for path in folder.iterdir()))
    typer.echo(f"\nWrote {folder}: {files} ({seconds:.0f} s).")


def _fitted(table: "Table", options: Mapping[str, Any]) -> Any:
    """The estimator after its fit; it shows how it goes on a terminal."""
    import polars as pl

    from ..estimator import GraphGrad

    estimator = GraphGrad(
        degree=options["degree"],
        dt=options["dt"],
        states=options["states"],
        state_noise=options["state_noise"],
        observation_noise=options["observation_noise"],
        solver=options["solver"],
        engine=options["engine"],
        penalty=options["penalty"],
        selection=options["selection"],
        n_particles=options["particles"],
        form=options["form"],
        # Solvers report where somebody listens; the estimator then shows it.
        callback=(lambda _: None) if sys.stderr.isatty() else None,
        random_state=options["seed"],
    )
    frame = pl.DataFrame(table.values, schema=list(table.names), orient="row")
    return estimator.fit(frame, times=table.times)


def _write(
    estimator: Any, table: "Table", options: Mapping[str, Any], out: Path
) -> None:
    """The folder of a run, whole or not at all."""
    import numpy as np

    from ..graph import save_graphml
    from .folder import new_folder, put, write_bands
    from .options import write_config

    times: Any = table.stamps
    if times is None:
        times = table.times
        if times is None:
            times = options["dt"] * np.arange(len(table.values))
        times = times.tolist()
    with new_folder(out) as folder:
        estimator.save(folder)
        save_graphml(estimator.graph(), folder / "graph.graphml")
        write_config(folder / "config.toml", options, out)
        states = estimator.smooth()
        when = (table.clock or "t", times)
        with (folder / "states.csv").open("w", newline="", encoding="utf-8") as file:
            names = estimator.state_names_
            write_bands(file, when, names, states.mean, states.band(LEVEL))
        put(folder, out)
