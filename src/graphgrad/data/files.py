"""Read and check a series from a CSV, Parquet or Excel file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..checks import check_choice
from ..files import check_path
from .clock import Stamps, choose_unit, numbered, time_name
from .columns import Read, csv_columns, excel_columns, parquet_columns
from .constant import check_varies
from .copies import find_copies
from .dates import is_date
from .numerals import GROUPED, MISSING, number, written_floats
from .sentinels import check_sentinels, mark_missing
from .series import Series
from .stamps import check_stamps, column_stamps
from .time_like import check_time_like, quoted

READERS = {".parquet": parquet_columns, ".xlsx": excel_columns}
"""Readers of files by the end of their names; all others are CSV."""

KEEP = "none"
"""Value of `missing` that takes suspicious numbers as they are."""


class Table(NamedTuple):
    """A series read from a file.

    Attributes:
        series: The observed columns and their times; dates are numbers of a unit since
            the first row.
        clock: Name of the column of times, if any.
        inputs: The columns that are inputs, if any.
        notes: What was assumed about the file, for the user.
    """

    series: Series
    clock: str | None
    inputs: Series | None = None
    notes: tuple[str, ...] = ()


def read_table(
    path: Path,
    *,
    columns: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    time: str | None = None,
    time_unit: str = "auto",
    missing: Sequence[str] | None = None,
    day_first: bool | None = None,
) -> Table:
    """Read a file and check it before a fit.

    Args:
        path: A CSV file, or a Parquet or Excel file if its name ends in `.parquet` or
            `.xlsx`.
        columns: The observed columns; all but the inputs and the times if None.
        inputs: The columns that are exogenous inputs.
        time: The column of times, or `"index"` for a first column without a name; if
            None, the columns that `clock_columns` finds.
        time_unit: Unit of time of dates, as for `choose_unit`.
        missing: Numbers and texts that mean missing, besides the usual ones; `"none"`
            takes numbers such as -9999 as values.
        day_first: Whether 01/02/1999 is 1 February; None if the dates show it.

    Raises:
        ValueError: The file is invalid; the message gives the place and the reason.
    """
    check_data(path)
    driving = list(inputs or ())
    wanted = None if columns is None else [*columns, *driving]
    marks = [mark.strip().lower() for mark in missing or ()]
    texts = (*MISSING, *(mark for mark in marks if mark != KEEP))
    read = READERS.get(path.suffix.lower(), csv_columns)(path, wanted, time, texts)
    notes: list[str] = []
    stamps = _stamps(path, read, wanted, day_first, notes)
    table = _table(path, read, wanted, time, texts, notes)
    if stamps is not None and len(stamps.values) > 1:
        if (np.diff(stamps.values) < stamps.values[:1] - stamps.values[:1]).all():
            notes.append("The rows are newest first, and are read from the last.")
            stamps = stamps._replace(values=stamps.values[::-1])
            table = {name: values[::-1] for name, values in table.items()}
        stamps = check_stamps("data", stamps)
    numbers = [value for mark in marks if (value := number(mark)) is not None]
    table = {name: mark_missing(part, numbers) for name, part in table.items()}
    for name, values in table.items():
        _check_column(path, name, values)
    if KEEP not in marks:
        check_sentinels(table)
    _check_copies(table)
    pushes = [table.pop(check_choice("--inputs", n, tuple(table))) for n in driving]
    _check_inputs(driving, pushes)
    if not table:
        raise ValueError(
            f"`data` must have a column that is not an input, got {', '.join(driving)} "
            "alone. Name fewer of them in --inputs."
        )
    check_time_like(table, columns or (), timed=stamps is not None)
    values = np.stack(list(table.values()), axis=1)
    series = Series(values, tuple(table), None, None)
    unit = choose_unit(time_unit, [stamps])
    if stamps is not None:
        times, clock = numbered(stamps, unit)
        series = series._replace(times=times, clock=clock)
    acting = None
    if pushes:
        acting = Series(np.stack(pushes, axis=1), tuple(driving), None, None)
    name = None if stamps is None else time_name(series.clock)
    return Table(series, name, acting, tuple(notes))


def check_data(path: Path) -> None:
    """Raise an error if the file does not exist, or is of a kind that is not read."""
    check_path("data", path)
    if not path.is_file():
        reason = "not a file" if path.exists() else "no such file"
        raise ValueError(f"`data` must be a file, got {path}: {reason}.")
    if path.suffix.lower() in (".xls", ".ods"):
        raise ValueError(
            f"`data` must be CSV, Parquet or .xlsx, got {path}. Save the sheet as CSV "
            "or .xlsx."
        )


def _stamps(
    path: Path,
    read: Read,
    wanted: Sequence[str] | None,
    day_first: bool | None,
    notes: list[str],
) -> Stamps | None:
    """The times, if any; of the index if it has dates."""
    clock, index = read.choice.clock, read.choice.unnamed
    if clock:
        if index is not None and wanted is None:
            notes.append("The first column has no name: left out.")
        cells = {name or "index": _times(read, name) for name in clock}
        return column_stamps(cells, "data", day_first=day_first)
    if index is None:
        return None
    cells = read.cells[index]
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "mM":
        return column_stamps({"index": cells}, "data")
    if not isinstance(cells, np.ndarray):
        try:
            return column_stamps({"index": cells}, "data", day_first=day_first)
        except ValueError as error:
            if wanted is not None:
                return None
            raise ValueError(
                f"`data` must name its first column in {path}, unless it is an index "
                f"of dates or row numbers, got {cells[0]!r} in row 1 ({error}) Name "
                "it, or choose others with --columns."
            ) from None
    if np.array_equal(cells, np.arange(len(cells))):
        notes.append("The first column has no name and counts the rows: left out.")
    elif wanted is None:
        raise ValueError(
            f"`data` must name its first column in {path}, got numbers that are no row "
            "numbers. Give --time index if they are the times, else choose other "
            "columns with --columns, or name it."
        )
    return None


def _times(read: Read, name: str) -> Any:
    """Cells of a column of times; numbers with decimal commas are converted."""
    cells = read.cells[name]
    if isinstance(cells, np.ndarray) or not all(isinstance(c, str) for c in cells):
        return cells
    found = written_floats(cells, comma=read.delimiter != ",")
    return cells if found is None else found[0]


def _table(
    path: Path,
    read: Read,
    wanted: Sequence[str] | None,
    time: str | None,
    missing: Sequence[str],
    notes: list[str],
) -> dict[str, np.ndarray]:
    """The chosen columns as numbers."""
    cells = {name: read.cells[name] for name in read.choice.chosen}
    plain = [n for n, c in cells.items() if isinstance(c, np.ndarray)]
    pointed = [n for n in plain if cells[n].dtype.kind == "f" and _broken(cells[n])]
    comma = read.delimiter not in (",", "") or None
    if comma and pointed:
        comma = None
    elif read.delimiter == ",":
        comma = False
    ways: dict[str, list[str]] = {}
    for name, column in cells.items():
        if name in plain:
            if column.dtype.kind != "f":
                raise _no_number(name, str(column[0]), 0)
            continue
        try:
            found = written_floats(column, missing, comma=comma)
        except ValueError as error:
            raise ValueError(
                f"`data` must hold numbers in one style, column {name!r}: {error}."
            ) from None
        if found is None:
            row = next(i for i, c in enumerate(column) if number(c, missing) is None)
            raise _no_number(name, column[row], row)
        cells[name], how = found
        ways.setdefault(how, []).append(name)
    if pointed and any("decimal commas" in how for how in ways):
        # A column of numbers like 1.234 beside those with decimal commas.
        again = csv_columns(path, wanted, time, missing, pointed).cells
        for name in pointed:
            there = [c.strip() for c in again[name] if "." in c]
            if all(GROUPED.match(cell) for cell in there):
                texts = [cell.replace(".", "") for cell in again[name]]
                cells[name] = np.array([number(c, missing) for c in texts], float)
                ways.setdefault("with separated thousands", []).append(name)
    notes += [
        f"Column{'s' * (len(names) > 1)} {', '.join(names)}: numbers {how}."
        for how, names in ways.items()
        if how
    ]
    return cells


def _broken(values: np.ndarray) -> bool:
    """Whether some numbers are not whole."""
    there = values[np.isfinite(values)]
    return bool((there % 1 != 0).any())


def _no_number(name: str, cell: str, row: int) -> ValueError:
    digits = any(c.isdigit() and not c.isascii() for c in cell)
    why = " with digits of another script" if digits else ""
    times = f"If it has the times, give --time {quoted(name)}; else correct "
    return ValueError(
        f"`data` must hold numbers, got {cell!r:.60}{why} in row {row + 1}, column "
        f"{name!r}. {times if is_date(cell) else 'Correct '}it, leave it empty, or "
        "choose other columns with --columns."
    )


def _check_copies(table: dict[str, np.ndarray]) -> None:
    names = [f"column {name!r}" for name in table]
    for copy in find_copies(np.stack(list(table.values()), axis=1)):
        raise ValueError(
            "`data` must have columns of which none is a copy of another, got "
            f"{copy.words(names)}. Leave one of them out with --columns."
        )


def _check_inputs(names: Sequence[str], columns: Sequence[np.ndarray]) -> None:
    for name, values in zip(names, columns, strict=True):
        gaps = np.flatnonzero(np.isnan(values))
        if len(gaps):
            raise ValueError(
                f"`data` must have all values of an input, got none in row "
                f"{gaps[0] + 1}, column {name!r}. Fill it in, or leave it out of "
                "--inputs: a state may have gaps."
            )


def _check_column(path: Path, name: str, values: np.ndarray) -> None:
    if len(values) < 3:
        raise ValueError(
            f"`data` must have at least 3 rows, got {len(values)} in {path}. Equations "
            "need a longer series; 50 rows are few."
        )
    far = np.flatnonzero(np.isinf(values))
    if len(far):
        raise ValueError(
            f"`data` must be finite, got {values[far[0]]} in row {far[0] + 1}, column "
            f"{name!r}. Leave the cell empty if nothing was observed."
        )
    if np.isnan(values).all():
        raise ValueError(
            f"`data` must have an observation in every column, got none in {name!r}. "
            "Leave it out with --columns; --states names hidden states."
        )
    check_varies(name, values)
