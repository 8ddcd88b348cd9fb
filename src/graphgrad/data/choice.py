"""Which columns of a file have the times, and which are read."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..checks import check_choice
from .stamps import clock_columns, is_clock

UNNAMED = ("", "Unnamed: 0", "__index_level_0__")
"""Names of a first column that is the index of a frame."""


class Choice(NamedTuple):
    """The columns of a file.

    Attributes:
        clock: Columns of times: none, one, or parts of dates.
        unnamed: A first column without a name, unless it is the clock.
        chosen: The other columns that are wanted.
    """

    clock: list[str]
    unnamed: str | None
    chosen: list[str]

    @property
    def wanted(self) -> list[str]:
        """All columns to read."""
        index = [] if self.unnamed is None else [self.unnamed]
        return [*self.clock, *index, *self.chosen]


def choose_columns(
    path: Path,
    names: list[str],
    columns: Sequence[str] | None,
    time: str | None,
    *,
    headed: bool,
) -> Choice:
    """The columns of times, if any, and the columns to read."""
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"`data` must have a name of its own for each column, got {twice!r} more "
            f"than once in {path}. Rename one of them."
        )
    index = next((name for name in UNNAMED if headed and _is_index(name, names)), None)
    named = [name for name in names if name != index] if headed else []
    if time == "index" and index is not None:
        clock = [index]
    elif time is not None:
        clock = [check_choice("--time", time, names)]
    else:
        if columns is not None and any(map(is_clock, named)):
            named = [name for name in named if is_clock(name) or name in columns]
        remedy = "Name one in --time and the others to read in --columns, or rename."
        clock = clock_columns(named, argument="data", remedy=remedy)
    chosen = [name for name in names if name not in (*clock, index)]
    if columns is not None:
        chosen = [check_choice("--columns", name, chosen) for name in columns]
    left = clock_columns(chosen, argument="data") if headed and time else []
    if left:
        raise ValueError(
            f"`data` must have its times once, got --time {time} and columns "
            f"{', '.join(left)}. Leave these out with --columns, or rename them."
        )
    if not chosen:
        raise ValueError(
            f"`data` must have a column other than the times, got {names}."
        )
    if "" in chosen:
        raise ValueError(
            f"`data` must name each column, got none for column {names.index('') + 1}. "
            "Name it, or choose others with --columns."
        )
    return Choice(clock, None if index in clock else index, chosen)


def _is_index(name: str, names: list[str]) -> bool:
    """Whether this is the index of a frame: first, or last in a Parquet file."""
    return names[:1] == [name] or (name.startswith("__index") and name in names)
