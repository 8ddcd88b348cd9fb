"""The interface of libraries of candidate terms, and the sum of libraries."""

from abc import abstractmethod
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .degrees import default_states


class AbstractLibrary(eqx.Module):
    """A vector of terms phi(x) in R^M of a state x in R^Nx."""

    n_states: eqx.AbstractVar[int]

    @property
    @abstractmethod
    def incidence(self) -> np.ndarray:
        """`(Nx, M)` array, nonzero where a term depends on a state.

        For monomials it is the degree matrix D. It determines the graph.
        """

    @abstractmethod
    def names(self, states: Sequence[str] | None = None) -> tuple[str, ...]:
        """The M names of the terms, from names of the states (default x1, x2, ...)."""

    @abstractmethod
    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch M"]:
        """Values of the terms; finite even where `defined` is false."""

    @abstractmethod
    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        """Whether every term has a real value at x."""

    def derivative(
        self, coefficients: Float[Array, "N M"], x: Float[Array, "Nx"]
    ) -> Float[Array, "N Nx"]:
        """Derivative of C phi(x) in the state."""
        return coefficients @ jax.jacfwd(self)(x)

    @property
    def powers(self) -> np.ndarray:
        """`(Nx, M)` array: the power of each state in a monomial; NaN for other terms.

        Examples:
            >>> import graphgrad as gg
            >>> (gg.Polynomial(1, 1) + gg.trigonometric_terms(1)).powers.tolist()
            [[0.0, 1.0, nan, nan]]
        """
        return np.full(self.incidence.shape, np.nan)

    @property
    def n_terms(self) -> int:
        """Number of terms, M."""
        return self.incidence.shape[1]

    def index(self, term: str, states: Sequence[str] | None = None) -> int:
        """Column of a term, by name.

        Examples:
            >>> import graphgrad as gg
            >>> gg.Polynomial(n_states=3, degree=2).index("x1 x3")
            6
        """
        names = self.names(states)
        if term not in names:
            shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            raise ValueError(
                f"`term` must be one of the library's {len(names)} names, got "
                f"{term!r}. They are: {shown}"
            )
        return names.index(term)

    def __add__(self, other: "AbstractLibrary") -> "SumLibrary":
        return SumLibrary((self, other))


class SumLibrary(AbstractLibrary):
    """The terms of several libraries side by side (Sec. IV-D).

    Made by `+`. A term in two of them is an error, since its coefficient would not be
    identifiable.

    Examples:
        >>> import graphgrad as gg
        >>> library = gg.Polynomial(2, 1) + gg.trigonometric_terms(2)
        >>> library.names()
        ('1', 'x1', 'x2', 'sin(x1)', 'sin(x2)', 'cos(x1)', 'cos(x2)')
    """

    parts: tuple[AbstractLibrary, ...]
    n_states: int = eqx.field(static=True)

    def __init__(self, parts: tuple[AbstractLibrary, ...]):
        sizes = [part.n_states for part in parts]
        if len(set(sizes)) != 1:
            raise ValueError(
                f"`parts` must have the same number of states, got {sizes}. "
                "Give every library the full number of states."
            )
        self.parts = parts
        self.n_states = sizes[0]
        names = self.names()
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"`parts` must have no term in common, got {', '.join(twice)} twice. "
                "Leave it out of one of the libraries."
            )

    @property
    def incidence(self) -> np.ndarray:
        return np.concatenate([part.incidence for part in self.parts], axis=1)

    @property
    def powers(self) -> np.ndarray:
        return np.concatenate([part.powers for part in self.parts], axis=1)

    def names(self, states: Sequence[str] | None = None) -> tuple[str, ...]:
        states = default_states(self.n_states) if states is None else states
        return tuple(name for part in self.parts for name in part.names(states))

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch M"]:
        return jnp.concatenate([part(x) for part in self.parts], axis=-1)

    def derivative(
        self, coefficients: Float[Array, "N M"], x: Float[Array, "Nx"]
    ) -> Float[Array, "N Nx"]:
        ends = np.cumsum([part.n_terms for part in self.parts])[:-1]
        shares = jnp.split(coefficients, ends, axis=1)
        pairs = zip(self.parts, shares, strict=True)
        return sum(
            (part.derivative(share, x) for part, share in pairs),
            start=jnp.zeros((len(coefficients), len(x)), x.dtype),
        )

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.all(jnp.stack([part.defined(x) for part in self.parts]), axis=0)
