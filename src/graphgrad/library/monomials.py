"""Monomials with given powers: a selection of those of a polynomial."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .base import AbstractLibrary
from .degrees import degree_matrix, monomial_names


class Monomials(AbstractLibrary):
    """Monomials of the states with given powers.

    Attributes:
        n_states: Number of states, Nx.
        exponents: Powers of each state in each monomial: one tuple per monomial.

    Examples:
        >>> library = Monomials(3, ((0, 0, 0), (2, 0, 0), (1, 0, 1)))
        >>> library.names(), library(jnp.array([2.0, 3.0, 5.0])).tolist()
        (('1', 'x1^2', 'x1 x3'), [1.0, 4.0, 10.0])
    """

    n_states: int = eqx.field(static=True)
    exponents: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    @property
    def incidence(self) -> np.ndarray:
        return np.array(self.exponents).T

    @property
    def powers(self) -> np.ndarray:
        return self.incidence

    def names(self, states: Sequence[str] | None = None) -> tuple[str, ...]:
        return monomial_names(self.incidence, states)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch M"]:
        one = jnp.ones((*x.shape[:-1], 1), x.dtype)
        factors = self._factors()
        return jnp.prod(jnp.concatenate([x, one], axis=-1)[..., factors], axis=-1)

    def _factors(self) -> np.ndarray:
        """States that are multiplied in each monomial, padded by a constant."""
        each = [
            np.repeat(np.arange(self.n_states), powers) for powers in self.exponents
        ]
        longest = max(1, *(len(part) for part in each))
        return np.array(
            [[*part, *[self.n_states] * (longest - len(part))] for part in each]
        )

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.ones(x.shape[:-1], dtype=bool)


def partly_linear(n_states: int, degree: int, linear: Sequence[bool]) -> Monomials:
    """All monomials up to a degree, of which some states are in those of degree 1 only.

    Args:
        n_states: Number of states.
        degree: Highest degree.
        linear: Which states have no powers and are in no products.

    Examples:
        >>> partly_linear(2, 2, [False, True]).names()
        ('1', 'x1', 'x2', 'x1^2')
    """
    products = np.flatnonzero(~np.asarray(linear, bool))
    some = np.zeros((0, 0), int)
    if len(products):
        some = degree_matrix(len(products), degree)
    high = some[:, some.sum(axis=0) > 1]
    powers = np.zeros((n_states, 1 + n_states + high.shape[1]), int)
    powers[:, 1 : n_states + 1] = np.eye(n_states, dtype=int)
    powers[products, n_states + 1 :] = high
    return Monomials(n_states, tuple(tuple(column) for column in powers.T.tolist()))
