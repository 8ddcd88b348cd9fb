"""Beam search for the few terms of an equation, by regression on given states.

From each of the best supports of a size, all supports with one term more are evaluated,
of which the best are kept. Unlike changes from one support to the next, which end where
no single one pays, this comes to terms that explain little until all of them are there.
No matrix of all terms by all terms is formed: one row of it for each term of a support.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

WIDTH = 60
"""Supports of each size that are kept."""

MOST_TERMS = 16
"""Most terms of an equation."""

PATIENCE = 3
"""Sizes without a better support after which the search ends."""

LEAST_REST = 1e-8
"""Share of a term that others leave unexplained, below which it is one of them."""


class Regressors(NamedTuple):
    """Terms along a trajectory, of unit length.

    Attributes:
        unit: The terms.
        sizes: Their lengths before.
        products: With all others, of those terms that were asked for.
    """

    unit: Float[np.ndarray, "T M"]
    sizes: Float[np.ndarray, "M"]
    products: dict[int, Float[np.ndarray, "M"]]

    @classmethod
    def of(cls, terms: Float[np.ndarray, "T M"]) -> "Regressors":
        """From terms along a trajectory."""
        sizes = np.sqrt(np.sum(terms**2, axis=0))
        sizes = np.where((sizes > 0) & np.isfinite(sizes), sizes, np.inf)
        return cls(np.where(np.isfinite(sizes), terms / sizes, 0), sizes, {})

    def rows(self, columns: Int[np.ndarray, "W s"]) -> Float[np.ndarray, "W s M"]:
        """Products of some terms with all."""
        needed, places = np.unique(columns, return_inverse=True)
        for j in needed.tolist():
            if j not in self.products:
                self.products[j] = self.unit[:, j] @ self.unit
        table = np.array([self.products[j] for j in needed.tolist()])
        return table[places.reshape(columns.shape)]


def beam_search(
    regressors: Regressors,
    target: Float[np.ndarray, "T"],
    penalty: Float[np.ndarray, "M"],
    allowed: Bool[np.ndarray, "M"],
    width: int = WIDTH,
) -> tuple[list[int], Float[np.ndarray, "s"]]:
    """The terms of lowest T log(rss / T) and penalties, and their coefficients.

    Args:
        regressors: The terms.
        target: What they explain.
        penalty: Of each term.
        allowed: Which may enter.
        width: Supports of each size that are kept.

    Examples:
        >>> x = np.random.default_rng(0).normal(size=(50, 30))
        >>> y = 2 * x[:, 3] - x[:, 7] + 0.1 * x[:, 29]
        >>> beam_search(Regressors.of(x), y, np.full(30, 9.0), np.arange(30) < 29)[0]
        [3, 7]
    """
    T = len(target)
    pulls, square = target @ regressors.unit, float(target @ target)
    tiny = np.finfo(float).eps * max(square, np.finfo(float).tiny)
    usable = allowed & np.isfinite(regressors.sizes)
    best, least = np.zeros(0, int), T * np.log(max(square, tiny) / T)
    beams = np.zeros((1, 0), int)
    for size in range(1, min(MOST_TERMS, T // 2, int(usable.sum())) + 1):
        left, rest, pull = _left(regressors, beams, pulls, square)
        enters = usable & (rest > LEAST_REST)
        np.put_along_axis(enters, beams, False, axis=1)
        gain = pull**2 / np.where(enters, rest, 1)
        squares = np.where(enters, np.maximum(left[:, None] - gain, tiny), np.inf)
        costs = T * np.log(squares / T) + penalty
        costs += penalty[beams].sum(axis=1, keepdims=True)
        # Each set of terms may come from as many as it has.
        number = min(size * width, costs.size)
        order = np.argpartition(costs.ravel(), number - 1)[:number]
        order = order[np.isfinite(costs.ravel()[order])]
        if not len(order):
            break
        from_, added = np.unravel_index(order, costs.shape)
        sets = np.sort(np.column_stack([beams[from_], added]), axis=1)
        sets, first = np.unique(sets, axis=0, return_index=True)
        found = costs.ravel()[order][first]
        kept = np.argsort(found, kind="stable")[:width]
        beams = sets[kept]
        if found[kept[0]] < least:
            best, least = beams[0], found[kept[0]]
        if size >= len(best) + PATIENCE:
            break
    terms = best.tolist()
    amounts = np.linalg.lstsq(regressors.unit[:, terms], target, rcond=None)[0]
    return terms, amounts / regressors.sizes[terms]


def _left(
    regressors: Regressors,
    beams: Int[np.ndarray, "W s"],
    pulls: Float[np.ndarray, "M"],
    square: float,
) -> tuple[Float[np.ndarray, "W"], Float[np.ndarray, "W M"], Float[np.ndarray, "W M"]]:
    """What supports leave of the target, of each term, and of their product."""
    if not beams.shape[1]:
        return np.array([square]), np.ones((1, len(pulls))), pulls[None]
    rows = regressors.rows(beams)
    block = np.take_along_axis(rows, beams[:, None, :], axis=2)
    block = block + 1e-10 * np.eye(beams.shape[1])
    both = np.concatenate([rows, pulls[beams][..., None]], axis=2)
    entered = np.linalg.solve(block, both)
    amounts = entered[..., -1]
    left = square - np.sum(pulls[beams] * amounts, axis=1)
    rest = 1 - np.sum(entered[..., :-1] * rows, axis=1)
    return left, rest, pulls - np.einsum("ws,wsm->wm", amounts, rows)
