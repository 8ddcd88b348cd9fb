"""Scores of estimated rates against the true ones."""

import numpy as np

from .plan import Cell, Draws, Results

NEAR = 0.1
"""Below this the coefficient error of Kaptanoglu et al. counts as a success."""


def support_f1(found: np.ndarray, truth: np.ndarray) -> float:
    """F1 of the support: 1 if all terms are right."""
    right = np.sum((found != 0) & (truth != 0))
    return 2 * float(right) / max(np.count_nonzero(found) + np.count_nonzero(truth), 1)


def relative_error(found: np.ndarray, truth: np.ndarray) -> float:
    """Median over the true terms of |error| / |coefficient|; 1 for a missing term."""
    on = truth != 0
    return float(np.median(np.abs(found - truth)[on] / np.abs(truth)[on]))


def spectral_error(found: np.ndarray, truth: np.ndarray) -> float:
    """Relative error in the spectral norm: that of Kaptanoglu et al. 2023."""
    return float(np.linalg.norm(found - truth, 2) / np.linalg.norm(truth, 2))


def scored_rates(cell: Cell, draws: Draws, rates: np.ndarray) -> Results:
    """Scores of estimated rates; the estimates are returned as `coefficients`.

    `exact` means that the support is exactly right; `near` that the spectral error is
    below 0.1.

    Args:
        cell: The cell.
        draws: Its data.
        rates: `(n, Nx, M)`; all zero for a fit without rates.
    """
    truth = draws.system.coefficients(cell.degree, dynamics="flow")
    spectral = np.array([spectral_error(one, truth) for one in rates])
    return {
        "f1": np.array([support_f1(one, truth) for one in rates]),
        "exact": np.array([float(((one != 0) == (truth != 0)).all()) for one in rates]),
        "coefficient_error": np.array([relative_error(one, truth) for one in rates]),
        "spectral_error": spectral,
        "near": (spectral < NEAR).astype(float),
        "coefficients": np.asarray(rates, float),
    }
