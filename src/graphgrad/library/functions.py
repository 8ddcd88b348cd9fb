"""Terms other than monomials: Sec. IV-D, and user-defined functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..checks import check_at_least, check_choice
from .base import AbstractLibrary
from .degrees import default_states


class FunctionTerms(AbstractLibrary):
    """One-argument functions of every state, or of every difference of two states.

    Attributes:
        n_states: Number of states, Nx.
        functions: Pairs of a name and a function; `*` in the name stands for the
            argument.
        of: `"states"`, or `"differences"` for x_i - x_j with i < j.

    Examples:
        >>> import jax.numpy as jnp
        >>> FunctionTerms(2, (("tanh(*)", jnp.tanh),), of="differences").names()
        ('tanh(x1 - x2)',)
    """

    n_states: int = eqx.field(static=True)
    functions: tuple[tuple[str, Callable], ...] = eqx.field(static=True)
    of: str = eqx.field(static=True)

    def __init__(
        self,
        n_states: int,
        functions: Sequence[tuple[str, Callable]],
        *,
        of: str = "states",
    ):
        self.of = check_choice("of", of, ("states", "differences"))
        least, remedy = (
            (1, "It is the number of states.")
            if of == "states"
            else (2, "A difference needs two states.")
        )
        self.n_states = check_at_least("n_states", n_states, least, remedy)
        _check_some("functions", functions)
        self.functions = tuple(functions)

    @property
    def _arguments(self) -> list[tuple[int, ...]]:
        if self.of == "states":
            return [(i,) for i in range(self.n_states)]
        return list(combinations(range(self.n_states), 2))

    @property
    def incidence(self) -> np.ndarray:
        once = np.zeros((self.n_states, len(self._arguments)), dtype=int)
        for j, states in enumerate(self._arguments):
            once[list(states), j] = 1
        return np.tile(once, (1, len(self.functions)))

    def names(self, states: Sequence[str] | None = None) -> tuple[str, ...]:
        states = default_states(self.n_states) if states is None else states
        arguments = [" - ".join(states[i] for i in which) for which in self._arguments]
        return tuple(
            name.replace("*", argument)
            for name, _ in self.functions
            for argument in arguments
        )

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch M"]:
        return _finite_or_zero(self._raw(x))

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.all(jnp.isfinite(self._raw(x)), axis=-1)

    def _raw(self, x: Array) -> Array:
        if self.of == "differences":
            first, second = (
                np.array(index) for index in zip(*self._arguments, strict=True)
            )
            x = x[..., first] - x[..., second]
        return jnp.concatenate([_apply(f, x, x) for _, f in self.functions], axis=-1)


def trigonometric_terms(
    n_states: int, frequencies: Sequence[float] = (1,), *, of: str = "states"
) -> FunctionTerms:
    """Sines and cosines of the states or of their differences.

    Examples:
        >>> trigonometric_terms(2, of="differences").names()
        ('sin(x1 - x2)', 'cos(x1 - x2)')
        >>> trigonometric_terms(1, frequencies=(2,)).names()
        ('sin(2 x1)', 'cos(2 x1)')
    """
    return FunctionTerms(
        n_states,
        [
            (f"{name}({_scaled(w, of)})", _stretched(function, w))
            for w in frequencies
            for name, function in (("sin", jnp.sin), ("cos", jnp.cos))
        ],
        of=of,
    )


def exponential_terms(
    n_states: int, rates: Sequence[float] = (1,), *, of: str = "states"
) -> FunctionTerms:
    """Exponentials of the states or of their differences.

    Examples:
        >>> exponential_terms(1, rates=(-1, 0.5)).names()
        ('exp(-x1)', 'exp(0.5 x1)')
    """
    return FunctionTerms(
        n_states,
        [(f"exp({_scaled(r, of)})", _stretched(jnp.exp, r)) for r in rates],
        of=of,
    )


def _scaled(factor: float, of: str) -> str:
    argument = "*" if of == "states" or factor == 1 else "(*)"
    if abs(factor) == 1:
        return argument if factor > 0 else f"-{argument}"
    return f"{factor:g} {argument}"


@dataclass(frozen=True)
class Stretched:
    """f(factor x), with the function and the factor kept as attributes.

    Attributes:
        function: f, written with `jax.numpy`.
        factor: Factor of its argument.

    Examples:
        >>> import jax.numpy as jnp
        >>> Stretched(jnp.negative, 3.0)(2.0).item()
        -6.0
    """

    function: Callable
    factor: float

    def __call__(self, x: Array | float) -> Array:
        return self.function(self.factor * x)


def _stretched(function: Callable, factor: float) -> Callable:
    return function if factor == 1 else Stretched(function, factor)


class UserTerms(AbstractLibrary):
    """User-defined terms, each a function of some of the states.

    Attributes:
        n_states: Number of states, Nx.
        terms: Maps a term's name to the indices (from 0) of the states it uses and
            a function of exactly these, written with `jax.numpy`.

    Examples:
        >>> import jax.numpy as jnp
        >>> ratio = lambda a, b: a / (1 + b)
        >>> library = UserTerms(3, {"x1 / (1 + x3)": ([0, 2], ratio)})
        >>> library(jnp.array([4.0, 0.0, 1.0])).tolist()
        [2.0]
        >>> library.incidence.ravel().tolist()
        [1, 0, 1]
    """

    n_states: int = eqx.field(static=True)
    terms: tuple[tuple[str, tuple[int, ...], Callable], ...] = eqx.field(static=True)

    def __init__(
        self, n_states: int, terms: Mapping[str, tuple[Sequence[int], Callable]]
    ):
        self.n_states = check_at_least(
            "n_states", n_states, 1, "It is the number of states."
        )
        for name, (states, _) in terms.items():
            if not all(0 <= i < n_states for i in states):
                raise ValueError(
                    f"`terms[{name!r}]` must name states 0 to {n_states - 1}, got "
                    f"{list(states)}. States are counted from 0."
                )
        _check_some("terms", terms)
        self.terms = tuple((name, tuple(s), f) for name, (s, f) in terms.items())

    @property
    def incidence(self) -> np.ndarray:
        out = np.zeros((self.n_states, len(self.terms)), dtype=int)
        for j, (_, states, _) in enumerate(self.terms):
            out[list(states), j] = 1
        return out

    def names(self, states: Sequence[str] | None = None) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(name for name, _, _ in self.terms)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch M"]:
        return _finite_or_zero(self._raw(x))

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.all(jnp.isfinite(self._raw(x)), axis=-1)

    def _raw(self, x: Array) -> Array:
        columns = [
            _apply(f, x[..., 0], *(x[..., i] for i in states))
            for _, states, f in self.terms
        ]
        return jnp.stack(columns, axis=-1)


def _check_some(name: str, terms: Sequence | Mapping) -> None:
    if not terms:
        raise ValueError(
            f"`{name}` must hold at least one term, got none. Leave the library out."
        )


def _finite_or_zero(values: Array) -> Array:
    return jnp.where(jnp.isfinite(values), values, 0)


def _apply(function: Callable, like: Array, *arguments: Array) -> Array:
    """Apply a scalar function elementwise, with finite derivatives.

    The result has the shape and type of `like`, even if the function is constant.

    Derivatives that are not finite are set to 0, as for roots at 0: a zero from
    `_finite_or_zero` times an infinite derivative would make every gradient NaN.
    """
    shape, dtype = like.shape, like.dtype

    def plain(*arguments: Array) -> Array:
        return jnp.broadcast_to(jnp.asarray(function(*arguments), dtype), shape)

    value = jax.custom_jvp(plain)

    @value.defjvp
    def _(points: tuple, tangents: tuple) -> tuple[Array, Array]:
        change = jnp.zeros_like(points[0])
        for i, tangent in enumerate(tangents):
            unit = [jnp.full_like(x, i == j) for j, x in enumerate(points)]
            slope = jax.jvp(plain, points, tuple(unit))[1]
            change += _finite_or_zero(slope) * tangent
        return value(*points), change

    return value(*arguments)
