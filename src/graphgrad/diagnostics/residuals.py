"""Standardised one-step residuals, and tests of them as text."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..compiling import compiled
from ..engines import AbstractEngine
from ..fits.record import Fit
from ..fits.rows import rounded_up
from ..model import AbstractNoise, Arranged, GaussianNoise, StateSpaceModel, StudentT
from .changes import change_of_size
from .normality import shape_of

SIGNIFICANCE = 0.01
"""Significance level of all tests of all columns together, and of `remember`."""

TESTS = 4
"""Tests of a column: autocorrelation, normality, size and its changes."""

NORMALITY = 0.15
"""Nominal level of the test of normality for each level that it has.

At 5e-4 it rejects 0.2 to 0.3 % of samples of 300 to 50 normal values.
"""
LAGS = 10
"""Number of lags of the autocorrelation test."""

FEWEST = 20
"""Fewest residuals that are tested."""


def fit_residuals(
    key: PRNGKeyArray, fit: Fit, y: Any = None, times: Any = None, inputs: Any = None
) -> Any:
    """Standardised one-step residuals, one row per row of the data.

    Args:
        key: Random key.
        fit: The fit.
        y: Data, as for `read_panel`; those of the fit if None.
        times: Times of the rows.
        inputs: Inputs, one row per row of `y`.

    Returns:
        An array; a list of them for a list of series.
    """
    panel, data = fit.given_rows(y, times, inputs)
    given_first = fit.begins_anywhere
    return panel.as_given(
        one_step_residuals(key, fit.engine, data, given_first=given_first)
    )


def residual_verdicts(fit: Fit, residuals: Any) -> list[str]:
    """Test the residuals of `fit_residuals`; one line of text per column."""
    noises = fit.model.transition.noise, fit.model.observation.noise
    return verdicts(
        residuals if isinstance(residuals, list) else [residuals],
        fit.columns,
        normal=all(isinstance(noise, GaussianNoise) for noise in noises),
    )


def one_step_residuals(
    key: PRNGKeyArray, engine: AbstractEngine, data: Arranged, *, given_first: bool
) -> list[Float[np.ndarray, "length Ny"]]:
    """Observations minus their predictions, divided by their standard deviations.

    A row is predicted from the filtered distribution of the state one step before: the
    dynamics are linearised about its mean, and noise is added. NaN where nothing was
    observed.

    Args:
        key: Random key.
        engine: The engine that infers the states.
        data: The model and the rows.
        given_first: The initial state is estimated from the first row of each series,
            whose residual is NaN.
    """
    model, ys = rounded_up(data)
    whole = np.asarray(_standardised(key, engine, model, ys))
    series = [whole[rows].copy() for rows in data.rows]
    for part in series:
        part[: int(given_first)] = np.nan
    return series


@compiled
def _standardised(
    key: PRNGKeyArray, engine: AbstractEngine, model: StateSpaceModel, ys: Array
) -> Float[Array, "T Ny"]:
    filtered = engine.filter(key, model, ys)
    initial = model.initial_noise
    assert isinstance(initial, GaussianNoise)
    means = jnp.concatenate([model.initial_mean[None], filtered.means[:-1]])
    spreads = jnp.concatenate([initial.covariance[None], filtered.covariances[:-1]])

    def residual(m: Array, P: Array, y: Array, moment: Any) -> Array:
        now = model.at(moment)
        move, see = now.transition, now.observation
        x, F = move.mean(m), jax.jacfwd(move.mean)(m)
        spread = F @ P @ F.T + _covariance(move.noise_at(m), x)
        mean, H = see.mean(x), jax.jacfwd(see.mean)(x)
        variances = jnp.diag(H @ spread @ H.T + _covariance(see.noise, mean))
        return (y - mean) / jnp.sqrt(variances)

    return jax.vmap(residual)(means, spreads, ys, model.schedule)


def _covariance(noise: AbstractNoise, mean: Array) -> Array:
    """Covariance of noise; for Student-t it is larger than that of `local`.

    Student-t noise with fewer than three degrees of freedom is treated as having three.
    """
    local = noise.local(mean, mean).covariance
    if isinstance(noise, StudentT):
        df = jnp.maximum(noise.df, 3.0)
        return jnp.diag(noise.variances * df / (df - 2) * jnp.ones_like(mean))
    return local


def verdicts(
    residuals: Sequence[Float[np.ndarray, "_ Ny"]],
    columns: Sequence[str],
    *,
    normal: bool,
) -> list[str]:
    """Test standardised residuals; one line of text per column.

    Autocorrelation is tested as in Ljung and Box (Biometrika 65, 1978), normality by
    skewness and kurtosis (`shape_of`), the size by the mean square, its changes by
    `change_of_size`. All of them together find a fault in 1 % of right fits.

    Args:
        residuals: Residuals of each series; NaN if missing.
        columns: Names of the columns.
        normal: Whether to test normality, and changes of the size.

    Examples:
        >>> noise = np.random.default_rng(0).normal(size=(200, 2))
        >>> noise[:, 1] = np.cumsum(noise[:, 1]) / 5
        >>> for line in verdicts([noise], ["prey", "fox"], normal=True):
        ...     print(line)
        prey: no autocorrelation, normal, expected size.
        fox: autocorrelated (p = ...): terms or states may be missing. ...
    """
    lines, level = [], level_of_a_test(len(columns))
    for j, name in enumerate(columns):
        parts = [series[:, j] for series in residuals]
        known = np.concatenate([part[np.isfinite(part)] for part in parts])
        if len(known) < FEWEST:
            lines.append(f"{name}: too few residuals to test, {len(known)}.")
            continue
        found = [
            _autocorrelation(parts, level),
            _shape(known, NORMALITY * level) if normal else "",
            _size(known, level),
            _changes(parts, level) if normal else "",
        ]
        faults = [fault for fault in found if fault]
        faults[1:] = [fault[0].upper() + fault[1:] for fault in faults[1:]]
        good = f"no autocorrelation, {'normal, ' * normal}expected size."
        lines.append(f"{name}: {' '.join(faults) if faults else good}")
    return lines


def level_of_a_test(columns: int) -> float:
    """Significance level of each test, so that all of them have `SIGNIFICANCE`."""
    return SIGNIFICANCE / TESTS / columns


def remember(residuals: Sequence[Float[np.ndarray, "_ Ny"]]) -> int | None:
    """The first column whose residuals are autocorrelated; None if none is."""
    for j in range(residuals[0].shape[1]):
        parts = [series[:, j] for series in residuals]
        known = sum(int(np.isfinite(part).sum()) for part in parts)
        if known >= FEWEST and _autocorrelation(parts, SIGNIFICANCE):
            return j
    return None


def _autocorrelation(parts: Sequence[np.ndarray], level: float) -> str:
    """Test of Ljung and Box, over pairs without missing values."""
    whole = np.concatenate(parts)
    n, centre, size = np.isfinite(whole).sum(), np.nanmean(whole), np.nanvar(whole)
    if not size > 0:
        return ""
    lags = min(LAGS, int(n) // 5)
    total, first = 0.0, 0.0
    for lag in range(1, lags + 1):
        products = np.concatenate(
            [(part[lag:] - centre) * (part[:-lag] - centre) for part in parts]
        )
        pairs = products[np.isfinite(products)]
        if len(pairs):
            found = np.mean(pairs) / size
            total += len(pairs) * found**2 * (n + 2) / n
            first = found if lag == 1 else first
    p = chi2_tail(total, lags)
    if p >= level:
        return ""
    cause = "terms or states may be missing"
    if first < 0:
        cause = "the process noise may be too large, so that states follow the data"
    return f"autocorrelated (p = {p:.2g}): {cause}."


def _shape(known: np.ndarray, level: float) -> str:
    """Test of normality."""
    if not known.std() > 0:
        return ""
    skew, excess, p, _ = shape_of(known)
    if p >= level:
        return ""
    if excess > abs(skew):
        far = int(np.sum(np.abs(known) > 4))
        return (
            f"not normal (p = {p:.2g}): heavy tails, {far} of {len(known)} beyond 4 "
            "standard deviations. Try `StudentT` noise, or check these rows."
        )
    return (
        f"not normal (p = {p:.2g}): skewness {skew:.2g}, excess kurtosis {excess:.2g}."
    )


def _size(known: np.ndarray, level: float) -> str:
    """Test of the mean square."""
    n, square = len(known), float(np.mean(known**2))
    above = chi2_tail(n * square, n)
    p = 2 * min(above, 1 - above)
    if p >= level:
        return ""
    more = "larger" if square > 1 else "smaller"
    return (
        f"{np.sqrt(square):.2g} times the expected size (p = {p:.2g}): the noise is "
        f"{more} than in the model."
    )


def _changes(parts: Sequence[np.ndarray], level: float) -> str:
    """Tests of changes of the size, in time."""
    change = change_of_size(parts)
    if change.p_value >= level:
        return ""
    return f"its residuals {change.text} (p = {change.p_value:.2g})."


def chi2_tail(statistic: float, degrees: int) -> float:
    """Survival function of the chi-squared distribution."""
    with jax.enable_x64(True):
        return float(_chi2_tail(*np.array([statistic, degrees], dtype=float)))


_chi2_tail = compiled(jax.scipy.stats.chi2.sf)
