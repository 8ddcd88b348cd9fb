"""Monomials up to a degree, also of roots of the states: Sec. III-A, Eq. (7)."""

from collections.abc import Sequence
from functools import cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..checks import check_at_least
from ..resources import count_monomials
from .base import AbstractLibrary
from .degrees import degree_matrix, monomial_names


class Polynomial(AbstractLibrary):
    """All monomials of the states up to a degree.

    With `root=p` the powers are multiples of 1/p: monomials up to degree p*d of the
    p-th roots, with D divided by p. An odd root of a negative state is the negative
    real root. An even root of a negative state is not real: `defined` is false there,
    filters give such particles zero weight, and `simulate` reports the step.

    Attributes:
        n_states: Number of states, Nx.
        degree: Highest degree d of a monomial.
        root: p; 1 for ordinary polynomials.

    Examples:
        >>> import jax.numpy as jnp
        >>> library = Polynomial(n_states=2, degree=2)
        >>> library.names(["prey", "predator"])
        ('1', 'prey', 'predator', 'prey^2', 'prey predator', 'predator^2')
        >>> library(jnp.array([2.0, 3.0])).tolist()
        [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]
        >>> Polynomial(n_states=1, degree=1, root=2).names()
        ('1', 'x1^(1/2)', 'x1')
    """

    n_states: int = eqx.field(static=True)
    degree: int = eqx.field(static=True)
    root: int = eqx.field(static=True)

    def __init__(self, n_states: int, degree: int, *, root: int = 1):
        self.n_states = check_at_least(
            "n_states", n_states, 1, "It is the number of states."
        )
        self.degree = check_at_least(
            "degree", degree, 1, "Most systems are of degree 2 or 3."
        )
        self.root = check_at_least("root", root, 1, "Use 2 for square roots.")
        count_monomials(self.n_states, self.degree * self.root)

    @property
    def degrees(self) -> np.ndarray:
        """The paper's D: integers, or multiples of 1/p if roots are used."""
        powers = degree_matrix(self.n_states, self.degree * self.root)
        return powers if self.root == 1 else powers / self.root

    @property
    def incidence(self) -> np.ndarray:
        return self.degrees

    @property
    def powers(self) -> np.ndarray:
        return self.degrees

    def names(self, states: Sequence[str] | None = None) -> tuple[str, ...]:
        return monomial_names(self.degrees, states)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch M"]:
        if self.root > 1:
            x = _real_root(x, self.root)
        return self._up_to(self.degree * self.root, x)

    def _up_to(
        self, degree: int, x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch m"]:
        """Monomials up to a degree."""
        # The monomials of degree n that begin with state i are x_i times those of
        # degree n-1 that begin with state i or a later one, and in this order these
        # are the end of the previous block: slices and products, no powers or gathers.
        # With the states in front a slice is contiguous, which is 4 times faster.
        x = jnp.moveaxis(x, -1, 0)
        blocks = [jnp.ones_like(x[:1]), x]
        starts = list(range(self.n_states))
        for _ in range(degree - 1):
            last = blocks[-1]
            parts = [x[i : i + 1] * last[start:] for i, start in enumerate(starts)]
            blocks.append(jnp.concatenate(parts))
            starts = np.cumsum([0, *(len(part) for part in parts[:-1])]).tolist()
        return jnp.moveaxis(jnp.concatenate(blocks[: degree + 1]), 0, -1)

    def derivative(
        self, coefficients: Float[Array, "N M"], x: Float[Array, "Nx"]
    ) -> Float[Array, "N Nx"]:
        if self.root > 1:
            return super().derivative(coefficients, x)
        # The derivative of a monomial is a multiple of one of lower degree.
        raised, factors = _raised(self.n_states, self.degree)
        lower = coefficients[:, raised] * jnp.asarray(factors, coefficients.dtype)
        return lower @ self._up_to(self.degree - 1, x)

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        if self.root % 2 == 1:
            return jnp.ones(x.shape[:-1], dtype=bool)
        return jnp.all(x >= 0, axis=-1)


@cache
def _raised(n_states: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the products of a state and a monomial of lower degree.

    Returns:
        Arrays of shape `(n_states, m)`: the columns, and the powers of the
        state in them.
    """
    powers = degree_matrix(n_states, degree)
    columns = {tuple(column): j for j, column in enumerate(powers.T)}
    lower = powers[:, powers.sum(axis=0) < degree]
    one = np.eye(n_states, dtype=int)
    raised = [[columns[tuple(c)] for c in (lower.T + e)] for e in one]
    return np.array(raised, np.int32), lower + 1


def _real_root(x: Array, p: int) -> Array:
    """The real p-th root, with derivative 0 at 0 and where it does not exist."""
    size = jnp.where(x == 0, 1, jnp.abs(x))
    value = jnp.where(x == 0, 0, size ** (1 / p))
    return jnp.sign(x) * value if p % 2 else jnp.where(x < 0, 0, value)
