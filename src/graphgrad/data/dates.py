"""Dates from text: ISO, day or month first, names of months, quarters; from columns."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

NUMERIC = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})"
    r"(?:[T ,]+(\d{1,2})[:.](\d{2})(?:[:.](\d{2})(?:\.(\d{1,6})\d*)?)?"
    r"(?: ?([AP])M)?)?$",
    re.I,
)
"""Dates of three numbers, with a time of day or without."""

NAMED = re.compile(
    r"(?:(\d{1,2})[ .-]+)?([A-Za-z]{3,9})[ .,-]+(?:(\d{1,2})(?:, ?| ))?(\d{4})$"
)
"""Dates with the English name of the month: 31 Dec 1999, Dec 31, 1999, Dec 1999."""

WITHIN = re.compile(r"(\d{4})[ -]?([QM])(\d{1,2})$", re.I)
"""Quarters and months: 1999Q4, 1999-Q4, 1999M12."""

ZONE = re.compile("[-+Z]")
"""What the end of a date with a time zone contains."""

MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)


def parse_dates(
    texts: Sequence[str],
    source: str,
    argument: str = "data",
    day_first: bool | None = None,
) -> np.ndarray:
    """Parse dates as `datetime64[us]`.

    Dates such as 31/12/1999 are read with the day first if a number above 12 anywhere
    in the column shows it, or the month first likewise; 31.12.1999 always has the day
    first. Time zones are converted to UTC.

    Args:
        texts: The dates.
        source: Where they were found, such as "column date".
        argument: Name of the argument, for error messages.
        day_first: Whether 01/02/1999 is 1 February; None if it is not known.

    Raises:
        ValueError: A text is no date, or the order of day and month is not known.

    Examples:
        >>> parse_dates(["1/2/1999", "13/2/1999"], "column date").astype("M8[D]")
        array(['1999-02-01', '1999-02-13'], dtype='datetime64[D]')
    """
    try:  # ISO dates without a time zone, by NumPy
        if all(text[4:5] == "-" and not ZONE.search(text, 10) for text in texts):
            return np.array(texts, "datetime64[us]")
    except ValueError:
        pass
    plain = [str(text).strip() for text in texts]
    if day_first is None:
        day_first = _day_first(plain, source, argument)
    out = np.empty(len(plain), "datetime64[us]")
    for row, text in enumerate(plain):
        try:
            out[row] = _parse(text, day_first)
        except (ValueError, TypeError):
            raise ValueError(
                f"`{argument}` must have times that are numbers or dates like "
                f"2024-05-31, got {texts[row]!r} in row {row + 1}, "
                f"{_quoted(source)}. Correct it, or leave the row out."
            ) from None
    return out


def _quoted(source: str) -> str:
    kind, _, name = source.partition(" ")
    return f"{kind} {name!r}" if name else kind


def _day_first(texts: Sequence[str], source: str, argument: str) -> bool:
    """Whether the day is before the month in dates such as 31/12/1999."""
    days = months = ""
    asked = False
    for text in texts:
        found = NUMERIC.match(text)
        if not found or len(found[1]) > 2 or found[2] == ".":
            continue
        asked = True
        days = days or text * (int(found[1]) > 12)
        months = months or text * (int(found[3]) > 12)
    if days and months:
        raise ValueError(
            f"`{argument}` must have dates in one order, got {days!r} and {months!r}, "
            f"{_quoted(source)}. Write them like 2024-05-31."
        )
    if asked and not (days or months):
        raise ValueError(
            f"`{argument}` must have dates in a known order, got {texts[0]!r}, "
            f"{_quoted(source)}: no day is above 12. Give --day-first or "
            "--no-day-first; in Python, convert the column to dates."
        )
    return bool(days)


def _parse(text: str, day_first: bool) -> np.datetime64:
    if found := NUMERIC.match(text):
        first, mark, second, last, hour, minute, seconds, share, half = found.groups()
        if len(first) == 4:
            year, month, day = first, second, last
        elif len(last) != 4:
            raise ValueError("the year must have four digits")
        elif day_first or mark == ".":
            day, month, year = first, second, last
        else:
            month, day, year = first, second, last
        hours = int(hour or 0)
        if half:  # 12 AM is midnight
            hours = hours % 12 + 12 * (half in "Pp")
        rest = (int(minute or 0), int(seconds or 0), int((share or "").ljust(6, "0")))
        return np.datetime64(datetime(int(year), int(month), int(day), hours, *rest))
    if found := NAMED.match(text):
        before, name, after, year = found.groups()
        month = MONTHS.index(name[:3].lower()) + 1
        return np.datetime64(datetime(int(year), month, int(before or after or 1)))
    if found := WITHIN.match(text):
        number = int(found[3]) if found[2] in "Mm" else 3 * int(found[3]) - 2
        return np.datetime64(datetime(int(found[1]), number, 1))
    if re.fullmatch(r"\d{4}-\d{2}", text):
        return np.datetime64(text, "us")
    when = datetime.fromisoformat(text)
    if when.tzinfo is not None:
        when = when.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(when, "us")


def is_date(text: str) -> bool:
    """Whether a text is a date, in some order of day and month.

    Examples:
        >>> [is_date(text) for text in ("31.12.1999", "1999-12-31", "12/31/1999", "A1")]
        [True, True, True, False]
    """
    for day_first in (True, False):
        try:
            _parse(text.strip(), day_first)
        except (ValueError, TypeError):
            continue
        return True
    return False


def as_list(column: Any, name: str) -> list[Any]:
    """Cells of a column of a frame as objects of Python.

    Args:
        column: A column of Polars or narwhals.
        name: Name of the argument, for error messages.
    """
    try:
        return column.to_list()
    except BaseException as error:  # Polars panics, which is no `Exception`
        known = isinstance(error, OverflowError | ValueError)
        if not known and type(error).__name__ != "PanicException":
            raise
        raise ValueError(
            f"`{name}` must have dates from year 1 to 9999, and durations in that "
            f"range, got others in column {column.name!r}. Correct or drop them."
        ) from None
