"""Columns of the first sheet of an Excel workbook."""

import zipfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import need
from ..resources import check_memory
from .numerals import MISSING, plain_floats

PER_BYTE = 3.0
"""Bytes of memory per byte of an unpacked workbook; 1.8 for numbers, as measured."""


def sheet_columns(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names in the first row that is not empty, and the cells below each.

    Raises:
        MissingExtraError: openpyxl is not installed.
        ValueError: The file is not a workbook, or its first sheet is empty.
    """
    openpyxl = need("openpyxl", extra="excel", who="`data` in an Excel file")
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise _no_workbook(path, error) from None
    what = f"{path}, which unpacks to {unpacked / 1e9:.1f} GB"
    check_memory("data", PER_BYTE * unpacked, what, "Save it as CSV.")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # else rows are as wide as the farthest cell, if empty
        rows = [row for row in map(_filled, sheet.iter_rows(values_only=True)) if row]
        book.close()
    except Exception as error:  # openpyxl has none of its own for damaged parts
        raise _no_workbook(path, error) from None
    if not rows:
        raise ValueError(f"`data` must have rows, got {path}: its sheet is empty.")
    width = max(map(len, rows))
    what = f"{len(rows)} rows of {width} cells in {path}"
    check_memory("data", 8.0 * len(rows) * width, what, "Remove what is far outside.")
    rows = [row + (None,) * (width - len(row)) for row in rows]
    names = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    return names, list(zip(*rows[1:], strict=True)) or [() for _ in names]


def _filled(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row without empty cells at its end."""
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    return tuple(row[:end])


def _no_workbook(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"`data` must be an Excel workbook, got {path}: {error!s:.200}. Save it again, "
        "or as CSV."
    )


def sheet_cells(cells: Sequence[Any], missing: Sequence[str] = MISSING) -> Any:
    """Cells of a column as floats or dates; as text if there are others."""
    there = [cell for cell in cells if cell is not None]
    if there and all(isinstance(cell, date) for cell in there):
        return np.array(cells, "datetime64[us]")
    texts = ["" if cell is None else str(cell) for cell in cells]
    floats = plain_floats(texts, missing)
    return texts if floats is None else floats
