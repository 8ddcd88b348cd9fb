"""Standardised one-step residuals, and what tests of them say in words."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..compiling import compiled
from ..engines import AbstractEngine
from ..fits.record import Fit
from ..model import AbstractNoise, Arranged, GaussianNoise, StateSpaceModel, StudentT

DOUBT = 0.01
"""A verdict is bad where chance alone does as much this rarely."""

LAGS = 10
"""Lags over which autocorrelation is tested."""

FEWEST = 20
"""Fewer residuals than this say nothing."""


def fit_residuals(
    key: PRNGKeyArray, fit: Fit, y: Any = None, times: Any = None, inputs: Any = None
) -> Any:
    """Standardised one-step residuals, one row for each row of the data.

    Args:
        key: Random key.
        fit: The fit.
        y: Other data than those of the fit, as for `read_panel`.
        times: When their rows were observed.
        inputs: Their inputs, one row for each of `y`.

    Returns:
        An array; a list of them for a list of series.
    """
    panel, data = fit.given_rows(y, times, inputs)
    given_first = fit.begins_anywhere
    return panel.as_given(
        one_step_residuals(key, fit.engine, data, given_first=given_first)
    )


def residual_verdicts(fit: Fit, residuals: Any) -> list[str]:
    """What residuals, as `fit_residuals` gives them, say of a fit."""
    noises = fit.model.transition.noise, fit.model.observation.noise
    return verdicts(
        residuals if isinstance(residuals, list) else [residuals],
        fit.columns,
        normal=all(isinstance(noise, GaussianNoise) for noise in noises),
    )


def one_step_residuals(
    key: PRNGKeyArray, engine: AbstractEngine, data: Arranged, *, given_first: bool
) -> list[Float[np.ndarray, "length Ny"]]:
    """Observations less their predictions, over the deviations of these.

    The prediction of a row is from the filtered distribution of the state one step
    before: the map is linear about its mean, and noises are added. NaN where nothing
    was observed.

    Args:
        key: Random key.
        engine: How states are inferred.
        data: The model and the rows.
        given_first: The first row of each series says where it begins, and is NaN.
    """
    ys = jnp.asarray(data.ys, data.model.initial_mean.dtype)
    whole = np.asarray(_standardised(key, engine, data.model, ys))
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
        spread = F @ P @ F.T + _covariance(move.noise, x)
        mean, H = see.mean(x), jax.jacfwd(see.mean)(x)
        variances = jnp.diag(H @ spread @ H.T + _covariance(see.noise, mean))
        return (y - mean) / jnp.sqrt(variances)

    return jax.vmap(residual)(means, spreads, ys, model.schedule)


def _covariance(noise: AbstractNoise, mean: Array) -> Array:
    """Of noise about its mean; that of Student's is larger than its local Gaussian's.

    With two degrees of freedom or less it has none, and that of three is taken.
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
    """What standardised residuals say of a model, a sentence or more for each column.

    Autocorrelation is tested as Ljung and Box do (Biometrika 65, 1978), the shape by
    skewness and kurtosis (Jarque and Bera, Economics Letters 6, 1980), the size by the
    mean square.

    Args:
        residuals: Of each series; NaN is a gap.
        columns: Names of the columns.
        normal: Whether they should be normal.

    Examples:
        >>> noise = np.random.default_rng(0).normal(size=(200, 2))
        >>> noise[:, 1] = np.cumsum(noise[:, 1]) / 5
        >>> for line in verdicts([noise], ["prey", "fox"], normal=True):
        ...     print(line)
        prey: as it should be: no memory, normal, as large as expected.
        fox: what comes is foretold by what the model missed before (p = ...): terms...
    """
    lines = []
    for j, name in enumerate(columns):
        parts = [series[:, j] for series in residuals]
        known = np.concatenate([part[np.isfinite(part)] for part in parts])
        if len(known) < FEWEST:
            lines.append(f"{name}: too few residuals to tell, {len(known)}.")
            continue
        found = [_autocorrelation(parts), _shape(known) if normal else "", _size(known)]
        faults = [fault for fault in found if fault]
        good = f"as it should be: no memory, {'normal, ' * normal}as large as expected."
        lines.append(f"{name}: {' '.join(faults) if faults else good}")
    return lines


def _autocorrelation(parts: Sequence[np.ndarray]) -> str:
    """Ljung and Box, over pairs without a gap."""
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
    if p >= DOUBT:
        return ""
    cause = "terms or states may be missing"
    if first < 0:
        cause = "it follows the data too closely, by too large a state noise"
    return (
        f"what comes is foretold by what the model missed before (p = {p:.2g}): "
        f"{cause}."
    )


def _shape(known: np.ndarray) -> str:
    """Jarque and Bera."""
    z = (known - known.mean()) / (known.std() or 1.0)
    skew, excess = np.mean(z**3), np.mean(z**4) - 3
    p = chi2_tail(len(z) / 6 * (skew**2 + excess**2 / 4), 2)
    if p >= DOUBT:
        return ""
    if excess > abs(skew):
        far = int(np.sum(np.abs(known) > 4))
        return (
            f"not normal (p = {p:.2g}): heavy tails, {far} of {len(z)} beyond 4 "
            "deviations. Try `StudentT` noise, or look at these rows."
        )
    return (
        f"not normal (p = {p:.2g}): skewness {skew:.2g}, excess kurtosis {excess:.2g}."
    )


def _size(known: np.ndarray) -> str:
    n, square = len(known), float(np.mean(known**2))
    above = chi2_tail(n * square, n)
    p = 2 * min(above, 1 - above)
    if p >= DOUBT:
        return ""
    more = "larger" if square > 1 else "smaller"
    return (
        f"{np.sqrt(square):.2g} times as large as expected (p = {p:.2g}): the noise is "
        f"{more} than the model says."
    )


def chi2_tail(statistic: float, degrees: int) -> float:
    """Probability of more than this under a chi-squared distribution."""
    with jax.enable_x64(True):
        return float(jax.scipy.stats.chi2.sf(statistic, degrees))
