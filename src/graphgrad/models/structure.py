"""What models of known structure share."""

from collections.abc import Sequence

from ..library import Polynomial
from ..model import forbid
from ..model.constraints import Constraint

KEPT = 1e-3
"""Penalty of a term of known structure: small, so that every rate is estimated."""


def only_terms(
    states: Sequence[str], degree: int, kept: set[tuple[str, str]]
) -> list[Constraint]:
    """Constraints that forbid all other terms.

    Args:
        states: Names of the states.
        degree: Highest degree of the terms.
        kept: Target and term of those that remain.
    """
    terms = Polynomial(len(states), degree).names(tuple(states))
    return [
        forbid(state, term)
        for state in states
        for term in terms
        if (state, term) not in kept
    ]
