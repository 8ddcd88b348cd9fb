"""Text from data, such as names of columns, for terminals and spreadsheets."""

import re

CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Characters that command a terminal or reverse text; not tab and newline."""

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings by which spreadsheets take a cell for a formula."""


def printable(text: str) -> str:
    r"""Text with control characters as escapes, which a terminal does not obey.

    Examples:
        >>> printable("prey\x1b[2J")
        'prey\\x1b[2J'
    """
    return CONTROLS.sub(lambda found: ascii(found.group())[1:-1], text)


def as_cell(text: str) -> str:
    """Text that a spreadsheet takes for text: with an apostrophe before a formula.

    Examples:
        >>> as_cell("=1+1"), as_cell("prey")
        ("'=1+1", 'prey')
    """
    shown = printable(text)
    return f"'{shown}" if text.startswith(FORMULAS) else shown
