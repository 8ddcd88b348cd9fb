"""Lines printed before a fit: data, terms, dynamics and expected duration."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..checks import shortened
from ..data.constraints import read_constraints, with_velocities
from ..data.drivers import read_seasons
from ..data.files import Table
from ..data.lags import count_terms, delays_states, read_lags
from ..data.series import Panel, Series, step_length, time_line
from ..registries import MOTIONS, default_dynamics
from ..resources import check_fit_memory, fit_bytes
from .options import with_flags

COMPILING = {"map": 10, "difference": 10, "flow": 14}
"""Seconds until a first fit is compiled, on two idle cores."""

PACE = 3.7e-5
"""Seconds of a fit of a map per row, state and term, with compiled programs.

Within a factor of 2 of the fits in `docs/scoreboards/speed.md`, whose data have
equations of such terms: 3 to 40 states, 100 to 1 000 000 rows.
"""

PACE_OF_ALL = 3e-4
"""The same if some states are not observed: all stages use all rows."""

FIRST_ROWS = 512
"""Rows in which terms are looked for at first, as in the solver's windows."""

OTHERS = 0.14
"""Duration of the other rows, relative to these."""

FLOW = 2.3
"""Duration of a flow relative to a map, with one substep per interval."""

SHORT = 20
"""Shortest expected duration, in seconds, that is printed."""

LATE = 2.0
"""Multiple of the expected duration after which a fit is late."""

WORST = 10.0
"""Multiple of it that a fit takes if no equations of its terms fit the data."""

TRIED = ("seasons", "lags", "hidden")
"""Settings for which another fit is tried at least, if they are `auto`."""

SMALL = 2.0
"""Most expected memory, in gigabytes, that is not worth a line."""


def preview(table: Table, options: Mapping[str, Any]) -> Iterator[str]:
    """Lines about data, terms and dynamics, and about the duration of long fits."""
    # Errors are raised before the first line.
    dynamics, n_terms = dynamics_line(table, options), _number_of_terms(table, options)
    values, drivers = table.series.values, names_of(table.inputs)
    T, missing = len(values), float(np.isnan(values).mean())
    states = state_names(table, options)
    check_fit_memory(T, len(states), n_terms)
    _check_constraints(table, options, states)
    hidden = [name for name in states if name not in names_of(table.series)]
    names = shortened(states) + (f" ({shortened(hidden)} hidden)" if hidden else "")
    number = f"{len(states)} state{'s' * (len(states) > 1)}"
    dt, source = step(table, options["dt"])
    if line := time_line(Panel((table.series,), several=False)):
        yield line
    yield from table.notes
    yield (
        f"Read {options['data']}: {number} {names}; {T} rows, dt = "
        f"{dt:.6g} ({source}); {_share(missing)} missing."
    )
    kinds = {"state_noise": "process", "observation_noise": "measurement"}
    noises = [kind for name, kind in kinds.items() if options[name] == "learn"]
    learnt = f" {' and '.join(noises)} noise learnt." if noises else " noise given."
    driven = f" driven by {shortened(drivers)};" if drivers else ""
    yield (
        f"Selecting among {n_terms} terms up to degree {options['degree']} in each "
        f"equation;{driven}{learnt}"
    )
    yield dynamics
    seconds = expected_seconds(table, options)
    gigabytes = fit_bytes(T, len(states), n_terms) / 1e9
    if options["solver"] == "adaptive" and (seconds > SHORT or gigabytes > SMALL):
        most = "" if seconds < 3600 else " Try a part of the rows first."
        yield (
            f"Expected duration: about {_rounded(seconds)} on two idle cores, with "
            f"{gigabytes:.1f} GB of memory; up to {_rounded(WORST * seconds)} if no "
            f"equations of these terms fit the data.{most}"
        )


def late_line(expected: float, echo: Callable[[str], Any]) -> Callable[[float], None]:
    """A function of the seconds so far that prints a new expectation, once.

    Args:
        expected: Expected duration in seconds.
        echo: Called with the line.

    Examples:
        >>> tell = late_line(25.0, print)
        >>> tell(30.0)
        >>> tell(55.0)
        After 55 s the fit goes on: no equations of these terms fit the data well, or the cores are busy. Expected duration: up to 4 min.
        >>> tell(60.0)
    """  # noqa: E501
    expected, said = max(expected, SHORT), []

    def tell(passed: float) -> None:
        if passed > LATE * expected and not said:
            said.append(passed)
            echo(
                f"After {_rounded(passed)} the fit goes on: no equations of these "
                "terms fit the data well, or the cores are busy. Expected duration: "
                f"up to {_rounded(WORST * expected)}."
            )

    return tell


def expected_seconds(table: Table, options: Mapping[str, Any]) -> float:
    """Approximate seconds of a fit, of all that are tried where a setting is `auto`."""
    states, kind = state_names(table, options), dynamics_of(table, options)[0]
    hidden = any(name not in names_of(table.series) for name in states)
    n_terms = _number_of_terms(table, options)
    rows = len(table.series.values)
    fits = 1 + sum(options[name] == "auto" for name in TRIED)
    return fits * duration(rows, len(states), n_terms, kind, hidden=hidden)


