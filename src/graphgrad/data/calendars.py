"""Dates from numbers: 20240531, columns of years, months and days, times of day."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..checks import check_numbers
from .dates import parse_dates

RANGES = {
    **{"year": (-100_000, 100_000), "quarter": (1, 4), "month": (1, 12)},
    **{"day": (1, 31), "hour": (0, 24), "minute": (0, 59), "second": (0, 60)},
}
"""Smallest and largest number of each part of a date."""


def compact_dates(values: Any) -> Any:
    """Numbers such as 20240531 as dates, if all are."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or not len(array):
        return values
    whole = np.isfinite(array).all() and (array == np.floor(array)).all()
    if not whole or array.min() < 1000_01_01 or array.max() > 9999_12_31:
        return values
    number = array.astype("int64")
    month, day = number // 100 % 100, number % 100
    if ((month < 1) | (month > 12) | (day < 1) | (day > 31)).any():
        return values
    return [f"{n // 10000}-{n // 100 % 100:02}-{n % 100:02}" for n in number.tolist()]


def times_of_day(cells: Any) -> np.ndarray:
    """Times of day, such as 18:30 or 18.30.00, as timedelta64[us]."""
    texts = [f"{cell:g}:00" if isinstance(cell, float) else str(cell) for cell in cells]
    stamps = parse_dates([f"1970-01-01 {text}" for text in texts], "column time", "y")
    return stamps - np.datetime64("1970-01-01", "us")


def calendar_dates(argument: str, parts: Mapping[str, Any]) -> np.ndarray:
    """Dates from columns of years, quarters, months, days, hours, ..."""
    numbers = {}
    for name, cells in parts.items():
        array = check_numbers(argument, cells, f"Column {name!r} is a part of dates.")
        low, high = RANGES[name]
        if name == "day" and not {"month", "quarter"} & set(parts):
            high = 366  # of the year
        bad = np.flatnonzero(~((array >= low) & (array <= high)) | (array % 1 != 0))
        if len(bad):
            raise ValueError(
                f"`{argument}` must have whole numbers from {low} to {high} in column "
                f"{name!r}, a part of dates, got {array[bad[0]]:g} in row "
                f"{bad[0] + 1}. Correct it, or drop or rename the column."
            )
        numbers[name] = array.astype("int64")
    month = numbers.get("month", 3 * numbers.get("quarter", 1) - 2)
    dates = (12 * (numbers["year"] - 1970) + month - 1).astype("datetime64[M]")
    dates = dates.astype("datetime64[us]")
    for name, code in (("day", "D"), ("hour", "h"), ("minute", "m"), ("second", "s")):
        less = 1 if name == "day" else 0
        dates = dates + (numbers.get(name, less) - less) * np.timedelta64(1, code)
    return dates
