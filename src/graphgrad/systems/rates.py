"""Rates dx/dt, given as terms and coefficients."""

from collections.abc import Mapping

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..library import Polynomial


class PolynomialRate(eqx.Module):
    """dx/dt = R phi(x) with the monomials phi up to a degree.

    Attributes:
        library: The monomials.
        coefficients: R of shape `(Nx, M)`, always in double precision.
    """

    library: Polynomial
    coefficients: np.ndarray

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        return self.library(x) @ jnp.asarray(self.coefficients, x.dtype).T


def polynomial_rate(equations: Mapping[str, Mapping[str, float]]) -> PolynomialRate:
    """The rate of the given equations, with the lowest sufficient degree.

    Args:
        equations: For each state, the terms of its rate and their coefficients.

    Examples:
        >>> rate = polynomial_rate({"x": {"1": 2.0, "x y^2": -1.0}, "y": {"x": 3.0}})
        >>> rate.library.degree
        3
        >>> import jax.numpy as jnp
        >>> rate(jnp.array([1.0, 2.0])).tolist()
        [-2.0, 3.0]
    """
    states = tuple(equations)
    powers = {
        term: _powers(term, states) for terms in equations.values() for term in terms
    }
    library = Polynomial(len(states), max(1, *map(sum, powers.values())))
    column = {tuple(d): j for j, d in enumerate(library.degrees.T.tolist())}
    coefficients = np.zeros((len(states), len(column)))
    for i, terms in enumerate(equations.values()):
        for term, value in terms.items():
            coefficients[i, column[powers[term]]] += value
    return PolynomialRate(library, coefficients)


def _powers(term: str, states: tuple[str, ...]) -> tuple[int, ...]:
    powers = [0] * len(states)
    for factor in term.split() if term != "1" else ():
        state, _, power = factor.partition("^")
        powers[states.index(state)] += int(power or 1)
    return tuple(powers)
