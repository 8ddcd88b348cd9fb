"""Numbers as people write them in tables.

Decimal commas, thousands separators and percent signs are recognised from the whole
column.
"""

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

MISSING = ("", "na", "nan", "null")
"""Text of missing values, in any case."""

POINT = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d*)(\.\d*)?(e[+-]?\d+)?$", re.I | re.A)
"""A number with a decimal point, and commas between thousands."""

COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*)(,\d*)?(e[+-]?\d+)?$", re.I | re.A)
"""A number with a decimal comma, and points between thousands."""

GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})+$", re.A)
"""A whole number with points between thousands."""

SPACES = re.compile(r"(?<=\d)[ '\u2019\u00a0\u202f](?=\d{3}(\D|$))", re.A)
"""Thousands separators that are no commas and no points."""


def number(cell: str, missing: Sequence[str] = MISSING) -> float | None:
    """The number in a cell: NaN if missing, None if it is not a number.

    Digits of other scripts and underscores, which Python accepts, are not numbers.

    Examples:
        >>> number(" 1.5 "), number("NA"), number("1_000"), number("١٢")
        (1.5, nan, None, None)
    """
    if cell.strip().lower() in missing:
        return np.nan
    try:
        return float(cell) if cell.isascii() and "_" not in cell else None
    except ValueError:
        return None


def plain_floats(
    cells: Sequence[str], missing: Sequence[str] = MISSING
) -> Float[np.ndarray, "T"] | None:
    """Cells as floats, if all are numbers or missing; else None."""
    try:
        whole = "".join(cells)
        if whole.isascii() and "_" not in whole:
            return np.fromiter(map(float, cells), float, len(cells))
    except ValueError:
        pass
    numbers = [number(cell, missing) for cell in cells]
    return None if None in numbers else np.array(numbers, float)


def written_floats(
    cells: Sequence[str], missing: Sequence[str] = MISSING, *, comma: bool | None
) -> tuple[Float[np.ndarray, "T"], str] | None:
    """Numbers with decimal commas, thousands separators or percent signs.

    Args:
        cells: The text of a whole column.
        missing: Text of missing values, in lower case.
        comma: Whether 1,234 has a decimal comma; None if it is not known.

    Returns:
        The numbers, and how they are written; None if some cells are not numbers.

    Raises:
        ValueError: 1,234 may be 1.234 or 1234.

    Examples:
        >>> written_floats(["1.234,5", "0,25"], comma=None)
        (array([1.2345e+03, 2.5000e-01]), 'with decimal commas')
        >>> written_floats(["12 %", "7.5%"], comma=None)
        (array([12. ,  7.5]), 'in percent')
    """
    texts = [cell.strip().replace("\u2212", "-") for cell in cells]
    there = [text for text in texts if text.lower() not in missing]
    percent = bool(there) and all(text.endswith("%") for text in there)
    if percent:
        texts = [text.removesuffix("%").rstrip() for text in texts]
    spaced = texts
    texts = [SPACES.sub("", text) for text in texts]
    there = [text for text in texts if text.lower() not in missing]
    point, with_comma = (
        all(each.match(text) and any(c.isdigit() for c in text) for text in there)
        for each in (POINT, COMMA)
    )
    if not (point or with_comma):
        return None
    separated = any("," in text for text in there)
    if point and with_comma and separated and comma is None:
        example = next(text for text in there if "," in text)
        raise ValueError(
            f"got {example!r}, which may have a decimal comma or a separator of "
            "thousands. Write numbers like 1234.5"
        )
    decimal = with_comma and separated and (comma or not point)
    if decimal:
        joined = [text.replace(".", "").replace(",", ".") for text in texts]
    else:
        joined = [text.replace(",", "") for text in texts]
    floats = plain_floats(joined, missing)
    if floats is None:
        return None
    ways = {
        "in percent": percent,
        "with decimal commas": decimal,
        "with separated thousands": texts != spaced or (separated and not decimal),
    }
    return floats, " and ".join(way for way, is_so in ways.items() if is_so)
