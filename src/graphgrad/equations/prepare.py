"""Input checks shared by all functions that write equations."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..checks import check_at_least, check_finite, check_shape
from ..library import AbstractLibrary, origin_of, variable_names
from ..model.mean import check_dynamics, refuse_form
from .terms import Term, terms


class Prepared(NamedTuple):
    """Coefficients and the terms they multiply.

    Attributes:
        matrix: Coefficients, rounded if requested.
        variables: Names of the states, followed by those of the inputs.
        names: Names of the terms.
        terms: Structure of the terms.
        dynamics: What the sum of the terms is: dx/dt, x[t+1] or x[t+1] - x[t].
        origin: Origin of each variable in the terms; empty if names suffice.
    """

    matrix: Float[np.ndarray, "Nx M"]
    variables: tuple[str, ...]
    names: tuple[str, ...]
    terms: list[Term]
    dynamics: str
    origin: tuple[float, ...] = ()

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return self.variables[: len(self.matrix)]

    def rows(self) -> list[list[tuple[float, int]]]:
        """For each state, the nonzero coefficients and their columns."""
        return [
            [(value, j) for j, value in enumerate(row) if value != 0]
            for row in self.matrix.tolist()
        ]


def prepare(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None,
    dynamics: str,
    digits: int | None = None,
    *,
    form: Any = None,
) -> Prepared:
    """Check everything; with fewer rows than variables, the last ones are inputs."""
    refuse_form(form)
    dynamics = check_dynamics(dynamics)
    matrix = check_finite("coefficients", coefficients, "They come from a fit.")
    fits = matrix.ndim == 2 and 1 <= len(matrix) <= library.n_states
    shape = (len(matrix) if fits else library.n_states, library.n_terms)
    remedy = "Give one row per state, one column per term."
    check_shape("coefficients", matrix.shape, shape, remedy)
    variables = variable_names(library.n_states, len(matrix), states)
    if digits is not None:
        digits = check_at_least("digits", digits, 1, "None keeps all of them.")
        matrix = np.vectorize(lambda value: float(f"{value:.{digits}g}"))(matrix)
    origin = tuple(np.asarray(origin_of(library)).tolist())
    return Prepared(
        matrix,
        variables,
        library.names(variables),
        terms(library, variables),
        dynamics,
        origin,
    )
