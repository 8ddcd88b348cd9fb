"""What drives a model: inputs as given, delayed ones, seasons from the times."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import check_positive, check_shape
from .clock import Clock, as_numbers
from .lags import Delay
from .series import Panel, Series, row_times


class Season(NamedTuple):
    """A period in units of time, and how it is called."""

    label: str
    period: float

    @property
    def names(self) -> tuple[str, str]:
        """Names of its sine and cosine."""
        return f"sin({self.label})", f"cos({self.label})"


def read_seasons(seasons: Any) -> tuple[Season, ...]:
    """Seasons from a period, a list of them, or periods by name.

    Examples:
        >>> read_seasons(12)[0].names, read_seasons({"year": 365.25})[0].names
        (('sin(2 pi t/12)', 'cos(2 pi t/12)'), ('sin(year)', 'cos(year)'))
    """
    if seasons is None:
        return ()
    remedy = "Give a period in units of time: 12, or {'year': 365.25}."
    if not isinstance(seasons, Mapping):
        each = seasons if isinstance(seasons, Sequence | np.ndarray) else [seasons]
        checked = [check_positive("seasons", period, remedy) for period in each]
        seasons = {f"2 pi t/{period:g}": period for period in checked}
    return tuple(
        Season(str(label), check_positive("seasons", period, remedy))
        for label, period in seasons.items()
    )


class Drivers(NamedTuple):
    """What drives a model.

    Attributes:
        given: Names of the inputs that are given.
        seasons: Seasons, each of which is two inputs.
        delays: Delayed inputs.
        dt: Length of a step.
        clock: Clock of the fit, by whose dates seasons are counted, if it had dates.
    """

    given: tuple[str, ...] = ()
    seasons: tuple[Season, ...] = ()
    delays: tuple[Delay, ...] = ()
    dt: float = 1.0
    clock: Clock | None = None

    @property
    def undelayed(self) -> tuple[str, ...]:
        """Names of all inputs without delay."""
        return (*self.given, *(name for s in self.seasons for name in s.names))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all inputs."""
        return (*self.undelayed, *(delay.name for delay in self.delays))

    def columns(
        self, given: Float[np.ndarray, "T Nu"] | None, times: Float[np.ndarray, "T"]
    ) -> Float[np.ndarray, "T N"]:
        """All inputs; before the first row an input is taken to be as in that row.

        Args:
            given: The inputs that are given.
            times: Times of the rows.

        Examples:
            >>> drivers = Drivers(("u",), (), (Delay("u[t]", "u", 1),))
            >>> drivers.columns(np.array([[1.0], [2.0]]), np.arange(2.0)).tolist()
            [[1.0, 1.0], [2.0, 1.0]]
        """
        parts = [] if given is None else [given]
        for season in self.seasons:
            angle = 2 * np.pi * np.remainder(times / season.period, 1.0)
            parts.append(np.stack([np.sin(angle), np.cos(angle)], axis=1))
        for delay in self.delays:
            assert given is not None
            # A row acts since the one before it.
            earlier = times - (delay.steps + 1e-6) * self.dt
            rows = np.searchsorted(times, earlier)
            parts.append(given[rows, self.given.index(delay.source)][:, None])
        return np.concatenate(parts, axis=1)

    def panel(self, given: Panel | None, panel: Panel) -> Panel | None:
        """All inputs of data; None if there are none.

        Args:
            given: The inputs that are given.
            panel: The data.
        """
        if not self.names:
            return None
        series = []
        for i, rows in enumerate(panel.series):
            own = None if given is None else given.series[i].values
            values = self.columns(own, self.times(rows))
            series.append(Series(values, self.names, None, None))
        return Panel(tuple(series), panel.several)

    def times(self, series: Series) -> Float[np.ndarray, "T"]:
        """Times of the rows of a series, since time zero of the fit if dates tell."""
        times, clock = row_times(series, self.dt), series.clock
        if clock is None or clock.epoch is None or self.clock is None:
            return times
        if self.clock.epoch is None:
            return times
        zero = np.array([clock.epoch], "datetime64[us]")
        return times + float(as_numbers(zero, self.clock)[0])

    def ahead(
        self,
        given: Float[np.ndarray, "T Nu"] | None,
        future: Float[np.ndarray, "steps Nu"] | None,
        before: Float[np.ndarray, "T"],
        after: Float[np.ndarray, "steps"],
    ) -> Float[np.ndarray, "steps_plus_1 N"] | None:
        """All inputs from the last row on; None if there are none.

        Args:
            given: The inputs up to the last row.
            future: Those after it.
            before: Times up to the last row.
            after: Those after it.
        """
        if future is None and self.given:
            raise ValueError(
                f"`future_inputs` must be given for a model with inputs, "
                f"{list(self.given)}, got None. Give one row for each step."
            )
        if future is not None:
            remedy = "Give one row for each step, one column for each input."
            shape = (len(after), len(self.given))
            check_shape("future_inputs", future.shape, shape, remedy)
        if not self.names:
            return None
        times = np.concatenate([before, after])
        whole = future
        if given is not None and future is not None:
            whole = np.concatenate([given, future])
        return self.columns(whole, times)[len(before) - 1 :]
