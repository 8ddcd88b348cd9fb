"""Series of observations, panels of series, and the times of their rows."""

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import check_finite, check_positive


class Series(NamedTuple):
    """One series as arrays.

    Attributes:
        values: One row per time; NaN where nothing was observed.
        names: Names of the columns, if any.
        times: Times of the rows, if known.
        native: The original data; None for a file.
    """

    values: Float[np.ndarray, "T Ny"]
    names: tuple[str, ...] | None
    times: Float[np.ndarray, "T"] | None
    native: Any


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

    def as_given(self, parts: Sequence[Any]) -> Any:
        """A list of results for a list of series, else the single result."""
        return list(parts) if self.several else parts[0]


def time_columns(names: Sequence[str]) -> list[str]:
    """The names that denote a column of times: `t`, and `time` in any case.

    A capital `T` may be a temperature and is not one of them.

    Examples:
        >>> time_columns(["Time", "prey", "tension", "T"])
        ['Time']
    """
    return [name for name in names if name == "t" or name.lower() == "time"]


def as_seconds(times: Any) -> Float[np.ndarray, "T"] | None:
    """Times as numbers; dates as seconds since the first."""
    if times is None:
        return None
    array = np.asarray(times)
    if array.dtype.kind in "mM":
        array = (array - array[:1]) / np.timedelta64(1, "s")
    elif array.dtype == object and isinstance(array.flat[0], date):
        array = np.array([(when - array.flat[0]).total_seconds() for when in array])
    remedy = "Give one number or date for each row."
    return check_finite("times", array, remedy).ravel()


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
