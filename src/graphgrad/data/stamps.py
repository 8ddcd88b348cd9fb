"""Times of rows from columns, indices and arrays: numbers, dates, parts of dates."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Any

import numpy as np

from ..checks import check_numbers
from .calendars import calendar_dates, compact_dates, times_of_day
from .clock import Stamps
from .dates import parse_dates

NAMES = ("time", "date", "datetime", "timestamp")
"""Names of columns of times, in any case; `t` is one only in lower case."""

PARTS = ("year", "quarter", "month", "day", "hour", "minute", "second")
"""Names of columns that are parts of dates, in any case."""

ALONE = ("year", "month", "day")
"""Parts that are times without the others, if their numbers increase."""


def is_clock(name: str) -> bool:
    """Whether a name denotes times: `t`, or time, date, datetime, timestamp.

    A capital `T` may be a temperature and does not.

    Examples:
        >>> [name for name in ("Time", "prey", "tension", "T", "t") if is_clock(name)]
        ['Time', 't']
    """
    return name == "t" or name.lower() in NAMES


def clock_columns(
    names: Sequence[str], *, argument: str = "y", remedy: str = "Drop or rename one."
) -> list[str]:
    """The columns that have the times: none, one, a date and a time, or parts.

    A column `year` takes the quarter, month, day, hour, minute and second beside it. A
    month or a day without a year is a time of its own.

    Args:
        names: Names of the columns.
        argument: Name of the argument, for error messages.
        remedy: What to do about two clocks, for error messages.

    Examples:
        >>> clock_columns(["year", "prey", "month"])
        ['year', 'month']
    """
    named = [name for name in names if is_clock(name)]
    parts = [name for name in names if name.lower() in PARTS[:4]]
    if "year" in [name.lower() for name in parts]:
        parts = [name for name in names if name.lower() in PARTS]
    lower = [name.lower() for name in parts]
    if (named and parts) or len(set(lower)) < len(lower):
        raise _twice(argument, [*named, *parts], remedy)
    if len(named) > 1 and sorted(name.lower() for name in named) != ["date", "time"]:
        raise _twice(argument, named, remedy)
    if "year" not in lower and (len(parts) > 1 or "quarter" in lower):
        raise ValueError(
            f"`{argument}` must have a column of years beside parts of dates, got "
            f"{', '.join(parts)}. If it holds whole dates, such as "
            "1990Q1, call it date; else add years, or drop or rename it."
        )
    return sorted(named, key=str.lower) or parts


def _twice(argument: str, names: list[str], remedy: str) -> ValueError:
    return ValueError(
        f"`{argument}` must have its times once, that is one column of times, got "
        f"columns {', '.join(names)}. {remedy}"
    )


def column_stamps(
    columns: Mapping[str, Any], argument: str, *, day_first: bool | None = None
) -> Stamps:
    """Times from the columns that `clock_columns` chose, not yet checked.

    Args:
        columns: Cells by name: arrays or lists of text.
        argument: Name of the argument, for error messages.
        day_first: Whether 01/02/1999 is 1 February; None if it is not known.
    """
    source = f"column{'s' if len(columns) > 1 else ''} {', '.join(columns)}"
    names, cells = list(columns), list(columns.values())
    lower = [name.lower() for name in names]
    if len(names) == 1:
        values = cells[0]
        if lower == ["date"]:
            values = compact_dates(values)
        unit = lower[0] if lower[0] in ALONE else None
        values = _plain(source, values, argument, day_first)
        return Stamps(source, values, unit if values.dtype.kind == "f" else None)
    if lower == ["date", "time"]:
        days = _plain(source, cells[0], argument, day_first)
        return Stamps(source, days + times_of_day(cells[1]))
    dates = calendar_dates(argument, dict(zip(lower, cells, strict=True)))
    return Stamps(source, dates)


def as_stamps(
    source: str,
    times: Any,
    argument: str = "times",
    *,
    unit: str | None = None,
    day_first: bool | None = None,
) -> Stamps:
    """Times from numbers, dates of any kind, or text.

    Args:
        source: Where they were found, such as "column date".
        times: The times.
        argument: Name of the argument, for error messages.
        unit: Unit of numbers, if the source names one.
        day_first: Whether 01/02/1999 is 1 February; None if it is not known.
    """
    values = _plain(source, times, argument, day_first)
    if values.dtype.kind != "f":
        unit = None
    return check_stamps(argument, Stamps(source, values, unit))


def _plain(
    source: str, times: Any, argument: str, day_first: bool | None
) -> np.ndarray:
    """Numbers, `datetime64[us]` or `timedelta64[us]`."""
    array = times
    if np.ma.isMaskedArray(times):
        array = np.ma.filled(np.ma.asarray(times).astype(float), np.nan)
    array = np.asarray(array).ravel()
    if array.dtype.kind in "mM":
        return array.astype(f"{array.dtype.kind}8[us]")
    if array.dtype.kind in "OUST" and len(array):
        first = next((each for each in array if each is not None), None)
        if hasattr(first, "to_timestamp"):  # periods of pandas
            array = np.array([each.to_timestamp() for each in array], object)
            first = array[0]
        if isinstance(first, date):
            return _naive(array.tolist())
        if isinstance(first, str):
            return parse_dates(array.tolist(), source, argument, day_first)
        if hasattr(first, "isoformat"):  # dates of other calendars
            texts = [each.isoformat() for each in array]
            return parse_dates(texts, source, argument, day_first)
    remedy = "Give one number or date for each row."
    return check_numbers(argument, array, remedy)


def _naive(dates: Sequence[Any]) -> np.ndarray:
    """Dates without a time zone; NaT if missing.

    The clock on the wall if all are at the same time of day, such as midnight; else
    with the offset of the first row, so that intervals are right when clocks change.
    """
    missing = np.datetime64("NaT")
    there = [None if each is None or each != each else each for each in dates]
    first = next((each for each in there if each is not None), None)
    offset = first.utcoffset() if isinstance(first, datetime) else None
    if offset is not None:
        walls = {each.time() for each in there if each is not None}
        there = [
            each and (each if len(walls) == 1 else each.astimezone(timezone(offset)))
            for each in there
        ]
        there = [each and each.replace(tzinfo=None) for each in there]
    return np.array(
        [np.datetime64(d.isoformat(), "us") if d else missing for d in there],
        "datetime64[us]",
    )


def check_stamps(argument: str, stamps: Stamps) -> Stamps:
    """Check that there is a time for each row, and that they increase."""
    values, source = stamps.values, stamps.source
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(
            f"`{argument}` must have a time for each row, got {values[bad[0]]} in row "
            f"{bad[0] + 1}, {source}. Fill it in, or leave the row out."
        )
    steps = np.diff(values)
    zero = steps.dtype.type(0)
    back = np.flatnonzero(steps <= zero)
    if not len(back):
        return stamps
    row = int(back[0]) + 1
    rule = "rise from row to row" if argument == "times" else "have increasing times"
    if stamps.unit is not None and source.startswith("column"):
        raise ValueError(
            f"`{argument}` must {rule}, got {values[row]:g} in row {row + 1} after "
            f"{values[row - 1]:g}, {source}. Give columns beside it that complete the "
            "date, such as year, quarter, month, day; or dates; or one series for each "
            "repetition; or rename it."
        )
    order = np.argsort(values, kind="stable")
    same = np.flatnonzero(np.diff(values[order]) == zero)
    if len(same):
        first, second = sorted(order[[same[0], same[0] + 1]] + 1)
        raise ValueError(
            f"`{argument}` must {rule}, got {_shown(values[first - 1])} twice, in rows "
            f"{first} and {second}, {source}. Merge these rows; if they are several "
            "series, give each on its own."
        )
    what = "newest first" if (steps < zero).all() else "not sorted"
    raise ValueError(
        f"`{argument}` must {rule}, got {_shown(values[row])} in row {row + 1} after "
        f"{_shown(values[row - 1])}, {source}: they are {what}. Sort the rows by time."
    )


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).removesuffix(".000000").removesuffix("T00:00:00")
