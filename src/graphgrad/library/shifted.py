"""Monomials of the distance from another origin than zero: (x - c)^2."""

from collections.abc import Sequence
from itertools import product
from math import comb
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float

from .base import AbstractLibrary
from .degrees import default_states


class Shifted(AbstractLibrary):
    """The terms of another library at x - c, where c is the origin.

    Attributes:
        centred: The other library.
        origin: c, one number for each of its variables.
        n_states: Number of its variables.

    Examples:
        >>> import graphgrad as gg, jax.numpy as jnp
        >>> library = Shifted(gg.Polynomial(2, 2), np.array([293.15, 0.0]))
        >>> library.names()[1:5]
        ('(x1 - 293.15)', 'x2', '(x1 - 293.15)^2', '(x1 - 293.15) x2')
        >>> np.asarray(library(jnp.array([295.15, 3.0]))).round(3).tolist()
        [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]
    """

    centred: AbstractLibrary
    origin: Float[Array | np.ndarray, "Nx"]
    n_states: int = eqx.field(static=True)

    def __init__(
        self, centred: AbstractLibrary, origin: Float[Array | np.ndarray, "Nx"]
    ):
        self.centred, self.origin = centred, origin
        self.n_states = centred.n_states

    @property
    def incidence(self) -> np.ndarray:
        return self.centred.incidence

    @property
    def powers(self) -> np.ndarray:
        return self.centred.powers

    def names(self, states: Sequence[str] | None = None) -> tuple[str, ...]:
        states = default_states(self.n_states) if states is None else states
        pairs = zip(states, np.asarray(self.origin).tolist(), strict=True)
        # Eight digits are enough to read; files and source code have all of them.
        return self.centred.names(
            [from_origin(n, c, f"{abs(c):.8g}") for n, c in pairs]
        )

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch M"]:
        return self.centred(x - self.origin)

    def derivative(
        self, coefficients: Float[Array, "N M"], x: Float[Array, "Nx"]
    ) -> Float[Array, "N Nx"]:
        return self.centred.derivative(coefficients, x - self.origin)

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return self.centred.defined(x - self.origin)


def from_origin(variable: str, c: float, size: str) -> str:
    """A variable less its origin; itself if that is zero.

    Args:
        variable: Name of the variable.
        c: The origin.
        size: Its absolute value as text.

    Examples:
        >>> from_origin("x", 2.0, "2"), from_origin("x", -2.0, "2")
        ('(x - 2)', '(x + 2)')
    """
    return f"({variable} {'-' if c > 0 else '+'} {size})" if c else variable


def about(library: AbstractLibrary, origin: Any) -> AbstractLibrary:
    """The terms about an origin; the library itself if that is zero."""
    origin = np.asarray(origin, float)
    return Shifted(library, origin) if origin.any() else library


def origin_of(library: AbstractLibrary) -> Any:
    """The origin of each variable: zeros but for shifted terms."""
    if isinstance(library, Shifted):
        return library.origin
    return np.zeros(library.n_states)


def centred(library: AbstractLibrary) -> AbstractLibrary:
    """The terms about zero."""
    return library.centred if isinstance(library, Shifted) else library


def moved_origin(
    coefficients: Float[np.ndarray, "N M"],
    powers: np.ndarray,
    change: Float[np.ndarray, "Nx"],
) -> Float[np.ndarray, "N M"]:
    """Coefficients of the same polynomials about another origin.

    Args:
        coefficients: Coefficients about the first origin.
        powers: Power of each variable in each monomial. With one there must be all
            that divide it.
        change: The second origin less the first.

    Examples:
        >>> import graphgrad as gg
        >>> powers = gg.Polynomial(1, 2).powers
        >>> moved_origin(np.array([[0.0, 0.0, 1.0]]), powers, np.array([-3.0]))
        array([[ 9., -6.,  1.]])
    """
    columns = {tuple(column): j for j, column in enumerate(powers.T.tolist())}
    out = np.zeros(np.shape(coefficients))
    for j in np.flatnonzero(np.any(coefficients, axis=0)).tolist():
        high = powers[:, j].tolist()
        for low in product(*(range(int(p) + 1) for p in high)):
            each = zip(high, low, change.tolist(), strict=True)
            factor = np.prod([comb(p, q) * d ** (p - q) for p, q, d in each])
            out[:, columns[low]] += factor * coefficients[:, j]
    return out
