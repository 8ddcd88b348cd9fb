"""One array or data frame as a series, with its times as they were given."""

from collections.abc import Mapping
from datetime import date
from os import PathLike
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from ..checks import check_choice, check_numbers
from .clock import Stamps
from .dates import as_list, is_date
from .series import Series
from .stamps import (
    ALONE,
    as_stamps,
    check_stamps,
    clock_columns,
    column_stamps,
    is_clock,
)
from .xarrays import is_xarray, xarray_columns

REMEDY = "Give one row for each time step and one column for each observed quantity."


def read_part(part: Any, times: Any, name: str) -> tuple[Series, Stamps | None]:
    """A series without its times, and these as they were given."""
    if is_xarray(part):
        values, names, found = xarray_columns(part, name)
        stamps = _given(times) if times is not None else found
        return Series(values, names, None, None), stamps
    if not is_frame(part):
        if isinstance(times, str):
            raise ValueError(
                f"`times` must be an array of times for an array, got {times!r}. Give "
                "one number or date for each row."
            )
        return Series(_array(part, name), None, None, part), _given(times)
    columns = list(getattr(part, "column_names", None) or part.columns)
    columns = [c if isinstance(c, str) else None for c in columns]
    named = [c for c in columns if c is not None]
    if len(set(named)) < len(named):
        twice = sorted({c for c in named if named.count(c) > 1})
        raise ValueError(
            f"`{name}` must have a name of its own for each column, got {twice} more "
            "than once. Rename them."
        )
    if named and len(named) < len(columns):
        raise ValueError(
            f"`{name}` must have columns with names that are all text or all numbers, "
            f"got both ({named[0]!r} among others). Rename them."
        )
    index = _index(part, name, wanted=isinstance(times, str) and times == "index")
    if not named:
        return Series(_array(part, name), None, None, part), _given(times) or index
    frame = nw.from_native(part, eager_only=True)
    clock = [] if isinstance(times, str) else clock_columns(named, argument=name)
    if isinstance(times, str) and times != "index":
        clock = [check_choice("times", times, named)]
    elif clock and (times is not None or index is not None):
        other = "`times`" if times is not None else f"its {index and index.source}"
        raise ValueError(
            f"`{name}` must have its times once, got {other} and column"
            f"{'s' * (len(clock) > 1)} {', '.join(clock)}. Drop or rename one of them."
        )
    states = [c for c in named if c not in clock]
    if isinstance(times, str) and clock_columns(states, argument=name):
        raise ValueError(
            f"`{name}` must have its times once, got {times!r} and "
            f"{', '.join(clock_columns(states))}. Drop or rename one of them."
        )
    if not states:
        raise ValueError(
            f"`{name}` must have a column other than the times, got {named}. {REMEDY}"
        )
    values = [_column(frame[c], name) for c in states]
    series = Series(np.stack(values, axis=1), tuple(states), None, part)
    if clock:
        stamps = column_stamps({c: _cells(frame[c], name) for c in clock}, name)
        return series, check_stamps(name, stamps)
    return series, index if isinstance(times, str) else _given(times) or index


def _given(times: Any) -> Stamps | None:
    """Times of the argument `times`."""
    return None if times is None else as_stamps("`times`", times)


def _cells(column: Any, name: str) -> Any:
    """Cells of a column of times: an array, or a list of text."""
    zoned = getattr(column.dtype, "time_zone", None) is not None
    if zoned or column.dtype in (nw.String, nw.Object):
        return as_list(column, name)
    return column.to_numpy()


