"""Lines before a fit: what it makes of its data, and how long it will take."""

from collections.abc import Iterator, Mapping
from math import comb
from typing import Any

import numpy as np

from ..checks import shortened
from ..data.constraints import read_constraints, with_velocities
from ..data.files import Table
from ..data.series import Series, step_length
from ..registries import MOTIONS, default_dynamics

COMPILING = 20
"""Seconds that a first fit compiles, on two cores that are not busy."""

PACE = 3e-4
"""Seconds of a fit for each row, state and term, within a factor of about 3.

Seen: 2 states, 6 terms, 1000 rows 7 s; 3 states, 10 terms, 1000 rows 9 to 17 s and
10 000 rows 174 s; 20 states, 231 terms, 200 rows 155 s; 1771 terms, 100 rows 380 s.
"""

FLOW = 2
"""How many times longer a flow takes than a map, if one step an interval does."""

SHORT = 60
"""Seconds of a fit below which nothing is said of them."""


def preview(table: Table, options: Mapping[str, Any]) -> Iterator[str]:
    """Lines about data, terms and dynamics; for long fits one about the time."""
    motion = dynamics_line(table, options)  # what is wrong is said before the rest
    values, drivers = table.series.values, names_of(table.inputs)
    T, missing = len(values), float(np.isnan(values).mean())
    states = state_names(table, options)
    hidden = [name for name in states if name not in names_of(table.series)]
    names = shortened(states) + (f" ({shortened(hidden)} never seen)" if hidden else "")
    dt, source = step(table, options["dt"])
    yield (
        f"Read {options['data']}: {len(states)} states {names}; {T} rows, dt = "
        f"{dt:.6g} ({source}); {_share(missing)} missing."
    )
    variables = len(states) + len(drivers)
    n_terms = comb(variables + options["degree"], options["degree"])
    noises = [n for n in ("state", "observation") if options[f"{n}_noise"] == "learn"]
    learnt = f" {' and '.join(noises)} noise learnt." if noises else " noises given."
    driven = f" driven by {shortened(drivers)};" if drivers else ""
    yield (
        f"Looking among {n_terms} terms up to degree {options['degree']} in each "
        f"equation;{driven}{learnt}"
    )
    yield motion
    seconds = duration(T, len(states), n_terms)
    if dynamics_of(table, options)[0] == "flow":
        seconds *= FLOW
    if options["solver"] == "adaptive" and seconds > SHORT:
        most = "" if seconds < 3600 else " Try a part of the rows first."
        yield (
            f"Expect about {_spoken(seconds)}, on two cores and give or take a factor "
            f"of 3.{most}"
        )


def state_names(table: Table, options: Mapping[str, Any]) -> list[str]:
    """Names of all states: as given, or the columns, and velocities beside them."""
    constraints = read_constraints(options["constraints"] or ())
    return with_velocities(options["states"] or names_of(table.series), constraints)


def names_of(series: Series | None) -> tuple[str, ...]:
    """Names of columns that were read from a file, or of none."""
    return () if series is None or series.names is None else series.names


def dynamics_of(table: Table, options: Mapping[str, Any]) -> tuple[str, str]:
    """The dynamics that a fit takes, and why."""
    asked, why = options["dynamics"], ""
    if options["dt"] is not None:
        why = "--dt is given"
    if table.series.times is not None:
        why = f"column {table.clock} says when"
    if asked == "flow" and not why:
        raise ValueError(
            "`--dynamics` must be map or difference where nothing says when rows were "
            "observed, got flow. Give --dt, or a column t or time; --dt 1 counts time "
            "in rows."
        )
    if asked != "auto":
        return asked, "as asked"
    chosen = default_dynamics(timed=bool(why), solver=options["solver"])
    if options["solver"] != "adaptive":
        return chosen, "the paper's solver has no other"
    return chosen, why or "nothing says when rows were observed"


def dynamics_line(table: Table, options: Mapping[str, Any]) -> str:
    """Which dynamics a fit takes, why, and how to ask for the other."""
    kind, why = dynamics_of(table, options)
    if why == "as asked":
        return f"Dynamics: {MOTIONS[kind]}, as asked."
    other = {
        "flow": "--dynamics map asks for x[t+1] = C phi(x)",
        "map": "--dt or a column t asks for a flow, dx/dt = A phi(x)",
    }[kind]
    if options["solver"] != "adaptive":
        other = "--solver adaptive knows dx/dt = A phi(x)"
    return f"Dynamics: {MOTIONS[kind]}, since {why}; {other}."


def duration(n_rows: int, n_states: int, n_terms: int) -> float:
    """Seconds that a fit of a map takes with the adaptive solver, roughly."""
    return COMPILING + PACE * n_rows * n_states * n_terms


def step(table: Table, dt: float | None) -> tuple[float, str]:
    """Length of a step, and where it comes from."""
    times = table.series.times
    source = "no times, none given" if times is None else f"from column {table.clock}"
    return step_length([times], dt), source if dt is None else "as given"


def _share(missing: float) -> str:
    if missing == 0:
        return "nothing"
    return f"{missing:.1%}" if missing >= 0.001 else "less than 0.1%"


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
