"""Delays that a regression on the rows themselves finds: which ones to fit.

A fit for each number of delays would take minutes. Here terms are selected for the next
row of each column by least squares, as if there was no measurement noise: constants,
all variables with all delays, and their products with the present ones. NumPy only.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

MOST_TERMS = 20
"""Most terms of an equation that are selected."""


class Candidate(NamedTuple):
    """A regressor: the variables in it with their delays, and its values."""

    delays: Mapping[str, int]
    values: Float[np.ndarray, "n"]

    @property
    def penalty(self) -> float:
        """Additional penalty: 2 log(1 + delay), and 4 log 2 for each degree."""
        longest = max(self.delays.values(), default=0)
        return 2 * np.log1p(longest) + 4 * np.log(2) * len(self.delays)


def found_delays(
    series: Sequence[Mapping[str, Float[np.ndarray, "T"]]],
    columns: Sequence[str],
    most: int,
    *,
    products: bool = True,
    present: Sequence[str] = (),
) -> dict[str, int]:
    """Longest delay of each variable that a regression selects, if it is not zero.

    Args:
        series: Variables by name, one row per step; NaN where not observed. Those of
            `columns` act on the row after, others on the same row.
        columns: Names of the variables that are to be predicted.
        most: Longest delay.
        products: Whether products of a delayed and a present variable are candidates.
        present: Variables that are not delayed and are in no products, as seasons.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> x = np.zeros(200)
        >>> for t in range(4, 200):
        ...     x[t] = 0.5 * x[t - 1] - 0.6 * x[t - 4] + rng.normal()
        >>> found_delays([{"x": x}], ["x"], 10)
        {'x': 3}
    """
    candidates = _candidates(series, columns, most, products, present)
    longest: dict[str, int] = {}
    for name in columns:
        targets = np.concatenate([part[name][most + 1 :] for part in series])
        for each in _selected(candidates, targets):
            for source, delay in each.delays.items():
                longest[source] = max(longest.get(source, 0), delay)
    return {name: delay for name, delay in longest.items() if delay}


def _candidates(
    series: Sequence[Mapping[str, np.ndarray]],
    columns: Sequence[str],
    most: int,
    products: bool,
    present: Sequence[str],
) -> list[Candidate]:
    """Constant, variables with all delays, and products with the present ones."""

    def delayed(name: str, delay: int) -> np.ndarray:
        before = delay + (name in columns)
        parts = [
            part[name][most + 1 - before : len(part[name]) - before or None]
            for part in series
        ]
        values = np.concatenate(parts)
        size = np.nanstd(values)
        return (values - np.nanmean(values)) / (size if size > 0 else 1.0)

    names = [name for name in series[0] if name not in present]
    linear = [
        Candidate({name: delay}, delayed(name, delay))
        for delay in range(most + 1)
        for name in names
    ]
    found = [Candidate({}, np.ones(len(linear[0].values))), *linear]
    found += [Candidate({name: 0}, delayed(name, 0)) for name in present]
    if products:
        for i, first in enumerate(linear[: len(names)]):
            (a,) = first.delays
            for other in linear[i:]:
                ((b, delay),) = other.delays.items()
                found.append(Candidate({a: 0, b: delay}, first.values * other.values))
    return found


def _selected(
    candidates: Sequence[Candidate], targets: Float[np.ndarray, "n"]
) -> list[Candidate]:
    """Candidates added and dropped one at a time while the BIC with penalties falls."""
    X = np.stack([each.values for each in candidates], axis=1)
    complete = ~np.isnan(X).any(axis=1) & ~np.isnan(targets)
    X, y = X[complete], targets[complete]
    n = len(y)
    if n < 10:
        return []
    y = (y - y.mean()) / (y.std() or 1.0)
    penalties = np.log(n) + np.array([each.penalty for each in candidates])
    gram, moments, whole = X.T @ X, X.T @ y, float(y @ y)

    def score(terms: list[int]) -> float:
        block = gram[np.ix_(terms, terms)] + 1e-9 * n * np.eye(len(terms))
        left = whole - moments[terms] @ np.linalg.solve(block, moments[terms])
        return n * np.log(max(left, 1e-9 * whole) / n) + float(penalties[terms].sum())

    terms: list[int] = []
    now = score(terms)
    while True:
        changed = [
            [term for term in terms if term != j] if j in terms else [*terms, j]
            for j in range(len(candidates))
            if j in terms or len(terms) < min(MOST_TERMS, n // 5)
        ]
        scores = [score(each) for each in changed]
        best = int(np.argmin(scores))
        if scores[best] >= now - 1e-9:
            return [candidates[j] for j in terms]
        terms, now = changed[best], scores[best]
