"""Lines printed before a fit: data, terms, dynamics and expected duration."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..checks import shortened
from ..data.constraints import read_constraints, with_velocities
from ..data.drivers import read_seasons
from ..data.files import Table
from ..data.lags import count_terms, delays_states, read_lags
from ..data.series import Panel, Series, step_length, time_line
from ..registries import MOTIONS, default_dynamics

COMPILING = 20
"""Seconds of compilation of a first fit, on two idle cores."""

PACE = 3e-4
"""Seconds of a fit per row, state and term, within a factor of about 3.

Measured: 2 states, 6 terms, 1000 rows 7 s; 3 states, 10 terms, 1000 rows 9 to 17 s and
10 000 rows 174 s; 20 states, 231 terms, 200 rows 155 s; 1771 terms, 100 rows 380 s.
"""

ALL_ROWS = 768
"""Rows of a series that all stages of a fit use, if all states are observed."""

OTHERS = 1 / 50
"""Duration of the other rows, relative to these.

Measured: 3 states, 10 terms, 100 000 rows 16 s, 1 000 000 rows 164 s with
compilation.
"""

FLOW = 2
"""Duration of a flow relative to a map, with one substep per interval."""

SHORT = 60
"""Shortest expected duration, in seconds, that is printed."""


def preview(table: Table, options: Mapping[str, Any]) -> Iterator[str]:
    """Lines about data, terms and dynamics, and about the duration of long fits."""
    dynamics = dynamics_line(table, options)  # raises errors before the first line
    values, drivers = table.series.values, names_of(table.inputs)
    T, missing = len(values), float(np.isnan(values).mean())
    states = state_names(table, options)
    hidden = [name for name in states if name not in names_of(table.series)]
    names = shortened(states) + (f" ({shortened(hidden)} hidden)" if hidden else "")
    dt, source = step(table, options["dt"])
    if line := time_line(Panel((table.series,), several=False)):
        yield line
    yield from table.notes
    yield (
        f"Read {options['data']}: {len(states)} states {names}; {T} rows, dt = "
        f"{dt:.6g} ({source}); {_share(missing)} missing."
    )
    before, seasons = _lags(options, states, drivers), options["seasons"]
    seasonal = 0 if seasons in (None, "auto") else 2 * len(read_seasons(seasons))
    plain = len(states) + len(drivers)
    n_terms = count_terms(options["degree"], plain, sum(before.values()), seasonal)
    kinds = {"state_noise": "process", "observation_noise": "measurement"}
    noises = [kind for name, kind in kinds.items() if options[name] == "learn"]
    learnt = f" {' and '.join(noises)} noise learnt." if noises else " noise given."
    driven = f" driven by {shortened(drivers)};" if drivers else ""
    yield (
        f"Selecting among {n_terms} terms up to degree {options['degree']} in each "
        f"equation;{driven}{learnt}"
    )
    yield dynamics
    rows = T if hidden else min(T, ALL_ROWS) + OTHERS * max(T - ALL_ROWS, 0)
    seconds = duration(rows, len(states), n_terms)
    if dynamics_of(table, options)[0] == "flow":
        seconds *= FLOW
    if options["solver"] == "adaptive" and seconds > SHORT:
        most = "" if seconds < 3600 else " Try a part of the rows first."
        yield (
            f"Expected duration: about {_rounded(seconds)} on two cores, within a "
            f"factor of 3.{most}"
        )


def state_names(table: Table, options: Mapping[str, Any]) -> list[str]:
    """Names of all states: as given, or the columns, and velocities."""
    constraints = read_constraints(options["constraints"] or ())
    return with_velocities(options["states"] or names_of(table.series), constraints)


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
        why = f"{_source(table)} has the times"
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


def duration(n_rows: float, n_states: int, n_terms: int) -> float:
    """Approximate seconds of a fit of a map with the adaptive solver."""
    return COMPILING + PACE * n_rows * n_states * n_terms


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
