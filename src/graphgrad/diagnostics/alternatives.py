"""Other choices of terms that explain the data nearly as well, in words."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..fits.record import Fit
from ..solution import PaperSolution

NOTICEABLE = 0.05
"""Weight from which on an alternative is mentioned."""


class Alternative(NamedTuple):
    """Another choice of terms.

    Attributes:
        weight: Its weight; those of all alternatives and of the fit have sum one.
        rise: By how much its criterion is above that of the fit.
        coefficients: Its coefficients, in the shape of `coef_`.
        words: In which equation it differs from the fit, and how.
    """

    weight: float
    rise: float
    coefficients: Float[np.ndarray, "N M"]
    words: str

    @property
    def sentence(self) -> str:
        """Weight and words."""
        return f"Alternative of weight {self.weight:.2f}: {self.words}."


def fit_alternatives(fit: Fit) -> list[Alternative]:
    """The alternatives of a fit, those of the largest weight first."""
    if isinstance(fit.solution, PaperSolution):
        return []
    n, found = fit.n_present, fit.solution
    return [
        Alternative(weight, rise, C, _words(fit, C))
        for weight, rise, C in zip(
            found.weights[1:].tolist(),
            np.asarray(found.alternative_rises).tolist(),
            np.asarray(found.alternative_coefficients)[:, :n],
            strict=True,
        )
    ]


def noticeable(fit: Fit) -> list[Alternative]:
    """The alternatives that are mentioned."""
    return [other for other in fit_alternatives(fit) if other.weight >= NOTICEABLE]


def _words(fit: Fit, coefficients: np.ndarray) -> str:
    """How a choice of terms differs from that of the fit."""
    base = (fit.coefficients - fit.solution.departures())[: fit.n_present]
    ours, theirs = fit.shown.coefficients != base, coefficients != base
    parts = []
    for i in np.flatnonzero((ours != theirs).any(axis=1)):
        added, dropped = (
            " and ".join(fit.layout.terms[j] for j in np.flatnonzero(which))
            for which in (theirs[i] & ~ours[i], ours[i] & ~theirs[i])
        )
        if added and dropped:
            change = f"{added} in place of {dropped}"
        else:
            change = f"{added} in addition" if added else f"without {dropped}"
        parts.append(f"{change} in the equation of {fit.layout.present[i]}")
    return "; ".join(parts)
