"""Read arrays, data frames, and lists of them as series.

A data frame (pandas, polars, or any that narwhals supports) provides the names of the
columns, and the times of the rows in a column `t`, or `time` in any case.
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from jaxtyping import Float
from narwhals.exceptions import DuplicateError

from ..checks import check_finite, check_numbers, check_shape
from .series import Panel, Series, as_seconds, time_columns

REMEDY = "Give one row for each time step and one column for each observed quantity."


def read_panel(y: Any, times: Any = None, *, name: str = "y") -> Panel:
    """Read and check one or several series.

    Args:
        y: A `(T, Ny)` array, a data frame, or a list of any of these; or a `Series`,
            which is used unchanged.
        times: Times of the rows; one array per series.
        name: Name of the argument, for error messages.

    Examples:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"time": [0.0, 0.5], "prey": [3.0, None]})
        >>> read_panel(frame).series[0].values.tolist()
        [[3.0], [nan]]
        >>> read_panel(frame).names, read_panel(frame).series[0].times.tolist()
        (('prey',), [0.0, 0.5])
    """
    if isinstance(y, Series):  # from `read_table`
        return Panel((y,), several=False)
    several = isinstance(y, list | tuple) and (
        not y or _is_frame(y[0]) or np.ndim(y[0]) == 2
    )
    parts = list(y) if several else [y]
    if not parts:
        raise ValueError(f"`{name}` must hold at least one series, got none.")
    clocks: list[Any] = [None] * len(parts)
    if times is not None:
        clocks = list(times) if several else [times]
        remedy = "Give one array of times for each series."
        check_shape("times", (len(clocks),), (len(parts),), remedy)
    series = tuple(
        _read(part, clock, name) for part, clock in zip(parts, clocks, strict=True)
    )
    first = series[0]
    for other in series[1:]:
        if other.names != first.names:
            raise ValueError(
                f"`{name}` must have the same columns in all series, got "
                f"{_shown(first.names)} and {_shown(other.names)}. {REMEDY}"
            )
        n = first.values.shape[1]
        check_shape(name, other.values.shape, (len(other.values), n), REMEDY)
    return Panel(series, several)


def select(panel: Panel, names: Sequence[str] | None, n_columns: int) -> Panel:
    """Select the columns of a fit, in their order, from other data.

    Args:
        panel: The data.
        names: Names of the columns of the fit, if any.
        n_columns: Number of columns of the fit.
    """
    if names is None or panel.names is None:
        T = len(panel.series[0].values)
        remedy = "Give the columns that the model was fitted to."
        check_shape("y", panel.series[0].values.shape, (T, n_columns), remedy)
        return panel
    unknown = [name for name in panel.names if name not in names]
    missing = [name for name in names if name not in panel.names]
    if unknown or missing:
        fault = f"unknown {unknown}" if unknown else f"no {missing}"
        raise ValueError(
            f"`y` must have the columns that the model was fitted to, {list(names)}, "
            f"got {fault}. Select and rename them; NaN means not observed."
        )
    order = [panel.names.index(name) for name in names]
    return panel._replace(
        series=tuple(
            s._replace(values=s.values[:, order], names=tuple(names))
            for s in panel.series
        )
    )


def filled_in(series: Series, values: Float[np.ndarray, "T Ny"]) -> Any:
    """The original data of a series, with missing entries replaced by `values`."""
    missing = np.isnan(series.values)
    if series.names is None or series.native is None:
        return np.where(missing, values, series.values)
    frame = nw.from_native(series.native, eager_only=True)
    columns = []
    for j, name in enumerate(series.names):
        rows = np.flatnonzero(missing[:, j])
        if len(rows):
            column = frame[name].cast(nw.Float64)
            columns.append(column.scatter(rows.tolist(), values[rows, j].tolist()))
    return frame.with_columns(*columns).to_native()


def read_inputs(inputs: Any, panel: Panel) -> Panel | None:
    """Read inputs of all series, one row per row of the data."""
    if inputs is None:
        return None
    driving = read_panel(inputs, name="inputs")
    remedy = "Give one row for each row of `y`."
    check_shape("inputs", (len(driving.series),), (len(panel.series),), remedy)
    for ours, theirs in zip(driving.series, panel.series, strict=True):
        shape = (len(theirs.values), driving.n_columns)
        check_shape("inputs", ours.values.shape, shape, remedy)
        check_finite("inputs", ours.values, remedy)
    return driving


def input_names(driving: Panel | None) -> tuple[str, ...]:
    """Names of the inputs: those of their columns, or u1, u2, ..."""
    if driving is None:
        return ()
    if driving.names is not None:
        return driving.names
    return tuple(f"u{i + 1}" for i in range(driving.n_columns))


def read_values(inputs: Any) -> np.ndarray | None:
    """Inputs of one series as an array, if any."""
    if inputs is None:
        return None
    return read_panel(inputs, name="inputs").series[0].values


def _read(part: Any, times: Any, name: str) -> Series:
    if not _is_frame(part):
        return Series(_array(part, name), None, as_seconds(times), part)
    columns = list(part.columns if hasattr(part, "columns") else part.column_names)
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
    if not named:
        return Series(_array(part, name), None, as_seconds(times), part)
    frame = nw.from_native(part, eager_only=True)
    clock = time_columns(named)
    if len(clock) > 1 or (clock and times is not None):
        other = "a column of times and `times`" if times is not None else f"{clock}"
        raise ValueError(
            f"`{name}` must have its times once, got {other}. Drop one of them."
        )
    if clock:
        times = frame[clock[0]].to_numpy()
    states = [c for c in named if c not in clock]
    if not states:
        raise ValueError(
            f"`{name}` must have a column other than the times, got {named}. {REMEDY}"
        )
    values = [_column(frame[c], name) for c in states]
    return Series(np.stack(values, axis=1), tuple(states), as_seconds(times), part)


def _column(column: Any, name: str) -> np.ndarray:
    """One column as floats, null as NaN."""
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return np.asarray(column.cast(nw.Float64).to_numpy(), float)
    try:
        return np.asarray(column.to_list(), object).astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"`{name}` must hold numbers, got {column.dtype} in column "
            f"{column.name!r}. Drop the column or turn it into numbers."
        ) from None


def _array(part: Any, name: str) -> np.ndarray:
    if hasattr(part, "toarray"):
        raise TypeError(
            f"`{name}` must be a dense array, got a sparse one. Use `.toarray()`; NaN "
            "means not observed."
        )
    array = np.asarray(part)
    if np.iscomplexobj(array):
        raise ValueError(
            f"`{name}` must hold real numbers, got {array.dtype}. Complex data not "
            "supported: give real and imaginary parts as columns."
        )
    array = check_numbers(name, part, REMEDY)
    if array.ndim != 2:
        raise ValueError(
            f"`{name}` must be a (T, Ny) array, got shape {array.shape}. Reshape your "
            f"data: `y.reshape(-1, 1)` if it is one series. {REMEDY}"
        )
    if array.shape[1] < 1:
        raise ValueError(
            f"`{name}` must have a column, got 0 feature(s) (shape={array.shape}) "
            f"while a minimum of 1 is required. {REMEDY}"
        )
    return array


def _is_frame(part: Any) -> bool:
    try:
        frame = nw.from_native(part, eager_only=True, pass_through=True)
    except DuplicateError:  # `_read` names the columns
        return True
    return isinstance(frame, nw.DataFrame)


def _shown(names: tuple[str, ...] | None) -> str:
    return "no names" if names is None else str(list(names))
