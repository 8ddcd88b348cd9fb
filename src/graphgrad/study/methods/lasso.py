"""A lasso of each observation on the terms of the previous one."""

import warnings

import jax
import numpy as np

from ..plan import Cell, Draws, Results
from ..scores import scored

FALLING = np.geomspace(1, 1e-5, 60)


def pairs(cell: Cell, draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """Terms of y_t, `(n, T - 1, M)`, and y_t+1, `(n, T - 1, Nx)`."""
    library = draws.system.library(cell.degree)
    ys = np.asarray(draws.observations, float)
    with jax.enable_x64(True):
        return np.asarray(jax.jit(library)(ys[:, :-1])), ys[:, 1:]


def bic(terms: np.ndarray, targets: np.ndarray, found: np.ndarray) -> np.ndarray:
    """BIC of each equation, `(Nx,)`; infinite if it has terms for half the rows."""
    rows, used = len(terms), np.count_nonzero(found, axis=1)
    rss = np.sum((targets - terms @ found.T) ** 2, axis=0)
    value = rows * np.log(rss / rows) + used * np.log(rows)
    return np.where(2 * used <= rows, value, np.inf)


def lasso_refitted(terms: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The support on the lasso's regularisation path with the lowest BIC, refitted.

    Terms are normalised to length 1 for the lasso. Each equation has its own penalty,
    one of 60 from the smallest that removes all terms down to 1e-5 of it.

    Args:
        terms: `(rows, M)`.
        targets: `(rows, Nx)`.

    Returns:
        Coefficients, `(Nx, M)`.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lasso_path

    unit = np.linalg.norm(terms, axis=0)
    design = terms / np.where(unit > 0, unit, 1)
    best = np.zeros((targets.shape[1], terms.shape[1]))
    for i, target in enumerate(targets.T):
        # The largest penalty removes all terms.
        penalties = np.abs(design.T @ target).max() / len(target) * FALLING
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # only supports matter
            path = lasso_path(design, target, alphas=penalties, max_iter=2000)[1]
        supports = np.unique(path.T != 0, axis=0)
        fits = np.zeros((len(supports), terms.shape[1]))
        for fit, on in zip(fits, supports, strict=True):
            fit[on] = np.linalg.lstsq(terms[:, on], target, rcond=None)[0]
        values = [bic(terms, target[:, None], fit[None])[0] for fit in fits]
        best[i] = fits[int(np.argmin(values))]
    return best


def lasso(cell: Cell, draws: Draws) -> Results:
    """Lasso on the observations, refitted."""
    terms, targets = pairs(cell, draws)
    found = [lasso_refitted(a, b) for a, b in zip(terms, targets, strict=True)]
    return scored(cell, draws, np.stack(found))
