"""Units of time: dates as numbers of a unit since the first row, and back.

A month or a year is counted by the calendar if all dates are on the same day of their
month, or all at its end: 1 February is one month after 1 January. Otherwise it is the
mean month or year of the Gregorian calendar.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks import check_choice, check_finite

YEAR = 365.2425 * 86400
"""Seconds of the mean year of the Gregorian calendar."""

SECONDS = {
    **{"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0},
    **{"week": 7 * 86400.0, "month": YEAR / 12, "year": YEAR},
}
"""Units of time, and their seconds."""

AUTOMATIC = ("day", "hour", "minute", "second")
"""Units that are chosen for dates that are not months apart, the largest that fits."""

CALENDAR = {"month": 1, "year": 12}
"""Months of the units that the calendar counts."""


class Stamps(NamedTuple):
    """Times of the rows of one series, as they were given.

    Attributes:
        source: Where they were found, such as "column date".
        values: Numbers, `datetime64[us]` or `timedelta64[us]`, which increase.
        unit: Unit of the numbers, if their source names one, such as a column `year`.
    """

    source: str
    values: np.ndarray
    unit: str | None = None


class Clock(NamedTuple):
    """What the times of a series mean.

    Attributes:
        source: Where they were found, such as "column date".
        unit: Unit of time; None for numbers whose unit is not known.
        epoch: Date of time zero, in ISO format; None if the times were not dates.
        anchor: Day of the month of all dates if the calendar counts them, 31 for its
            end; else 0.
    """

    source: str
    unit: str | None = None
    epoch: str | None = None
    anchor: int = 0


def choose_unit(requested: Any, stamps: Sequence[Stamps | None]) -> str | None:
    """The unit of time of one or several series; None if it is not known.

    For dates and `"auto"`: month or year if the calendar can count them and they are
    at least that far apart; else the largest of day, hour, minute and second that is
    no longer than the median interval.

    Args:
        requested: A unit, or `"auto"`.
        stamps: Times of each series, if any.

    Examples:
        >>> weekly = np.arange("2001-01-01", "2002-01-01", 7, "datetime64[D]")
        >>> choose_unit("auto", [Stamps("index", weekly.astype("datetime64[us]"))])
        'day'
    """
    check_choice("time_unit", requested, ("auto", *SECONDS))
    given = [each for each in stamps if each is not None]
    if len({each.values.dtype.kind for each in given}) > 1:
        raise ValueError(
            "`times` must be dates in all series or in none, got both. Convert them."
        )
    known = {each.unit for each in given if each.unit is not None}
    if known and requested not in ("auto", *known):
        source = next(each.source for each in given if each.unit in known)
        raise ValueError(
            f"`time_unit` must be 'auto' or {min(known)!r} for {source}, which has "
            f"numbers, got {requested!r}. Give dates for another unit."
        )
    if requested != "auto":
        return requested
    if not given or given[0].values.dtype.kind == "f":
        return min(known) if known else None
    if given[0].values.dtype.kind == "M" and all(_anchor(s.values) for s in given):
        months = _median([_months(s.values) for s in given])
        if months >= 1:
            return "year" if months >= 12 else "month"
    median = _median([s.values.astype("int64") for s in given]) / 1e6
    fits = (unit for unit in AUTOMATIC if SECONDS[unit] <= median)
    return next(fits, "second")


def numbered(stamps: Stamps, unit: str | None) -> tuple[np.ndarray, Clock]:
    """Times as numbers of a unit since the first row; numbers are left unchanged.

    Examples:
        >>> dates = np.array(["2001-01-31", "2001-02-28"], "datetime64[us]")
        >>> numbered(Stamps("index", dates), "month")[0].tolist()
        [0.0, 1.0]
    """
    values, kind = stamps.values, stamps.values.dtype.kind
    if kind == "f":
        return values, Clock(stamps.source, unit)
    assert unit is not None
    if kind == "m":
        since = (values - values[:1]).astype("int64") / 1e6
        return since / SECONDS[unit], Clock(stamps.source, unit)
    anchor = _anchor(values) if unit in CALENDAR else 0
    epoch = str(values[0]) if len(values) else "1970-01-01T00:00:00.000000"
    clock = Clock(stamps.source, unit, epoch, anchor)
    return as_numbers(values, clock), clock


def as_dates(times: Any, clock: Clock | None) -> np.ndarray:
    """Times as dates, `datetime64[us]`; numbers unchanged if the data had no dates.

    Args:
        times: Times in the unit of the clock.
        clock: That of the series.

    Examples:
        >>> clock = Clock("column date", "month", "2001-01-31", 31)
        >>> as_dates([1, 2], clock).astype("datetime64[D]").tolist()
        [datetime.date(2001, 2, 28), datetime.date(2001, 3, 31)]
    """
    numbers = np.asarray(times, float)
    if clock is None or clock.epoch is None or clock.unit is None:
        return numbers
    epoch = np.datetime64(clock.epoch, "us")
    if not clock.anchor:
        # A double has no more than milliseconds of a century.
        fine = 1e3 if SECONDS[clock.unit] > 60 else 1.0
        passed = np.rint(numbers * (SECONDS[clock.unit] * 1e6 / fine)) * fine
        return np.asarray(epoch + passed.astype("int64").astype("timedelta64[us]"))
    months = numbers * CALENDAR[clock.unit]
    whole = np.floor(months + 1e-6)
    begin, end = (_after(clock, whole.astype("int64") + more) for more in (0, 1))
    share = np.maximum(months - whole, 0)
    passed = np.rint(share * (end - begin).astype("int64")).astype("m8[us]")
    return np.asarray(begin + passed)


def as_numbers(times: Any, clock: Clock | None, name: str = "times") -> np.ndarray:
    """Times in the unit of a clock; dates are converted, numbers are not.

    Args:
        times: Dates or numbers.
        clock: That of the series.
        name: Name of the argument, for error messages.
    """
    array = np.asarray(times)
    if array.dtype.kind in "OUS":
        from .stamps import as_stamps

        array = as_stamps(name, np.atleast_1d(array), name).values
    if array.dtype.kind != "M":
        return check_finite(name, array, "Give times.")
    if clock is None or clock.epoch is None or clock.unit is None:
        raise ValueError(
            f"`{name}` must be numbers, as the times of the data are, got dates. Give "
            "times in their unit."
        )
    values, epoch = array.astype("datetime64[us]"), np.datetime64(clock.epoch, "us")
    if not clock.anchor:
        passed = np.asarray(values - epoch).astype("int64") / 1e6
        return np.asarray(passed / SECONDS[clock.unit])
    whole = _months(values) - _months(epoch)
    whole = whole - (_after(clock, whole) > values)
    begin, end = _after(clock, whole), _after(clock, whole + 1)
    share = (values - begin).astype("int64") / (end - begin).astype("int64")
    return np.asarray((whole + share) / CALENDAR[clock.unit])


def shown_times(times: Any, clock: Clock | None) -> list[Any]:
    """Times for a table: dates in ISO format if the data had dates, else numbers.

    Examples:
        >>> shown_times([0.0, 1.0], Clock("index", "day", "2001-01-31"))
        ['2001-01-31', '2001-02-01']
    """
    dates = as_dates(times, clock)
    if dates.dtype.kind != "M":
        return dates.tolist()
    for unit in ("D", "s", "ms"):
        if (dates.astype(f"datetime64[{unit}]") == dates).all():
            return np.datetime_as_string(dates, unit=unit).tolist()
    return np.datetime_as_string(dates).tolist()


def time_name(clock: Clock | None) -> str:
    """Name of the column of times in tables of results: as in the data if it had one.

    Examples:
        >>> time_name(Clock("column Date")), time_name(Clock("index", "day", "2001"))
        ('Date', 'date')
    """
    kind, _, name = ("", "", "") if clock is None else clock.source.partition(" ")
    dated = clock is not None and clock.epoch is not None
    return name if kind == "column" else "date" if dated else "t"


def _months(values: Any) -> Any:
    """Months since 1970."""
    return values.astype("datetime64[M]").astype("int64")


def _median(parts: Sequence[np.ndarray]) -> float:
    steps = [np.diff(part) for part in parts]
    whole = np.concatenate(steps)
    return float(np.median(whole)) if len(whole) else 0.0


def _anchor(values: np.ndarray) -> int:
    """Day of the month of all dates, 31 for its end; 0 if they differ."""
    months, days = values.astype("datetime64[M]"), values.astype("datetime64[D]")
    if not len(values) or len(np.unique(values - days)) > 1:
        return 0
    first, lengths = months.astype("datetime64[D]"), _lengths(months)
    number = (days - first).astype("int64") + 1
    if (number == lengths).all():
        return 31
    latest = int(number.max())
    return latest if (number == np.minimum(latest, lengths)).all() else 0


def _lengths(months: Any) -> np.ndarray:
    """Days of each month."""
    begin, end = (m.astype("datetime64[D]") for m in (months, months + 1))
    return np.asarray((end - begin).astype("int64"))


def _after(clock: Clock, months: Any) -> np.ndarray:
    """The dates a whole number of calendar months after the epoch."""
    epoch = np.datetime64(clock.epoch, "us")
    month = epoch.astype("datetime64[M]") + np.asarray(months, "int64")
    day = np.minimum(clock.anchor, _lengths(month)) - 1
    of_day = epoch - epoch.astype("datetime64[D]")
    dates = month.astype("datetime64[D]") + day.astype("timedelta64[D]") + of_day
    return np.asarray(dates)