def _number_of_terms(table: Table, options: Mapping[str, Any]) -> int:
    """Number of candidate terms of an equation."""
    states, drivers = state_names(table, options), names_of(table.inputs)
    before, seasons = _lags(options, states, drivers), options["seasons"]
    seasonal = 0 if seasons in (None, "auto") else 2 * len(read_seasons(seasons))
    plain = len(states) + len(drivers)
    return count_terms(options["degree"], plain, sum(before.values()), seasonal)


def state_names(table: Table, options: Mapping[str, Any]) -> list[str]:
    """Names of all states: as given, or the columns, and velocities."""
    constraints = read_constraints(options["constraints"] or ())
    return with_velocities(options["states"] or names_of(table.series), constraints)


def _check_constraints(
    table: Table, options: Mapping[str, Any], states: Sequence[str]
) -> None:
    """Raise for constraints that name no state or term, or that contradict each other.

    With delays, seasons or states that the fit adds, which add terms, the fit does it.
    """
    added = any(options[name] for name in ("lags", "hidden", "seasons"))
    if not options["constraints"] or added:
        return
    from ..library import Polynomial
    from ..model import resolve_constraints

    variables = [*states, *names_of(table.inputs)]
    try:
        resolve_constraints(
            read_constraints(options["constraints"]),
            Polynomial(len(variables), options["degree"]),
            variables,
            n_inputs=len(variables) - len(states),
            dynamics=dynamics_of(table, options)[0],
        )
    except ValueError as error:
        reason = with_flags(str(error))
        raise ValueError(f"`--constraint` must suit the fit: {reason}") from None


def _lags(
    options: Mapping[str, Any], states: Sequence[str], drivers: Sequence[str]
) -> dict[str, int]:
    """Number of delayed values of each variable."""
    lags, names = options["lags"], (*states, *drivers)
    return {} if lags == "auto" else read_lags(lags, names, names)


def names_of(series: Series | None) -> tuple[str, ...]:
    """Names of the columns of a series, if any."""
    return () if series is None or series.names is None else series.names


def dynamics_of(table: Table, options: Mapping[str, Any]) -> tuple[str, str]:
    """The dynamics of a fit, and the reason."""
    requested, why = options["dynamics"], ""
    lags, inputs = options["lags"], names_of(table.inputs)
    if requested == "auto" and lags != "auto" and delays_states(lags, inputs):
        return "map", "states are delayed"
    if options["dt"] is not None:
        why = "--dt is given"
    if table.series.times is not None:
        source = _source(table)
        why = f"{source} {'have' if source.startswith('columns ') else 'has'} the times"
    if requested == "flow" and not why:
        raise ValueError(
            "`--dynamics` must be map or difference without times, got flow. Give "
            "--dt, or a column t, time or date; --dt 1 counts time in rows."
        )
    if requested != "auto":
        return requested, "as requested"
    chosen = default_dynamics(timed=bool(why), solver=options["solver"])
    if options["solver"] != "adaptive":
        return chosen, "the paper's solvers support only maps"
    return chosen, why or "there are no times"


def dynamics_line(table: Table, options: Mapping[str, Any]) -> str:
    """A line with the dynamics, the reason, and how to select another."""
    kind, why = dynamics_of(table, options)
    if why == "as requested":
        return f"Dynamics: {MOTIONS[kind]}, as requested."
    other = {
        "flow": "use --dynamics map for x[t+1] = C phi(x)",
        "map": "give --dt or a column t for a flow, dx/dt = A phi(x)",
    }[kind]
    if why == "states are delayed":
        other = "delay only inputs for a flow, dx/dt = A phi(x): --lags u=3"
    if options["solver"] != "adaptive":
        other = "use --solver adaptive for dx/dt = A phi(x)"
    return f"Dynamics: {MOTIONS[kind]}, since {why}; {other}."


def duration(
    n_rows: int, n_states: int, n_terms: int, dynamics: str, *, hidden: bool = False
) -> float:
    """Approximate seconds of a first fit with the adaptive solver.

    Examples:
        >>> round(duration(10_000, 3, 10, "map")), round(duration(200, 20, 231, "map"))
        (12, 44)
    """
    rows = min(n_rows, FIRST_ROWS) + OTHERS * max(n_rows - FIRST_ROWS, 0)
    work = PACE_OF_ALL * n_rows if hidden else PACE * rows
    pace = FLOW if dynamics == "flow" else 1.0
    return COMPILING[dynamics] + pace * work * n_states * n_terms


def step(table: Table, dt: float | None) -> tuple[float, str]:
    """Length of a step, and its source."""
    times = table.series.times
    source = "no times, none given" if times is None else f"from {_source(table)}"
    return step_length([times], dt), source if dt is None else "as given"


def _source(table: Table) -> str:
    clock = table.series.clock
    return "times" if clock is None else clock.source


def _share(missing: float) -> str:
    if missing == 0:
        return "nothing"
    return f"{missing:.1%}" if missing >= 0.001 else "less than 0.1%"


def _rounded(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
