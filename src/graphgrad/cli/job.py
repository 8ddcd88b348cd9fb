"""A fit from a file to a folder: read, fitted, written whole or not at all."""

import sys
import time as clock
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..data.constraints import read_constraints
from ..data.files import Table, check_data, read_table
from ..data.series import row_times
from ..registries import MOTIONS
from .folder import check_out, new_folder, put, write_bands
from .options import write_config
from .preview import dynamics_of, names_of, preview, state_names, step
from .summary import header_equations
from .terminal import interruptible

LEVEL = 0.9
"""Probability of the bands in `states.csv`."""


def fit_and_write(
    options: dict[str, Any],
    *,
    force: bool,
    say: Callable[[str], Any],
    show: Callable[[Any], Any] = lambda _: None,
) -> Any:
    """The estimator after its fit, when its folder is written.

    Args:
        options: As `gather` gave them; the length of a step is filled in.
        force: Whether to replace a run in the folder.
        say: Called with each line for the reader.
        show: Called with the estimator once it is fitted, before it is written down.

    Raises:
        KeyboardInterrupt: With lines that say what was found so far.
    """
    begin, heard = clock.monotonic(), []
    out = Path(options["out"])
    check_data(Path(options["data"]))
    check_out(out, force=force)
    try:
        table = read_table(
            Path(options["data"]),
            columns=options["columns"],
            inputs=options["inputs"],
            time=options["time"],
        )
        for line in preview(table, options):
            say(line)
        sys.stdout.flush()
        kind, _ = dynamics_of(table, options)
        if table.series.times is not None:
            options["dt"], _ = step(table, options["dt"])
        estimator = interruptible(lambda: _fitted(table, options, heard))
        if estimator.dynamics_ != kind:
            say(
                f"Dynamics: {MOTIONS[estimator.dynamics_]}, in the end: the interval "
                f"is too long for a {kind}, and this explains the data better."
            )
        show(estimator)
        sys.stdout.flush()
        with new_folder(out) as folder:
            interruptible(lambda: _fill(folder, estimator, table, options))
            put(folder, out)
    except KeyboardInterrupt:
        passed = clock.monotonic() - begin
        said = f" after {passed:.0f} s; nothing was written to {out}"
        raise KeyboardInterrupt(said, *_so_far(heard, options)) from None
    return estimator


def _fitted(table: Table, options: Mapping[str, Any], heard: list[Any]) -> Any:
    """The estimator after its fit; it shows how it goes on a terminal."""
    from ..estimator import GraphGrad

    def listen(progress: Any) -> None:
        heard[:] = [(progress, table)]

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
        dynamics=options["dynamics"],
        inputs_between=options["inputs_between"],
        constraints=read_constraints(options["constraints"] or ()),
        callback=listen,
        random_state=options["seed"],
    )
    estimator.fit(table.series, inputs=table.inputs)
    if options["refits"]:
        estimator.stability(options["refits"])
    return estimator


def _fill(
    folder: Path, estimator: Any, table: Table, options: Mapping[str, Any]
) -> None:
    """The files of a run."""
    from ..graph import save_graphml

    times: Any = table.stamps
    if times is None:
        times = row_times(table.series, estimator.dt_).tolist()
    estimator.save(folder)
    save_graphml(estimator.graph(), folder / "graph.graphml")
    write_config(folder / "config.toml", options, Path(options["out"]))
    states = estimator.smooth()
    when = (table.clock or "t", times)
    with (folder / "states.csv").open("w", newline="", encoding="utf-8") as file:
        names = estimator.state_names_
        write_bands(file, when, names, states.mean, states.band(LEVEL))
    name = Path(options["data"]).name
    estimator.report(folder / "report.html", title=f"What acts on what in {name}")


def _so_far(heard: list[Any], options: Mapping[str, Any]) -> list[str]:
    """Equations of a fit that was stopped, if it had any."""
    if not heard or getattr(heard[0][0], "coefficients", None) is None:
        return []
    from ..library import Polynomial

    progress, table = heard[0]
    states = state_names(table, options)
    variables = [*states, *names_of(table.inputs)]
    header = {
        "states": states,
        "terms": list(Polynomial(len(variables), options["degree"]).names(variables)),
        "dynamics": dynamics_of(table, options)[0],
        "coefficients": progress.coefficients,
    }
    return [
        f"As far as it was (log-likelihood {progress.log_likelihood:.1f}), and not to "
        "be trusted yet:",
        *(f"  {line}" for line in header_equations(header)),
    ]
