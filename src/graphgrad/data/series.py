"""Series of observations, panels of series, and the times of their rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import check_positive
from .clock import Clock, as_dates


class Series(NamedTuple):
    """One series as arrays.

    Attributes:
        values: One row per time; NaN where nothing was observed.
        names: Names of the columns, if any.
        times: Times of the rows, if known.
        native: The original data; None for a file.
        clock: Source, unit and epoch of the times, if known.
    """

    values: Float[np.ndarray, "T Ny"]
    names: tuple[str, ...] | None
    times: Float[np.ndarray, "T"] | None
    native: Any
    clock: Clock | None = None


class Panel(NamedTuple):
    """One series, or several if they were given as a list."""

    series: tuple[Series, ...]
    several: bool

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, which are the same in all series."""
        return self.series[0].names

    @property
    def n_columns(self) -> int:
        """Number of columns, Ny."""
        return self.series[0].values.shape[1]

    @property
    def time_unit(self) -> str | None:
        """Unit of time, which is the same in all series, if known."""
        clock = self.series[0].clock
        return None if clock is None else clock.unit

    def as_given(self, parts: Sequence[Any]) -> Any:
        """A list of results for a list of series, else the single result."""
        return list(parts) if self.several else parts[0]


def step_length(times: Sequence[np.ndarray | None], dt: Any = None) -> float:
    """Length of a step: as given, or the median interval, or 1 without times.

    Args:
        times: Times of the rows of each series, if known.
        dt: The length, if given.

    Examples:
        >>> step_length([np.array([0.0, 0.03, 0.06, 0.09])])
        0.03
    """
    if dt is not None:
        return check_positive("dt", dt, "Leave it out for the median interval.")
    intervals = [np.diff(part) for part in times if part is not None]
    if not intervals or not sum(map(len, intervals)):
        return 1.0
    median = float(np.median(np.concatenate(intervals)))
    # Rounded to nine digits, so that 0.09 - 0.06 is 0.03.
    rounded = float(f"{median:.9g}")
    return check_positive("the median step of `times`", rounded, "Sort the rows.")


def is_regular(times: np.ndarray | None, dt: float) -> bool:
    """Whether all rows are one step of dt apart."""
    return times is None or np.allclose(np.diff(times), dt, rtol=1e-6, atol=0)


def row_times(series: Series, dt: float) -> Float[np.ndarray, "T"]:
    """Times of the rows of a series; multiples of dt if they are not known."""
    if series.times is not None:
        return series.times
    return dt * np.arange(len(series.values))


def row_dates(series: Series, dt: float) -> np.ndarray:
    """Dates of the rows of a series; their times if the data had no dates."""
    return as_dates(row_times(series, dt), series.clock)


def time_line(panel: Panel) -> str:
    """A line about the times: source, rows, interval and unit; empty if none.

    Examples:
        >>> clock = Clock("column date", "day", "2001-01-01")
        >>> weekly = Series(np.zeros((520, 1)), None, 7.0 * np.arange(520), None, clock)
        >>> time_line(Panel((weekly,), several=False))
        'time: column date, 520 rows every 7 days, unit day'
    """
    times = [series.times for series in panel.series if series.times is not None]
    clock = panel.series[0].clock
    if not times or clock is None:
        return ""
    rows = f"{sum(map(len, times))} rows"
    rows += f" of {len(times)} series" if len(times) > 1 else ""
    dt, unit = step_length(times), clock.unit
    ending = f", unit {unit}" if unit else ""
    if all(is_regular(part, dt) for part in times):
        every = unit if unit and dt == 1 else _amount(dt, unit)
        return f"time: {clock.source}, {rows} every {every}{ending}"
    steps = np.concatenate([np.diff(part) for part in times])
    low, high = f"{steps.min():.6g}", _amount(float(steps.max()), unit)
    return (
        f"time: {clock.source}, {rows}, {low} to {high} apart (median {dt:g}){ending}"
    )


def _amount(number: float, unit: str | None) -> str:
    return f"{number:.6g}" + (f" {unit}s" if unit else "")
