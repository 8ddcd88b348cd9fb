"""Size of recent one-step errors: noise that changes in time, in bands of forecasts.

The noise variances of a fit are means over its rows. Real series have calm and restless
years, and forecasts are about the years to come, which are more like the last ones: so
a forecast has the variances of the fit times a running mean of squared standardised
errors up to its origin (RiskMetrics technical document, J.P. Morgan, 1996).
"""

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..diagnostics.noise_uncertainty import NOISES, NoiseDraws
from ..diagnostics.residuals import one_step_residuals
from ..fits.record import Fit
from ..model import Arranged

ROWS = 40
"""Rows that the running mean is worth; also its degrees of freedom.

Few follow changes soon, and make bands of noise that does not change uneven.
"""


class RecentScale:
    """Factors of the noise variances after each row of a series.

    Args:
        key: Random key of the filter.
        fit: The fit.
        data: The fitted model and the rows of the series.
    """

    def __init__(self, key: PRNGKeyArray, fit: Fit, data: Arranged) -> None:
        (residuals,) = one_step_residuals(
            key, fit.engine, data, given_first=fit.begins_anywhere
        )
        self.columns = running_scales(residuals)
        mean = self.columns.mean(axis=1, keepdims=True)
        self.states = np.repeat(mean, fit.model.n_states, axis=1)
        matrix = np.asarray(fit.layout.matrix)
        for column, row in enumerate(matrix != 0):
            if row.sum() == 1:
                self.states[:, row] = self.columns[:, [column]]
        copies, sources = fit.layout.copies
        self.states[:, copies] = self.states[:, sources]

    def after(
        self, key: PRNGKeyArray, row: int, noise: NoiseDraws
    ) -> tuple[NoiseDraws, Float[np.ndarray, "members Nx"]]:
        """Variances of each member after a row, and factors of its deviation there.

        The running mean is of few rows: members have draws of what it estimates.
        """
        members = len(noise.state)
        # The same for all columns: restless years are so in most of them.
        drawn = ROWS / (2 * np.asarray(jax.random.gamma(key, ROWS / 2, (members, 1))))
        states, columns = drawn * self.states[row], drawn * self.columns[row]
        scaled = NoiseDraws(
            noise.state * states, noise.observed * columns, noise.learnt
        )
        return scaled, np.sqrt(states)


def has_recent_scale(fit: Fit, noise: NoiseDraws) -> bool:
    """Whether both noises were learnt, so that their variances may be others."""
    return set(noise.learnt) == set(NOISES) and fit.layout.matrix is not None


def running_scales(
    residuals: Float[np.ndarray, "T Ny"],
) -> Float[np.ndarray, "T Ny"]:
    """Running means of squares up to each row; those before the first are 1.

    Args:
        residuals: Standardised errors; NaN where nothing was observed.

    Examples:
        >>> running_scales(np.array([[1.0], [np.nan], [2.0]])).round(2).ravel().tolist()
        [1.0, 1.0, 1.15]
    """
    share, now, found = 2 / (ROWS + 1), np.ones(residuals.shape[1]), []
    for row in residuals:
        now = now + share * np.where(np.isfinite(row), row**2 - now, 0)
        found.append(now)
    return np.array(found)
