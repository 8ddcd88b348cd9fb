"""Columns of CSV, Parquet and Excel files, as numbers, dates or text.

CSV is read by the standard library, so that errors can name the cell that is not a
number; a million rows take seconds (`benchmarks/read_csv.py`).
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .choice import Choice, choose_columns
from .dates import as_list
from .numerals import MISSING, number, plain_floats
from .parquet import parquet_fault
from .workbooks import sheet_cells, sheet_columns

BLOCK = 65_536
"""Rows that are converted to numbers at a time."""

Cells = dict[str, Any]
"""Columns by name: arrays of floats or dates, or lists of text."""


class Read(NamedTuple):
    """What was read from a file: its columns, their cells, and the CSV delimiter."""

    choice: Choice
    cells: Cells
    delimiter: str = ""


def csv_columns(
    path: Path,
    columns: Sequence[str] | None,
    time: str | None,
    missing: Sequence[str] = MISSING,
    texts: Sequence[str] = (),
) -> Read:
    """Read the wanted columns of a CSV file.

    Args:
        path: The file.
        columns: Names of the columns to read besides the times; all if None.
        time: Name of the column of times, if given.
        missing: Text of missing values, in lower case.
        texts: Columns that are read as text, also if they hold numbers.
    """
    reader: Any = None
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            line = next((line for line in file if line.strip()), "")
            if not line:
                raise ValueError(f"`data` must have rows, got {path}: it is empty.")
            file.seek(0)
            # The comma wins ties.
            delimiter = max(",;\t", key=line.count)
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            first = next(row for row in reader if row)
            names = [cell.strip() for cell in first]
            headed = any(number(cell, missing) is None for cell in first)
            if not headed:
                names = [f"x{i + 1}" for i in range(len(first))]
            choice = choose_columns(path, names, columns, time, headed=headed)
            rows = _records(path, reader, len(names), delimiter)
            if not headed:
                rows = _after(first, rows)
            cells, late = _columns(rows, names, choice.wanted, missing, texts)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"`data` must be text in UTF-8, got {path}: byte {error.start} is not. "
            "Save it as UTF-8; names of Parquet files end in .parquet."
        ) from None
    except csv.Error as error:
        raise ValueError(_broken(path, str(error), reader.line_num)) from None
    if late:  # text after numbers, which were not kept as text
        return csv_columns(path, columns, time, missing, [*texts, *late])
    return Read(choice, cells, delimiter)


def _broken(path: Path, reason: str, line: int) -> str:
    if "unexpected end" in reason:
        return (
            f"`data` must close each quote, got one in {path} that is open at its end, "
            f"line {line}{_opened(path)}. Remove or close it."
        )
    return f"`data` must be CSV, got {path}: {reason} in line {line}."


def _opened(path: Path) -> str:
    """The first line with an odd number of quotes, for a message."""
    with path.open(encoding="utf-8-sig") as file:
        odd = (i for i, line in enumerate(file, 1) if line.count('"') % 2)
        number = next(odd, None)
    return "" if number is None else f"; line {number} has an odd number of quotes"


def _records(
    path: Path, reader: Any, width: int, delimiter: str
) -> Iterator[list[str]]:
    """Rows of the right width; blank lines are skipped unless they are empty cells."""
    blank, before = 0, reader.line_num
    for row in reader:
        if reader.line_num > before + 1:
            _check_lines(path, row, before + 1, width, delimiter)
        before = reader.line_num
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


def _check_lines(
    path: Path, row: list[str], begin: int, width: int, delimiter: str
) -> None:
    """Reject a quote that swallowed rows of the table."""
    cell = next((cell for cell in row if "\n" in cell), "")
    inside = cell.splitlines()[1:]
    swallowed = [line for line in inside if line.count(delimiter) >= width - 1]
    if swallowed or len(row) != width:
        raise ValueError(
            f"`data` must close each quote in its row, got one in line {begin} of "
            f"{path} that encloses {len(inside)} lines after it. Remove or close it."
        )


def _after(first: list[str], rows: Iterator[list[str]]) -> Iterator[list[str]]:
    yield first
    yield from rows


def _columns(
    rows: Iterator[list[str]],
    names: list[str],
    wanted: list[str],
    missing: Sequence[str],
    texts: Sequence[str],
) -> tuple[Cells, list[str]]:
    """The cells, and the columns in which text comes after numbers."""
    parts: dict[str, list[Any]] = {name: [] for name in wanted}
    text = {name for name in wanted if name in texts}
    late = []
    while block := list(islice(rows, BLOCK)):
        cells = list(zip(*block, strict=True))
        for name, part in parts.items():
            found: Any = cells[names.index(name)]
            if name not in text:
                floats = plain_floats(found, missing)
                if floats is None:
                    text.add(name)
                    late += [name] if part else []
                found = found if floats is None else floats
            part.append(found)
    return {
        name: [cell for block in part for cell in block]
        if name in text
        else np.concatenate([np.zeros(0), *part])
        for name, part in parts.items()
    }, late


def excel_columns(
    path: Path,
    columns: Sequence[str] | None,
    time: str | None,
    missing: Sequence[str] = MISSING,
) -> Read:
    """The same as `csv_columns` for the first sheet of an Excel workbook."""
    names, sheet = sheet_columns(path)
    choice = choose_columns(path, names, columns, time, headed=True)
    wanted = {name: sheet[names.index(name)] for name in choice.wanted}
    return Read(choice, {n: sheet_cells(cells, missing) for n, cells in wanted.items()})


def parquet_columns(
    path: Path,
    columns: Sequence[str] | None,
    time: str | None,
    missing: Sequence[str] = MISSING,
) -> Read:
    """The same as `csv_columns` for a Parquet file."""
    import polars as pl

    if fault := parquet_fault(path):
        raise ValueError(f"`data` must be Parquet, got {path}: {fault}.")
    names = list(pl.read_parquet_schema(path))
    choice = choose_columns(path, names, columns, time, headed=True)
    frame = pl.read_parquet(path, columns=choice.wanted)
    cells: Cells = {}
    for name in choice.wanted:
        column = frame[name]
        if column.dtype.is_numeric() or column.dtype == pl.Boolean:
            cells[name] = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        elif column.dtype in (pl.Date, pl.Datetime, pl.Duration):
            zoned = getattr(column.dtype, "time_zone", None) is not None
            cells[name] = as_list(column, "data") if zoned else column.to_numpy()
        else:
            cells[name] = sheet_cells(as_list(column, "data"), missing)
    return Read(choice, cells)
