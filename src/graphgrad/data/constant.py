"""Columns that have one value in all rows, from which no equation can be learnt."""

import warnings

import numpy as np

from ..checks import shortened
from .series import Panel

LEAST_ROWS = 3
"""Fewest rows that are fitted: what to do about fewer is not to leave out columns."""


def constant_value(values: np.ndarray) -> float | None:
    """The value that is in all rows that have one; None if there are others, or none.

    Examples:
        >>> constant_value(np.array([2.0, np.nan, 2.0]))
        2.0
        >>> constant_value(np.array([2.0, 2.0, 2.1]))
    """
    observed = values[~np.isnan(values)]
    if not len(observed) or (observed != observed[0]).any():
        return None
    return float(observed[0])


def check_varies(name: str, values: np.ndarray) -> None:
    """Raise an error for a column of a file that has one value in all rows."""
    value = constant_value(values)
    if value is not None:
        raise ValueError(
            f"`data` must have columns that vary, got {value:g} in all rows of "
            f"{name!r}. Leave it out with --columns."
        )


def warn_of_constant(name: str, panel: Panel) -> None:
    """Warn of columns that have one value in all rows, in data that are no file.

    Args:
        name: Name of the argument of `fit`.
        panel: The data.
    """
    whole = np.concatenate([series.values for series in panel.series])
    if len(whole) < LEAST_ROWS:
        return
    found = [
        f"{value:g} in all rows of column {column!r}"
        for column, values in zip(
            panel.names or range(panel.n_columns), whole.T, strict=True
        )
        if (value := constant_value(values)) is not None
    ]
    if found:
        which = "it" if len(found) == 1 else "them"
        warnings.warn(
            f"`{name}` must have columns that vary, got {shortened(found)}. Drop "
            f"{which}: nothing can be learnt from a column that never changes.",
            stacklevel=5,
        )
