"""Errors of forecasts over several steps from the rows of a fit itself.

Equations that predict the next row well may leave the data within a few steps. Here
they run from each filtered state, without noise and without compiling anything.
"""

import numpy as np
from jaxtyping import Float

from ..fits.record import Fit
from ..solution import Solution
from .free_run import FAR, run_freely


def rolling_errors(
    fit: Fit, horizon: int, skipped: int
) -> Float[np.ndarray, "horizon"] | None:
    """Root mean squared errors by number of steps, in deviations of the columns.

    A run that diverges counts as one that is `FAR` times the range of the data away.

    Args:
        fit: A fit by the adaptive solver, to rows that are dt apart.
        horizon: Number of steps.
        skipped: Rows at the beginning of each series from which no run begins.

    Returns:
        None for a fit whose equations cannot be run: of terms of the user, or with an
        observation function.
    """
    matrix = fit.layout.matrix
    if matrix is None or not isinstance(fit.solution, Solution):
        return None
    whole = np.concatenate([series.values for series in fit.panel.series])
    size = np.nanstd(whole, axis=0)
    far = FAR * (np.nanmax(whole, axis=0) - np.nanmin(whole, axis=0))
    filtered, squares = np.asarray(fit.solution.filtered), []
    for number, series in enumerate(fit.panel.series):
        rows = np.arange(skipped, len(series.values) - horizon)
        if not len(rows):
            continue
        starts = filtered[fit.data.rows[number]][rows]
        found = run_freely(fit, number, starts, rows, horizon)
        if found is None or len(found) < horizon:
            return None
        truth = series.values[rows + np.arange(1, horizon + 1)[:, None]]
        errors = np.where(np.isnan(truth), np.nan, found @ np.asarray(matrix).T - truth)
        gone = np.isnan(errors) & ~np.isnan(truth)
        squares.append((np.where(gone, far, errors) / np.where(size, size, 1)) ** 2)
    if not squares:
        return None
    return np.sqrt(np.nanmean(np.concatenate(squares, axis=1), axis=(1, 2)))
