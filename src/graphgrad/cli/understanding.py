"""What a fit makes of its data and what it will take, said before it starts."""

from collections.abc import Iterator, Mapping
from math import comb
from typing import Any

import numpy as np

from .constraints import velocities
from .reading import Table

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

MOTIONS = {
    "flow": "flow, dx/dt = A phi(x)",
    "map": "map, x[t+1] = C phi(x)",
    "difference": "difference, x[t+1] - x[t] = A phi(x)",
}
"""How the state moves, in a few words."""


def understood(table: Table, options: Mapping[str, Any]) -> Iterator[str]:
    """Lines about data, terms and dynamics; for long fits one about the time."""
    motion = dynamics_line(table, options)  # what is wrong is said before the rest
    T, missing = len(table.values), float(np.isnan(table.values).mean())
    states = state_names(table, options)
    hidden = [name for name in states if name not in table.names]
    names = _listed(states) + (f" ({_listed(hidden)} never seen)" if hidden else "")
    dt, source = step(table, options["dt"])
    yield (
        f"Read {options['data']}: {len(states)} states {names}; {T} rows, dt = "
        f"{dt:.6g} ({source}); {_share(missing)} missing."
    )
    variables = len(states) + len(table.drivers)
    n_terms = comb(variables + options["degree"], options["degree"])
    noises = [n for n in ("state", "observation") if options[f"{n}_noise"] == "learn"]
    learnt = f" {' and '.join(noises)} noise learnt." if noises else " noises given."
    driven = f" driven by {_listed(list(table.drivers))};" if table.drivers else ""
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
    states = list(options["states"] or table.names)
    told = velocities(options["constraints"] or ())
    return states + [name for name in told if name not in states]


def dynamics_of(table: Table, options: Mapping[str, Any]) -> tuple[str, str]:
    """The dynamics that a fit takes, and why."""
    asked, why = options["dynamics"], ""
    if options["dt"] is not None:
        why = "--dt is given"
    if table.times is not None:
        why = f"column {table.clock} says when"
    if asked == "flow" and not why:
        raise ValueError(
            "`--dynamics` must be map or difference where nothing says when rows were "
            "observed, got flow. Give --dt, or a column t or time; --dt 1 counts time "
            "in rows."
        )
    if asked != "auto":
        return asked, "as asked"
    if options["solver"] != "adaptive":
        return "map", "the paper's solver has no other"
    return ("flow", why) if why else ("map", "nothing says when rows were observed")


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
    if dt is not None:
        return dt, "as given"
    if table.times is None:
        return 1.0, "no times, none given"
    median = float(np.median(np.diff(table.times)))
    # Nine digits: 0.09 less 0.06 is 0.03.
    return float(f"{median:.9g}"), f"from column {table.clock}"


def _listed(names: list[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, ..."


def _share(missing: float) -> str:
    if missing == 0:
        return "nothing"
    return f"{missing:.1%}" if missing >= 0.001 else "less than 0.1%"


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
