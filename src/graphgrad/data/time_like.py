"""Columns that look like times but are not called so, such as `Time (s)` or `hours`.

Fitted as a state, such a column gives an equation of its own, and the others a map in
place of a flow.
"""

import re
import warnings
from collections.abc import Iterable, Mapping

import numpy as np

from .series import Panel

LEAST_ROWS = 6
"""Fewest rows that show that a column is even."""

EVEN = 0.05
"""Largest distance from a straight line, in steps: rounded times are not quite even."""

TIMES = {"time", "times", "date", "datetime", "timestamp"}
"""Words of names of times."""

UNITS = {
    unit + end
    for unit in ("second", "minute", "hour", "day", "week", "month", "year")
    for end in ("", "s")
}
"""Words that begin names of times, as in `days since sowing`."""


def looks_like_times(name: str | None, values: np.ndarray) -> str | None:
    """Why a column is probably one of times, or None.

    It rises evenly, as no state with noise does; or it rises from each row to the next
    and is called like times, with a unit for instance.

    Examples:
        >>> looks_like_times("x", np.arange(9) / 4)
        'rises by 0.25 from row to row'
        >>> looks_like_times("time_s", np.arange(9.0) ** 2)
        'rises from row to row'
        >>> looks_like_times("height", np.arange(9.0) ** 2)
    """
    if len(values) < LEAST_ROWS or not np.isfinite(values).all():
        return None
    if not (np.diff(values) > 0).all():
        return None
    line = np.linspace(values[0], values[-1], len(values))
    step = line[1] - line[0]
    if np.abs(values - line).max() <= EVEN * step:
        return f"rises by {step:.6g} from row to row"
    return "rises from row to row" if _is_called_so(name or "") else None


def _is_called_so(name: str) -> bool:
    words = re.findall(r"[^\W\d_]+", name)
    if not words:
        return False
    lower = [word.lower() for word in words]
    return words[0] == "t" or lower[0] in UNITS or not TIMES.isdisjoint(lower)


def check_time_like(
    table: Mapping[str, np.ndarray], chosen: Iterable[str], *, timed: bool
) -> None:
    """Raise an error for a column that is probably one of times; the user is to decide.

    Args:
        table: Columns of a file by name, without those of times and inputs.
        chosen: Those that the user has named.
        timed: Whether there is another column of times.
    """
    for name, values in table.items():
        found = None if name in chosen else looks_like_times(name, values)
        if found and len(table) > 1:
            others = quoted(",".join(each for each in table if each != name))
            has = "" if timed else f"If it has the times, give --time {quoted(name)}. "
            raise ValueError(
                f"`data` must have states in all columns but the times, got {name!r}, "
                f"which {found}. {has}If it is no state, name the others, --columns "
                f"{others}; if it is one, name it too."
            )


def warn_of_time_like(panel: Panel) -> None:
    """Warn of columns that are probably times, in data that are no file."""
    timed = panel.series[0].times is not None
    for i in range(panel.n_columns if panel.n_columns > 1 else 0):
        name = None if panel.names is None else panel.names[i]
        each = [looks_like_times(name, one.values[:, i]) for one in panel.series]
        found = next((why for why in each if why), None)
        if found is None or None in each:
            continue
        given = f"`times=y[:, {i}]` with the other columns as `y`"
        given = given if name is None else f"`times={name!r}`"
        has = "" if timed else f"If it has the times, give {given}. "
        warnings.warn(
            "`y` must have states in all columns but the times, got column "
            f"{i if name is None else repr(name)}, which {found}. {has}If it is no "
            "state, drop it; it is fitted as one.",
            stacklevel=5,
        )


def quoted(text: str) -> str:
    """A name as it is written on the command line."""
    return text if re.fullmatch(r"[\w,.-]+", text) else f"'{text}'"
