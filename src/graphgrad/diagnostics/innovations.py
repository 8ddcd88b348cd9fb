"""One-step errors over their predicted standard deviations, in NumPy.

The covariance of the extended Kalman filter, linearised at the filtered means, which a
fit has. It compiles nothing, unlike `residuals.py`, so that every fit can be checked.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import expm

from ..fits.record import Fit
from ..model import GaussianNoise
from ..solution import Solution
from .free_run import slopes_at

MOST_ROWS = 2000
"""Rows for which variances are computed, which takes 0.05 ms each."""

NEGLIGIBLE = 1e-3
"""Errors that are no noise but rounding, as a share of a column's deviation."""


def standardised(
    fit: Fit, errors: Sequence[Float[np.ndarray, "_ Ny"]]
) -> list[Float[np.ndarray, "_ Ny"]] | None:
    """Divide the one-step errors of each series by their standard deviations.

    Args:
        fit: The fit.
        errors: Those of `one_step_errors`.

    Returns:
        Nearly independent standard normal values if the fit is right. NaN in columns
        whose errors are `NEGLIGIBLE`, and after `MOST_ROWS` rows unless the variances
        have settled by then. None for noise that is not normal, and for functions of
        the user.
    """
    variances = predicted_variances(fit)
    if variances is None:
        return None
    values = np.concatenate([series.values for series in fit.panel.series])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without values
        size = np.sqrt(np.nanmean(np.concatenate(errors) ** 2, axis=0))
        scale = np.where(size > NEGLIGIBLE * np.nanstd(values, axis=0), 1.0, np.nan)
        return [
            scale * part / np.sqrt(variances[rows])
            for part, rows in zip(errors, fit.data.rows, strict=True)
        ]


def predicted_variances(fit: Fit) -> Float[np.ndarray, "T Ny"] | None:
    """Variance of each entry of the data, given the rows before."""
    model, matrix = fit.data.model, fit.layout.matrix
    noises = model.initial_noise, model.transition.noise, model.observation.noise
    normal = [noise for noise in noises if isinstance(noise, GaussianNoise)]
    if matrix is None or len(normal) < len(noises):
        return None
    start, Q, R = (np.asarray(noise.covariance, float) for noise in normal)
    seen = np.isfinite(fit.data.ys)
    n = min(len(seen), MOST_ROWS)
    with np.errstate(all="ignore"):
        moves = _moves(fit, n, Q)
        if moves is None:
            return None
        return _filtered_variances(fit, seen, start, moves, R)


def _filtered_variances(
    fit: Fit,
    seen: np.ndarray,
    start: np.ndarray,
    moves: tuple[np.ndarray, np.ndarray],
    R: np.ndarray,
) -> np.ndarray:
    """The same, from the moves of the state; NaN from where they overflow."""
    schedule, (slopes, noises) = fit.data.model.schedule, moves
    n, H = len(slopes), np.asarray(fit.layout.matrix, float)
    fresh, factor = np.zeros(n, bool), np.ones((n, len(R)))
    if schedule is not None:
        fresh = np.asarray(schedule.fresh)[:n]
        if schedule.uncertainty is not None:
            factor = np.asarray(schedule.uncertainty, float)[:n]
    found, P = np.full(seen.shape, np.nan), start
    for t in range(n):
        P = start if fresh[t] else slopes[t] @ P @ slopes[t].T + noises[t]
        S = H @ P @ H.T + R * np.outer(factor[t], factor[t])
        if not np.isfinite(S).all():
            return found
        found[t] = np.diag(S)
        h, known = H[seen[t]], np.ix_(seen[t], seen[t])
        gain = np.linalg.lstsq(S[known], h @ P, rcond=None)[0].T
        P = P - gain @ h @ P
        P = (P + P.T) / 2
    if n < len(found) and np.allclose(found[n - 1], found[n // 2], rtol=1e-3):
        found[n:] = found[n - 1]
    return found


def _moves(fit: Fit, n: int, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Derivative of the state of each row in that before, and its process noise."""
    assert isinstance(fit.solution, Solution)
    model, schedule, N = fit.data.model, fit.data.model.schedule, len(Q)
    after = np.asarray(fit.solution.filtered, float)[:n]
    before = np.concatenate([np.asarray(model.initial_mean, float)[None], after[:-1]])
    length = np.ones((n, 1, 1))
    if schedule is not None:
        fresh = np.asarray(schedule.fresh)[:n, None]
        before = np.where(fresh, np.asarray(schedule.starts, float)[:n], before)
        length = np.asarray(schedule.pace, float)[:n, None, None]
        if schedule.inputs is not None:
            inputs = np.asarray(schedule.inputs, float)[:n]
            before, after = (np.hstack([x, inputs]) for x in (before, after))
    first, last = slopes_at(fit, before), slopes_at(fit, after)
    if first is None or last is None or not np.isfinite([first, last]).all():
        return None
    first, last, noise = first[:, :, :N], last[:, :, :N], length * Q
    if fit.dynamics != "flow":
        return (1 - length) * np.eye(N) + length * first, noise
    half = expm(fit.dt * length * (first + last) / 4)
    middle, whole = half @ noise @ half.swapaxes(1, 2), half @ half
    end = whole @ noise @ whole.swapaxes(1, 2)
    # Simpson's rule for the noise that enters along the interval.
    return whole, fit.dt * (noise + 4 * middle + end) / 6
