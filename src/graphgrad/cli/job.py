"""A fit from a file to a folder: read, fit, write atomically."""

import dataclasses
import sys
import time as clock
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..data.clock import shown_times
from ..data.constraints import read_constraints
from ..data.files import Table, check_data, read_table
from ..data.series import row_times
from ..journal import Journal
from ..registries import MOTIONS
from .folder import check_out, new_folder, places, put, write_bands
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
from .terminal import echo as report
from .terminal import interruptible
from .unused_imports import UNUSED, put_off

LEVEL = 0.9
"""Probability of the bands in `states.csv`."""


class Written(NamedTuple):
    """A fit and where it was written.

    Attributes:
        estimator: The fitted estimator.
        folder: The folder, which is another if the one asked for cannot be written.
        fault: What could not be written as asked, if anything.
    """

    estimator: Any
    folder: Path
    fault: str | None


def fit_and_write(
    options: dict[str, Any],
    *,
    force: bool,
    resume: bool | None = None,
    echo: Callable[[str], Any],
    show: Callable[[Any], Any] = lambda _: None,
) -> Written:
    """Fit a file, and write the folder of the run or, if that fails, another one.

    Args:
        options: Options from `gather`; `dt` is filled in.
        force: Whether to replace a run in the folder.
        resume: Whether to go on with a fit that was stopped; None for a command that
            cannot, whose fit is not saved before it ends.
        echo: Called with each line of output.
        show: Called with the fitted estimator before the folder is written.

    Raises:
        OSError: The fit could be written nowhere.
        KeyboardInterrupt: With lines about the state of the fit.
    """
    begin, latest = clock.monotonic(), []
    out = Path(options["out"])
    check_data(Path(options["data"]))
    former = check_out(out, force=force)
    journal = _journal(out, force=force, resume=resume, echo=echo)
    try:
        with journal or nullcontext():
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
            fitted = partial(_fitted, table, options, latest, tell, journal)
            estimator = interruptible(fitted)
            if estimator.dynamics_ != kind:
                echo(
                    f"Dynamics changed to {MOTIONS[estimator.dynamics_]}: the interval "
                    f"is too long for a {kind}, and the extended BIC is lower."
                )
            show(estimator)
            sys.stdout.flush()
            job = _Job(estimator, table, options)
            written = _write(out, job, force=force, former=former)
            if journal is not None:
                journal.remove()
            return written
    except KeyboardInterrupt as stop:
        passed = clock.monotonic() - begin
        note = f" after {passed:.0f} s; nothing was written to {out}"
        if journal is not None and journal.exists:
            note += f", and the same command with --resume goes on from {journal.path}"
        raise type(stop)(note, *_so_far(latest, options)) from None


def _journal(
    out: Path, *, force: bool, resume: bool | None, echo: Callable[[str], Any]
) -> Journal | None:
    """The journal of a fit, in a folder beside that of the run."""
    if resume is None:
        return None
    path = out.resolve()
    path = path.with_name(f"{path.name}.state")
    journal = Journal(path, argument="--resume", warn=partial(report, err=True))
    if not journal.found:
        if resume:
            echo(f"There is no {path}: the fit begins anew.")
    elif not resume and not force:
        raise ValueError(
            f"`--out` must be a folder without a stopped fit, got {out} with {path}. "
            "Go on with that fit by --resume, or begin anew by --force."
        )
    elif not resume:
        journal.discard()
    return journal


def _fitted(
    table: Table,
    options: Mapping[str, Any],
    latest: list[Any],
    tell: Callable[[float], None],
    journal: Journal | None,
) -> Any:
    """Fit the estimator, and refit for confidence if requested."""
    put_off(*UNUSED)
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
        symmetry=None if options["symmetry"] == "none" else options["symmetry"],
        callback=listen,
        random_state=options["seed"],
    )
    estimator.fit(table.series, inputs=table.inputs, checkpoint=journal)
    if options["refits"]:
        estimator.stability(options["refits"])
    return estimator


class _Job(NamedTuple):
    """What the files of a run are written from."""

    estimator: Any
    table: Table
    options: Mapping[str, Any]


def _write(out: Path, job: _Job, *, force: bool, former: str | None) -> Written:
    """Write the folder of a run, or another one where that cannot be written."""
    reasons: list[str] = []
    for place in places(out):
        own = place == out
        # The path of the data in `config.toml` is relative to the folder.
        moved = job._replace(options={**job.options, "out": str(place)})
        try:
            with new_folder(place) as folder:
                lacking = interruptible(partial(_write_files, folder, moved))
                put(folder, place, force=own and force, former=former if own else None)
        except (OSError, ValueError) as error:
            reasons.append(str(error))
            continue
        fault = "; ".join(lacking) or None
        if reasons:
            fault = (
                f"the run could not be written to {out}: {reasons[0].rstrip('.')}. The "
                f"result of the fit is in {place}"
            ) + (f" ({fault})." if fault else ".")
        return Written(job.estimator, place, fault)
    raise OSError(
        f"`--out` must be a folder that can be written, got {out}: {reasons[0]}. "
        "No other place could be written either; the equations are those above."
    )


def _write_files(folder: Path, job: _Job) -> list[str]:
    """Write the files of a run; return which cannot be, and why.

    A fit is not lost with its report: only `model.json` and `arrays.npz` must be
    written.
    """
    job.estimator.save(folder)
    lacking = []
    for name, write in _OTHERS.items():
        try:
            write(folder / name, job)
        except Exception as error:
            (folder / name).unlink(missing_ok=True)
            lacking.append(f"{name} could not be written: {error!r:.200}")
    return lacking


def _write_graph(path: Path, job: _Job) -> None:
    from ..graph import save_graphml

    save_graphml(job.estimator.graph(), path)


def _write_config(path: Path, job: _Job) -> None:
    write_config(path, job.options, Path(job.options["out"]))


def _write_states(path: Path, job: _Job) -> None:
    estimator, series = job.estimator, job.table.series
    times = shown_times(row_times(series, estimator.dt_), series.clock)
    states, when = estimator.smooth(), (job.table.clock or "t", times)
    with path.open("w", newline="", encoding="utf-8") as file:
        names = estimator.state_names_
        write_bands(file, when, names, states.mean, states.band(LEVEL))


def _write_report(path: Path, job: _Job) -> None:
    from ..report import write_report

    name = Path(job.options["data"]).name
    found = job.estimator._findings(title=f"What acts on what in {name}")
    found = dataclasses.replace(
        found,
        advice=with_flags(found.advice),
        summary=tuple(map(with_flags, found.summary)),
    )
    write_report(path, found)


_OTHERS = {
    "graph.graphml": _write_graph,
    "config.toml": _write_config,
    "states.csv": _write_states,
    "report.html": _write_report,
}
"""Files of a run besides those of the fit, and how each is written."""


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
