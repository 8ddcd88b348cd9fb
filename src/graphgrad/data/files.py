"""Read and check a series from a CSV or Parquet file."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..checks import check_choice
from .columns import csv_columns, number, parquet_columns
from .series import Series


class Table(NamedTuple):
    """A series read from a file.

    Attributes:
        series: The observed columns and their times; dates are in seconds since the
            first row.
        clock: Name of the column of times, if any.
        stamps: Dates as text, if the times are dates.
        inputs: The columns that are inputs, if any.
    """

    series: Series
    clock: str | None
    stamps: tuple[str, ...] | None
    inputs: Series | None = None


def read_table(
    path: Path,
    *,
    columns: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    time: str | None = None,
) -> Table:
    """Read a file and check it before a fit.

    Args:
        path: A CSV file, or a Parquet file if its name ends in `.parquet`.
        columns: The observed columns; all but the inputs and the times if None.
        inputs: The columns that are exogenous inputs.
        time: The column of times; if None, a column `t` or `time`, if any.

    Raises:
        ValueError: The file is invalid; the message gives the place and the reason.
    """
    check_data(path)
    read = parquet_columns if path.suffix == ".parquet" else csv_columns
    driving = list(inputs or ())
    wanted = None if columns is None else [*columns, *driving]
    clock, names, cells = read(path, wanted, time)
    times, stamps = None, None
    if clock is not None:
        times, stamps = _times(clock, cells.pop(0))
    parts = [_numbers(name, part) for name, part in zip(names, cells, strict=True)]
    for name, values in zip(names, parts, strict=True):
        _check_column(path, name, values)
    table = dict(zip(names, parts, strict=True))
    pushes = [table.pop(check_choice("--inputs", n, tuple(table))) for n in driving]
    _check_inputs(driving, pushes)
    if not table:
        raise ValueError(
            f"`data` must have a column that is not an input, got {', '.join(driving)} "
            "alone. Name fewer of them in --inputs."
        )
    values = np.stack(list(table.values()), axis=1)
    acting = None
    if pushes:
        acting = Series(np.stack(pushes, axis=1), tuple(driving), None, None)
    return Table(Series(values, tuple(table), times, None), clock, stamps, acting)


def check_data(path: Path) -> None:
    """Raise an error if the file does not exist."""
    if not path.is_file():
        reason = "not a file" if path.exists() else "no such file"
        raise ValueError(f"`data` must be a file, got {path}: {reason}.")


def _numbers(name: str, cells: Any) -> np.ndarray:
    if isinstance(cells, np.ndarray):
        return cells
    row = next(i for i, cell in enumerate(cells) if number(str(cell)) is None)
    raise ValueError(
        f"`data` must hold numbers, got {cells[row]!r} in row {row + 1}, column "
        f"{name!r}. Correct it, leave it empty, or choose other columns with --columns."
    )


def _times(name: str, cells: Any) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Times as numbers, and as text if they are dates."""
    stamps = None
    if isinstance(cells, np.ndarray):
        times = cells
    else:
        stamps = tuple(str(cell) for cell in cells)
        times = np.array(list(_seconds(name, stamps)))
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad):
        raise ValueError(
            f"`data` must have a time for each row, got {times[bad[0]]} in row "
            f"{bad[0] + 1}, column {name!r}. Fill it in, or leave the row out."
        )
    back = np.flatnonzero(np.diff(times) <= 0)
    if len(back):
        raise ValueError(
            f"`data` must have increasing times, got row {back[0] + 2} of column "
            f"{name!r} no later than the row before. Sort the rows."
        )
    return times, stamps


def _seconds(name: str, stamps: tuple[str, ...]) -> Iterator[float]:
    """Seconds since the first date."""
    first = None
    for row, stamp in enumerate(stamps):
        try:
            when = datetime.fromisoformat(stamp.strip())
            first = when if first is None else first
            yield (when - first).total_seconds()
        except (ValueError, TypeError):
            raise ValueError(
                f"`data` must have times that are numbers or dates like 2024-05-31, "
                f"got {stamp!r} in row {row + 1}, column {name!r}."
            ) from None


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
    observed = values[~np.isnan(values)]
    if not len(observed):
        raise ValueError(
            f"`data` must have an observation in every column, got none in {name!r}. "
            "Leave it out with --columns; --states names hidden states."
        )
    if (observed == observed[0]).all():
        raise ValueError(
            f"`data` must have columns that vary, got {observed[0]:g} in all rows of "
            f"{name!r}. Leave it out with --columns."
        )
