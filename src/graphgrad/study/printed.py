"""Numbers printed in the paper, as package data."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

# As printed, in units of 1e-3.
UNITS = {"rmse": 1e-3}


@cache
def _tables() -> dict[str, Any]:
    return json.loads(
        files("graphgrad.study").joinpath("paper.json").read_text("utf-8")
    )


def not_stated() -> tuple[str, ...]:
    """Settings needed to reproduce the paper that it does not state."""
    return tuple(_tables()["settings"]["not_stated_in_the_paper"])


def printed(table: str, *, first: int = 0) -> dict[str, dict[str, tuple[float, ...]]]:
    """A table of the paper: by row, then by metric, one number per cell.

    Errors are in plain units, not in the 1e-3 of the paper.

    Args:
        table: Its name in `paper.json`.
        first: Number of leading cells to leave out.

    Examples:
        >>> printed("lorenz63-d2")["pMLE"]["rmse"]
        (0.0024, 0.0016, 0.0008, 0.0003)
    """
    return {
        row: {
            metric: tuple(round(UNITS.get(metric, 1) * v, 9) for v in values[first:])
            for metric, values in metrics.items()
        }
        for row, metrics in _tables()[table]["rows"].items()
    }
