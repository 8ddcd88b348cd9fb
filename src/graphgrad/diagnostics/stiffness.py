"""Whether a flow is stiff: whether a part of it decays within an interval.

The states then follow slow equations, and the rows say little of the fast ones
(Hairer and Wanner, Solving Ordinary Differential Equations II, 1996, chapter IV).
"""

import numpy as np

from ..fits.record import Fit
from ..solution import Doubt
from .free_run import slopes

STIFF = 3.0
"""Decay of the fastest part in an interval, as an exponent: 5 % of it are left."""

MOST_ROWS = 200
"""Most rows at which the decay is computed."""


def stiffness_doubt(fit: Fit) -> Doubt | None:
    """How fast a flow decays, where it is stiff: a reason why a fit failed.

    None for what is no flow, has terms of the user, or is not stiff.
    """
    decay = decay_in_an_interval(fit) if fit.dynamics == "flow" else None
    if decay is None or decay < STIFF:
        return None
    left = np.exp(-decay)
    return Doubt(
        "stiffness",
        decay,
        "The equations are stiff: within an interval between rows their fastest part "
        f"decays to {left:.2g} of what it was.",
        decisive=False,
    )


def decay_in_an_interval(fit: Fit) -> float | None:
    """Fastest rate of decay times the interval, in one of ten rows or more.

    Args:
        fit: A fit of a flow.

    Returns:
        The 90 % quantile over rows of the largest negative real part of an eigenvalue
        of the flow's derivative, times the usual interval; None if that is not known.
    """
    found = slopes(fit)
    if found is None or not np.isfinite(found).all():
        return None
    rows = np.unique(np.linspace(0, len(found) - 1, MOST_ROWS).astype(int))
    own = found[rows, :, : found.shape[1]]
    decays = -np.linalg.eigvals(own).real.min(axis=-1)
    return float(np.quantile(decays, 0.9) * fit.dt)
