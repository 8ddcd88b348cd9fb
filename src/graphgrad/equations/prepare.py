"""The checked beginning that all ways to write equations share."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import (
    check_at_least,
    check_choice,
    check_finite,
    check_positive,
    check_shape,
)
from ..library import AbstractLibrary, variable_names
from .terms import Monomial, Term, terms

FORMS = ("map", "rate")


class Prepared(NamedTuple):
    """Coefficients in the form asked for, and what they multiply.

    Attributes:
        matrix: C, or (C - I) / dt in rate form.
        variables: Names of the states and then of the inputs.
        names: Names of the terms.
        terms: What the terms are made of.
        unit: What C was divided by: 1, or dt.
    """

    matrix: Float[np.ndarray, "Nx M"]
    variables: tuple[str, ...]
    names: tuple[str, ...]
    terms: list[Term]
    unit: float

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return self.variables[: len(self.matrix)]

    def rows(self) -> list[list[tuple[float, int]]]:
        """For each state, the coefficients that are not zero and their columns."""
        return [
            [(value, j) for j, value in enumerate(row) if value != 0]
            for row in self.matrix.tolist()
        ]


def prepare(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None,
    form: str,
    dt: float | None,
    digits: int | None = None,
) -> Prepared:
    """Check everything; fewer rows than variables say that the last are inputs."""
    check_choice("form", form, FORMS)
    matrix = check_finite("coefficients", coefficients, "They come from a fit.")
    fits = matrix.ndim == 2 and 1 <= len(matrix) <= library.n_states
    shape = (len(matrix) if fits else library.n_states, library.n_terms)
    check_shape("coefficients", matrix.shape, shape, "One row a state, column a term.")
    variables = variable_names(library.n_states, len(matrix), states)
    made_of = terms(library, variables)
    unit = 1.0
    if form == "rate":
        unit = check_positive("dt", dt, "The rate form needs the time step.")
        matrix = (matrix - _identity(variables[: len(matrix)], made_of)) / unit
    if digits is not None:
        digits = check_at_least("digits", digits, 1, "None keeps all of them.")
        matrix = np.vectorize(lambda value: float(f"{value:.{digits}g}"))(matrix)
    return Prepared(matrix, variables, library.names(variables), made_of, unit)


def _identity(states: tuple[str, ...], made_of: list[Term]) -> np.ndarray:
    """C of the map that leaves every state as it is."""
    still = np.zeros((len(states), len(made_of)))
    for i, state in enumerate(states):
        itself = Monomial(((i, Fraction(1)),))
        if itself not in made_of:
            raise ValueError(
                f"`form` must be 'map' for a library without the term {state!r}, got "
                "'rate'. Add the states to the library."
            )
        still[i, made_of.index(itself)] = 1
    return still
