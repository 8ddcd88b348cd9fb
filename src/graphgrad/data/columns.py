"""Columns of CSV and Parquet files, as numbers or text.

CSV is read by the standard library, so that errors can name the cell that is not a
number; a million rows take seconds (`benchmarks/read_csv.py`).
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_choice
from .series import time_columns

MISSING = ("", "na", "nan", "null")
"""Text of missing values, in any case."""

BLOCK = 65_536
"""Rows that are converted to numbers at a time."""

Cells = list[Any]
"""Columns: arrays of floats, or lists of text if some cells are not numbers."""


def csv_columns(
    path: Path, columns: Sequence[str] | None, time: str | None
) -> tuple[str | None, list[str], Cells]:
    """Name of the column of times, names of the other columns, and their cells."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            line = next((line for line in file if line.strip()), "")
            if not line:
                raise ValueError(f"`data` must have rows, got {path}: it is empty.")
            file.seek(0)
            # The comma wins ties.
            reader = csv.reader(file, delimiter=max(",;\t", key=line.count))
            first = next(row for row in reader if row)
            names = [cell.strip() for cell in first]
            headed = any(number(cell) is None for cell in first)
            if not headed:
                names = [f"x{i + 1}" for i in range(len(first))]
            _check_names(path, names)
            clock, chosen = _choose(names, columns, time, headed=headed)
            wanted = [names.index(n) for n in ([clock] if clock else []) + chosen]
            rows = _records(path, reader, len(names))
            if not headed:
                rows = _after(first, rows)
            return clock, chosen, _columns(rows, wanted)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"`data` must be text in UTF-8, got {path}: byte {error.start} is not. "
            "Save it as UTF-8; names of Parquet files end in .parquet."
        ) from None
    except csv.Error as error:
        raise ValueError(f"`data` must be CSV, got {path}: {error}.") from None


def _records(path: Path, reader: Any, width: int) -> Iterator[list[str]]:
    """Rows of the right width; blank lines are skipped unless they are empty cells."""
    blank = 0
    for row in reader:
        if len(row) == width:
            for _ in range(blank):
                yield [""]
            blank = 0
            yield row
        elif row:
            raise ValueError(
                f"`data` must have as many cells in each row as in the first, {width}, "
                f"got {len(row)} in line {reader.line_num} of {path}."
            )
        elif width == 1:
            blank += 1


def _after(first: list[str], rows: Iterator[list[str]]) -> Iterator[list[str]]:
    yield first
    yield from rows


def _columns(rows: Iterator[list[str]], wanted: list[int]) -> Cells:
    parts: list[list[Any]] = [[] for _ in wanted]
    while block := list(islice(rows, BLOCK)):
        cells = list(zip(*block, strict=True))
        for part, j in zip(parts, wanted, strict=True):
            part.append(_floats(cells[j]))
    return [_joined(part) for part in parts]


def _floats(cells: Sequence[str]) -> Any:
    """Cells as floats if all are numbers or missing; else unchanged."""
    try:
        return np.fromiter(map(float, cells), float, len(cells))
    except ValueError:
        numbers = [number(cell) for cell in cells]
        return cells if None in numbers else np.array(numbers, float)


def _joined(parts: list[Any]) -> Any:
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts) if parts else np.zeros(0)
    return [cell for part in parts for cell in part]


def number(cell: str) -> float | None:
    """The number in a cell: NaN if missing, None if it is not a number."""
    if cell.strip().lower() in MISSING:
        return np.nan
    try:
        return float(cell)
    except ValueError:
        return None


def parquet_columns(
    path: Path, columns: Sequence[str] | None, time: str | None
) -> tuple[str | None, list[str], Cells]:
    """The same as `csv_columns` for a Parquet file."""
    import polars as pl

    try:
        names = list(pl.read_parquet_schema(path))
        _check_names(path, names)
        clock, chosen = _choose(names, columns, time, headed=True)
        frame = pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"`data` must be Parquet, got {path}: {reason}.") from None
    cells: Cells = []
    for name in ([clock] if clock else []) + chosen:
        column = frame[name]
        if column.dtype.is_numeric() or column.dtype == pl.Boolean:
            cells.append(column.cast(pl.Float64).fill_null(np.nan).to_numpy())
        else:
            texts = ["" if cell is None else str(cell) for cell in column.to_list()]
            cells.append(_floats(texts))
    return clock, chosen, cells


def _check_names(path: Path, names: list[str]) -> None:
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"`data` must have a name of its own for each column, got {twice!r} more "
            f"than once in {path}. Rename one of them."
        )


def _choose(
    names: list[str], columns: Sequence[str] | None, time: str | None, *, headed: bool
) -> tuple[str | None, list[str]]:
    """The column of times, if any, and the columns to read."""
    clocks = time_columns(names) if headed else []
    if time is not None:
        clocks = [check_choice("--time", time, names)]
    if len(clocks) > 1:
        raise ValueError(
            f"`data` must have one column of times, got columns {clocks}. "
            "Rename one of them."
        )
    clock = clocks[0] if clocks else None
    chosen = [name for name in names if name != clock]
    if columns is not None:
        chosen = [check_choice("--columns", name, chosen) for name in columns]
    if not chosen:
        raise ValueError(
            f"`data` must have a column other than the times, got {names}."
        )
    if "" in chosen:
        raise ValueError(
            f"`data` must name each column, got none for column {names.index('') + 1}. "
            "Name it, or choose others with --columns."
        )
    return clock, chosen
