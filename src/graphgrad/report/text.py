"""Names and numbers as safe HTML text."""

import html
import re
from typing import Any
from unicodedata import category

import numpy as np

from ..equations.text import rounded

# Characters that change the writing direction.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def safe(value: Any) -> str:
    """Escaped text for HTML, in an element or an attribute.

    Examples:
        >>> safe('<b>"x"</b>')
        '&lt;b&gt;&quot;x&quot;&lt;/b&gt;'
    """
    return html.escape(printable(str(value)), quote=True)


def prose(text: str) -> str:
    """Escaped sentences for HTML, with what is between backticks as code.

    Examples:
        >>> prose("Try `--lags auto`, a < b.")
        'Try <code>--lags auto</code>, a &lt; b.'
    """
    return re.sub("`([^`\n]+)`", r"<code>\1</code>", safe(text))


def printable(text: str) -> str:
    r"""The text with control characters and direction marks replaced.

    Examples:
        >>> printable("a\x00b, \N{SNOWMAN}")
        'a�b, ☃'
    """
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if c in _TURNING or (category(c) in ("Cc", "Cs") and c != "\n")
        else c
        for c in text
    )


def number(value: float, error: float = np.nan, digits: int = 3) -> str:
    """A number with its sign, rounded to `digits` or by its standard error.

    Examples:
        >>> number(-0.80351, error=0.0123), number(2.0), number(float("nan"))
        ('\N{MINUS SIGN}0.804', '2', 'NaN')
    """
    if np.isnan(value):
        return "NaN"
    sign = "\N{MINUS SIGN}" if value < 0 else ""
    if np.isinf(value):
        return f"{sign}\N{INFINITY}"
    return sign + rounded(abs(float(value)), digits, error)


def percent(share: float) -> str:
    """A share in whole percents, never rounded to 0 or 100 %.

    Examples:
        >>> percent(0.8), percent(0.9999), percent(1.0)
        ('80 %', 'over 99 %', '100 %')
    """
    if np.isnan(share):
        return "unknown"
    if 0.995 <= share < 1:
        return "over 99 %"
    if 0 < share <= 0.005:
        return "under 1 %"
    return f"{100 * share:.0f} %"


def listed(parts: list[str]) -> str:
    """One, two and three.

    Examples:
        >>> listed(["x1", "x2", "x3"])
        'x1, x2 and x3'
    """
    *first, last = parts or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last
