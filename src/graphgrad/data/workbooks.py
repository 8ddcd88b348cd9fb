"""Columns of the first sheet of an Excel workbook."""

import zipfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import need
from .numerals import MISSING, plain_floats


def sheet_columns(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names in the first row that is not empty, and the cells below each.

    Raises:
        MissingExtraError: openpyxl is not installed.
        ValueError: The file is not a workbook, or its first sheet is empty.
    """
    openpyxl = need("openpyxl", extra="excel", who="`data` in an Excel file")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = list(book.worksheets[0].iter_rows(values_only=True))
        book.close()
    except (zipfile.BadZipFile, KeyError, IndexError, OSError) as error:
        raise ValueError(
            f"`data` must be an Excel workbook, got {path}: {error}."
        ) from None
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise ValueError(f"`data` must have rows, got {path}: its sheet is empty.")
    names = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    return names, list(zip(*rows[1:], strict=True)) or [() for _ in names]


def sheet_cells(cells: Sequence[Any], missing: Sequence[str] = MISSING) -> Any:
    """Cells of a column as floats or dates; as text if there are others."""
    there = [cell for cell in cells if cell is not None]
    if there and all(isinstance(cell, date) for cell in there):
        return np.array(cells, "datetime64[us]")
    texts = ["" if cell is None else str(cell) for cell in cells]
    floats = plain_floats(texts, missing)
    return texts if floats is None else floats