def _index(part: Any, name: str, *, wanted: bool) -> Stamps | None:
    """Times in the index of a pandas frame, if it has dates or a name of times."""
    index = getattr(part, "index", None)
    if index is None or not hasattr(part, "iloc"):
        if wanted:
            raise ValueError(
                "`times` must name a column of a frame without an index, got 'index'."
            )
        return None
    if index.nlevels > 1:
        raise ValueError(
            f"`{name}` must have an index of one level, got {index.nlevels}. Give a "
            "list of frames, one for each series: "
            "`[part.droplevel(0) for _, part in frame.groupby(level=0)]`."
        )
    label = index.name if isinstance(index.name, str) else ""
    dated = type(index).__name__ in ("DatetimeIndex", "PeriodIndex", "TimedeltaIndex")
    dated |= bool(len(index)) and isinstance(index[0], date)
    if not (wanted or dated or is_clock(label) or label.lower() in ALONE):
        return None
    unit = label.lower() if label.lower() in ALONE else None
    return as_stamps(f"index {label}".strip(), np.asarray(index), name, unit=unit)


def _column(column: Any, name: str) -> np.ndarray:
    """One column as floats, null as NaN."""
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return np.asarray(column.cast(nw.Float64).to_numpy(), float)
    cells = as_list(column, name)
    try:
        return np.asarray(cells, object).astype(float)
    except (TypeError, ValueError):
        times = ""
        if name == "y" and _has_dates(column.dtype, cells):
            times = f"If it has the times, give `times={column.name!r}`; else drop "
        raise ValueError(
            f"`{name}` must hold numbers, got {column.dtype} in column "
            f"{column.name!r}. {times or 'Drop '}the column or turn it into numbers."
        ) from None


def _has_dates(dtype: Any, cells: list[Any]) -> bool:
    """Whether a column has dates, or text that could be dates."""
    first = next((cell for cell in cells if cell is not None), None)
    dated = dtype.is_temporal() or isinstance(first, date)
    return dated or (isinstance(first, str) and is_date(first))


def _check_kind(part: Any, name: str) -> None:
    """Raise for the name of a file, or a dict, in place of the data in it."""
    if isinstance(part, str | bytes | PathLike):
        found = f"{part!r:.60}"
        remedy = (
            "If it names a file, read it, for instance with `pandas.read_csv`; "
            "`graphgrad fit data.csv` fits a file."
        )
    elif isinstance(part, Mapping):
        found = f"a {type(part).__name__}"
        remedy = f"Make it a frame, `pandas.DataFrame({name})`."
    else:
        return
    raise ValueError(
        f"`{name}` must be an array, a frame, or a list of them, got {found}. {remedy}"
    )


def _array(part: Any, name: str) -> np.ndarray:
    if hasattr(part, "toarray"):
        raise TypeError(
            f"`{name}` must be a dense array, got a sparse one. Use `.toarray()`; NaN "
            "means not observed."
        )
    _check_kind(part, name)
    array = np.asarray(part)
    if np.iscomplexobj(array):
        raise ValueError(
            f"`{name}` must hold real numbers, got {array.dtype}. Complex data not "
            "supported: give real and imaginary parts as columns."
        )
    if np.ma.isMaskedArray(part):  # what is masked was not observed
        hidden = np.ma.getmaskarray(part)
        part = np.array(check_numbers(name, np.ma.getdata(part), REMEDY))
        part[hidden] = np.nan
    array = check_numbers(name, part, REMEDY)
    if array.ndim != 2:
        remedy = "Reshape your data: `y.reshape(-1, 1)` if it is one series."
        if array.ndim == 3:
            remedy = f"If it has several series, give them as a list: `list({name})`."
        raise ValueError(
            f"`{name}` must be a (T, Ny) array, got shape {array.shape}. {remedy} "
            f"{REMEDY}"
        )
    if array.shape[1] < 1:
        raise ValueError(
            f"`{name}` must have a column, got 0 feature(s) (shape={array.shape}) "
            f"while a minimum of 1 is required. {REMEDY}"
        )
    return array


def is_frame(part: Any) -> bool:
    """Whether an object is a data frame in memory."""
    try:
        frame = nw.from_native(part, eager_only=True, pass_through=True)
    except DuplicateError:  # `_read` names the columns
        return True
    return isinstance(frame, nw.DataFrame)
