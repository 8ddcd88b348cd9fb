"""Rates dx/dt and the two ways to step along them."""

from collections.abc import Callable, Mapping

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..library import Polynomial
from ..model import AbstractMean


class PolynomialRate(eqx.Module):
    """dx/dt = R phi(x) with the monomials phi up to a degree.

    Attributes:
        library: The monomials.
        coefficients: R of shape `(Nx, M)`, in double precision whatever JAX is set to.
    """

    library: Polynomial
    coefficients: np.ndarray

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        return self.library(x) @ jnp.asarray(self.coefficients, x.dtype).T


def polynomial_rate(equations: Mapping[str, Mapping[str, float]]) -> PolynomialRate:
    """The rate of equations written out, of the lowest degree that holds them.

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


class EulerMean(AbstractMean):
    """x + dt rate(x): the discretisation of the paper (Sec. V).

    Attributes:
        rate: dx/dt; its parameters are what a maximum-likelihood fit may move.
        dt: Time step.
    """

    rate: Callable
    dt: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        return x + self.dt * self.rate(x)

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.ones(x.shape[:-1], dtype=bool)


class RungeKuttaMean(AbstractMean):
    """One step of the classical Runge-Kutta method of order four."""

    rate: Callable
    dt: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        rate, h = self.rate, self.dt
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        k4 = rate(x + h * k3)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.ones(x.shape[:-1], dtype=bool)
