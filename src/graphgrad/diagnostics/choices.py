"""The choices of terms, those of the fit and its alternatives, equation by equation."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..fits.record import Fit
from ..solution import PaperSolution


class Choices(NamedTuple):
    """Choices of terms, that of the fit first, and how likely each is.

    An alternative says nothing of the equations that it does not change. The weights of
    an equation are those of the fit and of the alternatives that change it: which
    terms one equation has is decided independently of the others. With linear
    constraints, which tie equations together, each has the weights of all.

    Attributes:
        coefficients: Coefficients of each choice.
        weights: Weight of each choice in each equation; their sum is one.
        present: Which terms each choice has.
    """

    coefficients: Float[np.ndarray, "A Nx M"]
    weights: Float[np.ndarray, "A Nx"]
    present: Bool[np.ndarray, "A Nx M"]

    @classmethod
    def of(cls, fit: Fit) -> "Choices":
        """The choices of a fit; only its own one with a solver of the paper."""
        found = fit.solution
        ours = np.asarray(found.coefficients)[None]
        if isinstance(found, PaperSolution):
            return cls(ours, np.ones((1, ours.shape[1])), ours != 0)
        others = np.asarray(found.alternative_coefficients)
        coefficients = np.concatenate([ours, others])
        present = coefficients != np.asarray(found.base)
        odds = found.weights[:, None] / found.weights[0]
        if fit.task.linear_map is None:
            changes = (present != present[0]).any(axis=-1)
            changes[0] = True
            odds = np.where(changes, odds, 0.0)
        else:
            odds = np.broadcast_to(odds, coefficients.shape[:2])
        return cls(coefficients, odds / odds.sum(axis=0), present)

    def first(self) -> "Choices":
        """The choice of the fit alone."""
        return Choices(
            self.coefficients[:1], np.ones_like(self.weights[:1]), self.present[:1]
        )

    def term_weights(self) -> Float[np.ndarray, "Nx M"]:
        """Sum of the weights of the choices that have each term."""
        return np.einsum("ai,aij->ij", self.weights, self.present)

    def edge_weights(
        self, incidence: Float[np.ndarray, "Nv M"]
    ) -> Float[np.ndarray, "Nx Nv"]:
        """Sum of the weights of the choices in which a variable acts on a state.

        Args:
            incidence: Nonzero where a variable enters a term.
        """
        acts = (self.present[:, :, None] & (np.asarray(incidence) != 0)).any(axis=-1)
        return np.einsum("ai,aiv->iv", self.weights, acts)
