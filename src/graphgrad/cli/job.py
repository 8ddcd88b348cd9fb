"""A fit from a file to a folder: read, fit, write atomically."""

import dataclasses
import sys
import time as clock
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..data.clock import shown_times
from ..data.constraints import read_constraints
from ..data.files import Table, check_data, read_table
from ..data.series import row_times
from ..registries import MOTIONS
from .folder import check_out, new_folder, put, write_bands
from .options import with_flags, write_config
from .preview import (
    dynamics_of,
    expected_seconds,
    late_line,
    names_of,
    preview,
    state_names,
    step,
)
from .summary import header_equations
from .terminal import interruptible

LEVEL = 0.9
"""Probability of the bands in `states.csv`."""


def fit_and_write(
    options: dict[str, Any],
    *,
    force: bool,
    echo: Callable[[str], Any],
    show: Callable[[Any], Any] = lambda _: None,
) -> Any:
    """Fit a file, write the folder of the run, and return the estimator.

    Args:
        options: Options from `gather`; `dt` is filled in.
        force: Whether to replace a run in the folder.
        echo: Called with each line of output.
        show: Called with the fitted estimator before the folder is written.

    Raises:
        KeyboardInterrupt: With lines about the state of the fit.
    """
    begin, latest = clock.monotonic(), []
    out = Path(options["out"])
    check_data(Path(options["data"]))
    check_out(out, force=force)
    try:
        table = read_table(
            Path(options["data"]),
            columns=options["columns"],
            inputs=options["inputs"],
            time=options["time"],
            time_unit=options["time_unit"],
            missing=options["missing"],
            day_first=options["day_first"],
        )
        for line in preview(table, options):
            echo(line)
        sys.stdout.flush()
        kind, _ = dynamics_of(table, options)
        if table.series.times is not None:
            options["dt"], _ = step(table, options["dt"])
        if table.series.clock is not None:
            options["time_unit"] = table.series.clock.unit or options["time_unit"]
        tell = late_line(expected_seconds(table, options), echo)
        estimator = interruptible(lambda: _fitted(table, options, latest, tell))
        if estimator.dynamics_ != kind:
            echo(
                f"Dynamics changed to {MOTIONS[estimator.dynamics_]}: the interval is "
                f"too long for a {kind}, and the extended BIC is lower."
            )
        show(estimator)
        sys.stdout.flush()
        with new_folder(out) as folder:
            interruptible(lambda: _write_files(folder, estimator, table, options))
            put(folder, out)
    except KeyboardInterrupt:
        passed = clock.monotonic() - begin
        note = f" after {passed:.0f} s; nothing was written to {out}"
        raise KeyboardInterrupt(note, *_so_far(latest, options)) from None
    return estimator


def _fitted(
    table: Table,
    options: Mapping[str, Any],
    latest: list[Any],
    tell: Callable[[float], None],
) -> Any:
    """Fit the estimator, and refit for confidence if requested."""
    from ..estimator import GraphGrad

    begin = clock.monotonic()

    def listen(progress: Any) -> None:
        latest[:] = [(progress, table)]
        tell(clock.monotonic() - begin)

    estimator = GraphGrad(
        degree=options["degree"],
        dt=options["dt"],
        time_unit=options["time_unit"],
        states=options["states"],
        state_noise=options["state_noise"],
        observation_noise=options["observation_noise"],
        solver=options["solver"],
        engine=options["engine"],
        penalty=options["penalty"],
        selection=options["selection"],
        n_particles=options["particles"],
        dynamics=options["dynamics"],
        inputs_between=options["inputs_between"],
        constraints=read_constraints(options["constraints"] or ()),
        lags=options["lags"],
        hidden=options["hidden"],
        seasons=options["seasons"],
        origin=options["origin"],
        prior=options["prior"],
        callback=listen,
        random_state=options["seed"],
    )
    estimator.fit(table.series, inputs=table.inputs)
    if options["refits"]:
        estimator.stability(options["refits"])
    return estimator


def _write_files(
    folder: Path, estimator: Any, table: Table, options: Mapping[str, Any]
) -> None:
    """Write the files of a run."""
    from ..graph import save_graphml
    from ..report import write_report

    times = shown_times(row_times(table.series, estimator.dt_), table.series.clock)
    estimator.save(folder)
    save_graphml(estimator.graph(), folder / "graph.graphml")
    write_config(folder / "config.toml", options, Path(options["out"]))
    states = estimator.smooth()
    when = (table.clock or "t", times)
    with (folder / "states.csv").open("w", newline="", encoding="utf-8") as file:
        names = estimator.state_names_
        write_bands(file, when, names, states.mean, states.band(LEVEL))
    name = Path(options["data"]).name
    found = estimator._findings(title=f"What acts on what in {name}")
    found = dataclasses.replace(
        found,
        advice=with_flags(found.advice),
        summary=tuple(map(with_flags, found.summary)),
    )
    write_report(folder / "report.html", found)


def _so_far(latest: list[Any], options: Mapping[str, Any]) -> list[str]:
    """Equations of an interrupted fit, if any."""
    if not latest or getattr(latest[0][0], "coefficients", None) is None:
        return []
    from ..library import Polynomial

    progress, table = latest[0]
    states = state_names(table, options)
    variables = [*states, *names_of(table.inputs)]
    if any(options[name] for name in ("lags", "hidden", "seasons")):
        return []  # the variables are others
    header = {
        "states": states,
        "terms": list(Polynomial(len(variables), options["degree"]).names(variables)),
        "dynamics": dynamics_of(table, options)[0],
        "coefficients": progress.coefficients,
    }
    return [
        f"Preliminary equations (log-likelihood {progress.log_likelihood:.1f}), not "
        "converged:",
        *(f"  {line}" for line in header_equations(header)),
    ]
