"""Probabilities of edges, and which to report at a false discovery rate."""

import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import check_finite
from ..fits.record import Fit
from ..solution import Outcome
from .choices import Choices


class ProbableEdge(NamedTuple):
    """An edge, which the fit may have or not.

    Attributes:
        source: The state or input that acts.
        target: The state on which it acts.
        probability: That it does.
    """

    source: str
    target: str
    probability: float


def edge_probabilities(fit: Fit) -> Float[np.ndarray, "N Nv"]:
    """Probability of each edge, by the weights of the fit and its alternatives."""
    weights = Choices.of(fit).edge_weights(fit.layout.incidence)
    return weights[: fit.n_present].clip(0.0, 1.0)


def probable_edges(
    fit: Fit, fdr: float, known: Float[np.ndarray, "N Nv"] | None = None
) -> list[ProbableEdge]:
    """The edges of the largest probabilities whose mean error is within a rate.

    Args:
        fit: The fit.
        fdr: Highest expected share of false edges.
        known: Probabilities of edges; `edge_probabilities` if None.
    """
    if fit.outcome is Outcome.doubtful:
        warnings.warn(
            "The probabilities of edges hold if the model is right, and this fit is "
            "doubtful. Read `doubts_` first.",
            stacklevel=3,
        )
    sure = edge_probabilities(fit) if known is None else np.asarray(known)
    kept = discoveries(sure.ravel(), fdr)
    found = []
    for place in kept.tolist():
        a, b = np.unravel_index(place, sure.shape)
        edge = fit.layout.nodes[b], fit.layout.present[a], float(sure[a, b])
        found.append(ProbableEdge(*edge))
    return found


def discoveries(probabilities: Float[np.ndarray, "n"], fdr: float) -> np.ndarray:
    """Indices of as many as possible, the most probable first.

    The mean of the probabilities that they are false is at most the rate (Müller,
    Parmigiani, Robert and Rousseau, JASA 99, 2004). Those of equal probability are
    taken together or not at all, and those of probability zero never.

    Examples:
        >>> import numpy as np
        >>> p = np.array([0.2, 0.99, 0.9, 0.9])
        >>> discoveries(p, 0.05).tolist(), discoveries(p, 0.07).tolist()
        ([1], [1, 2, 3])
    """
    rate = float(check_finite("fdr", fdr, "0.05 is usual."))
    if not 0 <= rate < 1:
        raise ValueError(
            f"`fdr` must be at least 0 and below 1, got {rate:g}. 0.05 is usual."
        )
    order = np.argsort(-probabilities, kind="stable")
    sorted_ = probabilities[order]
    false = np.cumsum(1 - sorted_) / np.arange(1, len(order) + 1)
    last = np.append(sorted_[1:] < sorted_[:-1], True)
    ends = np.flatnonzero((false <= rate + 1e-12) & last & (sorted_ > 0))
    return order[: ends[-1] + 1] if len(ends) else order[:0]
