"""Series of observations as arrays, and panels of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float


class Series(NamedTuple):
    """One series as arrays.

    Attributes:
        values: One row a time; NaN where nothing was observed.
        names: Names of the columns, if they have any.
        times: When the rows were observed, if that is known.
        native: What it was made from; None if it comes from a file.
    """

    values: Float[np.ndarray, "T Ny"]
    names: tuple[str, ...] | None
    times: Float[np.ndarray, "T"] | None
    native: Any


class Panel(NamedTuple):
    """One series, or several if they came as a list."""

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
        """A list of results for a list of series; the one result for one series."""
        return list(parts) if self.several else parts[0]
