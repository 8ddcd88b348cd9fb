"""Read arrays, data frames, and lists of them as series.

A data frame (pandas, polars, Arrow, or any that narwhals supports) provides the names
of the columns, and the times of the rows: in its index, if that has dates or a name of
times, or in columns that `clock_columns` finds. So do arrays of xarray.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from jaxtyping import Float

from ..checks import check_finite, check_shape
from .clock import Stamps, as_dates, choose_unit, numbered, time_name
from .parts import REMEDY, is_frame, read_part
from .series import Panel, Series
from .xarrays import is_xarray


def read_panel(
    y: Any, times: Any = None, *, name: str = "y", time_unit: str = "auto"
) -> Panel:
    """Read and check one or several series.

    Args:
        y: A `(T, Ny)` array, a data frame, or a list of any of these; or a `Series`,
            which is used unchanged.
        times: Times of the rows, one array per series; or the name of the column that
            has them, or `"index"`.
        name: Name of the argument, for error messages.
        time_unit: Unit of time of dates, as for `choose_unit`.

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
        not y or is_frame(y[0]) or is_xarray(y[0]) or np.ndim(y[0]) == 2
    )
    parts = list(y) if several else [y]
    if not parts:
        raise ValueError(f"`{name}` must hold at least one series, got none.")
    clocks: list[Any] = [times if isinstance(times, str) else None] * len(parts)
    if times is not None and not isinstance(times, str):
        clocks = list(times) if several else [times]
        remedy = "Give one array of times for each series."
        check_shape("times", (len(clocks),), (len(parts),), remedy)
    read = [
        read_part(part, clock, name) for part, clock in zip(parts, clocks, strict=True)
    ]
    unit = choose_unit(time_unit, [stamps for _, stamps in read])
    series = [_timed(part, stamps, unit) for part, stamps in read]
    first = series[0]
    for i, other in enumerate(series[1:], 1):
        if sorted(other.names or ()) != sorted(first.names or ()):
            raise ValueError(
                f"`{name}` must have the same columns in all series, got "
                f"{_shown(first.names)} and {_shown(other.names)}. {REMEDY}"
            )
        n = first.values.shape[1]
        check_shape(name, other.values.shape, (len(other.values), n), REMEDY)
        if first.names is not None:
            series[i] = _ordered(other, first.names)
    return Panel(tuple(series), several)


def _timed(series: Series, stamps: Stamps | None, unit: str | None) -> Series:
    """A series with its times in a unit."""
    if stamps is None:
        return series
    times, clock = numbered(stamps, unit)
    return series._replace(times=times, clock=clock)


def _ordered(series: Series, names: Sequence[str]) -> Series:
    """A series with its columns in another order."""
    assert series.names is not None
    order = [series.names.index(name) for name in names]
    return series._replace(values=series.values[:, order], names=tuple(names))


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
    return panel._replace(series=tuple(_ordered(s, names) for s in panel.series))


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
    names = [inputs] if isinstance(inputs, str) else inputs
    if isinstance(names, list | tuple) and names and isinstance(names[0], str):
        raise ValueError(
            f"`inputs` must be an array or a frame, got names, {list(names)!r:.90}. "
            "Give the columns themselves, `inputs=frame[[...]]`, and `y` without them."
        )
    driving = read_panel(inputs, name="inputs")
    remedy = "Give one row for each row of `y`."
    check_shape("inputs", (len(driving.series),), (len(panel.series),), remedy)
    for ours, theirs in zip(driving.series, panel.series, strict=True):
        shape = (len(theirs.values), driving.n_columns)
        check_shape("inputs", ours.values.shape, shape, remedy)
        check_finite("inputs", ours.values, remedy)
        _check_same_times(ours, theirs)
    return driving


def _check_same_times(inputs: Series, data: Series) -> None:
    """Raise an error if inputs and data have times that differ."""
    if inputs.clock is None or data.clock is None:
        return
    dates = [as_dates(s.times, s.clock) for s in (inputs, data)]
    if dates[0].dtype != dates[1].dtype or (dates[0] != dates[1]).any():
        raise ValueError(
            "`inputs` must have the times of `y`, got others. Align them, or give the "
            "inputs as an array."
        )


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


def future_values(inputs: Any, names: Sequence[str]) -> np.ndarray | None:
    """Inputs during a forecast, in the order of the fit; those of a frame by name.

    Args:
        inputs: An array or a frame, one row per step.
        names: Names of the inputs of the fit.
    """
    if inputs is None:
        return None
    if not names:
        raise ValueError(
            "`future_inputs` must be None for a fit without inputs, got some. Leave "
            "them out, or fit with `inputs`."
        )
    (series,) = read_panel(inputs, name="future_inputs").series
    values = series.values
    if series.names is not None:
        absent = [name for name in names if name not in series.names]
        if absent:
            raise ValueError(
                f"`future_inputs` must have the inputs of the fit, {list(names)}, got "
                f"{list(series.names)} without {absent}. Rename the columns, or give "
                "an array."
            )
        values = values[:, [series.names.index(name) for name in names]]
    remedy = "Give a number for each input at each step."
    return check_finite("future_inputs", values, remedy)


def timed_frame(series: Series, times: np.ndarray, parts: dict[str, np.ndarray]) -> Any:
    """A data frame of columns at other times, of the library of the data.

    Data that are no frame give one of pandas, or of polars if it is not installed.

    Args:
        series: The data.
        times: Times of the rows, which are the first column.
        parts: The other columns.

    Examples:
        >>> import polars as pl
        >>> (series,) = read_panel(pl.DataFrame({"time": [0, 1], "x": [3, 4]})).series
        >>> timed_frame(series, np.array([2.0]), {"x": np.array([5.0])}).to_dict()
        {'time': shape: (1,)
        ...
    """
    if series.native is not None and is_frame(series.native):
        backend = nw.from_native(series.native, eager_only=True).implementation
    else:
        installed = importlib.util.find_spec("pandas") is not None
        backend = nw.Implementation.PANDAS if installed else nw.Implementation.POLARS
    clock = time_name(series.clock)
    clock = clock if clock not in parts else f"{clock}_"
    times = as_dates(times, series.clock)
    return nw.from_dict({clock: times, **parts}, backend=backend).to_native()


def _shown(names: tuple[str, ...] | None) -> str:
    return "no names" if names is None else str(list(names))
