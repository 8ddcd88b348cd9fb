"""Future inputs of a forecast, from a file."""

from pathlib import Path
from typing import Any

from ..data.parquet import parquet_fault
from ..files import check_path

DEFAULT = 50
"""Steps of a forecast without inputs."""


def future_inputs(
    path: Path | None, names: list[str], steps: int | None
) -> tuple[Any, int]:
    """Inputs of the steps of a forecast, and their number.

    Args:
        path: A CSV file, or a Parquet file if its name ends in `.parquet`.
        names: Names of the inputs of the run.
        steps: Number of steps, if given; else that of the rows of the file.
    """
    if path is None:
        if names:
            raise ValueError(
                f"`--inputs` must be given for a run with inputs, {', '.join(names)}, "
                "got none. Give a CSV file with these columns, a row for each step."
            )
        return None, DEFAULT if steps is None else steps
    if not names:
        raise ValueError(
            f"`--inputs` must be left out for a run without inputs, got {path}. Fit "
            "with --inputs to have some."
        )
    table = _read(path)
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise ValueError(
            f"`--inputs` must have the columns {', '.join(names)}, got {path} without "
            f"{', '.join(absent)}. Rename its columns."
        )
    table = table.select(names)
    if not len(table) or (steps is not None and steps > len(table)):
        wanted = "at least one" if steps is None else str(steps)
        raise ValueError(
            f"`--inputs` must have a row for each step, {wanted}, got {len(table)} in "
            f"{path}. Add rows, or give fewer --steps."
        )
    steps = len(table) if steps is None else steps
    return _checked(table, path).head(steps), steps


def _read(path: Path) -> Any:
    import polars as pl

    check_path("--inputs", path)
    if not path.is_file():
        reason = "not a file" if path.exists() else "no such file"
        raise ValueError(f"`--inputs` must be a file, got {path}: {reason}.")
    if path.suffix == ".parquet":
        if fault := parquet_fault(path):
            raise ValueError(f"`--inputs` must be Parquet, got {path}: {fault}.")
        return pl.read_parquet(path)
    try:
        with path.open(encoding="utf-8-sig") as file:
            line = file.readline()
        return pl.read_csv(path, separator=max(",;\t", key=line.count))
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        UnicodeDecodeError,
    ) as error:
        (reason, *_) = str(error).splitlines() or [""]
        raise ValueError(
            f"`--inputs` must be a table, got {path}: {reason}. Save it as CSV with "
            "the names of the inputs in the first row."
        ) from None


def _checked(table: Any, path: Path) -> Any:
    """All cells must be finite numbers."""
    for name in table.columns:
        column = table[name]
        if not column.dtype.is_numeric():
            raise ValueError(
                f"`--inputs` must hold numbers, got {column.dtype} in column {name!r} "
                f"of {path}. Correct the cells that are no numbers."
            )
        gaps = (~column.is_finite().fill_null(False)).arg_true()
        if len(gaps):
            raise ValueError(
                f"`--inputs` must have a number in every row, got none in row "
                f"{gaps[0] + 1}, column {name!r} of {path}. Fill it in."
            )
    return table
