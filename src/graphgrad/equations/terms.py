"""Structure of the terms of a library, used to write them in other formats."""

from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp

from ..library import (
    AbstractLibrary,
    FunctionTerms,
    Monomials,
    Polynomial,
    Shifted,
    Stretched,
    SumLibrary,
    UserTerms,
)

# Functions that SymPy and NumPy call by the same name.
FUNCTIONS = {
    jnp.sin: "sin",
    jnp.cos: "cos",
    jnp.tan: "tan",
    jnp.sinh: "sinh",
    jnp.cosh: "cosh",
    jnp.tanh: "tanh",
    jnp.exp: "exp",
    jnp.log: "log",
    jnp.sqrt: "sqrt",
}


class Monomial(NamedTuple):
    """A product of powers; the constant 1 has no powers.

    Attributes:
        powers: Pairs of variable index and power.
    """

    powers: tuple[tuple[int, Fraction], ...]


class Applied(NamedTuple):
    """A function of a multiple of one variable, or of a difference of two.

    Attributes:
        name: Name of the term.
        function: Name of the function, one of `FUNCTIONS` if `known`.
        known: Whether the function is one of `FUNCTIONS`.
        factor: Factor of the argument.
        variables: Index of the variable, or of the first and the second.
    """

    name: str
    function: str
    known: bool
    factor: float
    variables: tuple[int, ...]


class Opaque(NamedTuple):
    """A function of several variables whose form is not known.

    Attributes:
        name: Name of the term.
        variables: Indices of the variables it uses.
    """

    name: str
    variables: tuple[int, ...]


Term = Monomial | Applied | Opaque


def terms(library: AbstractLibrary, states: tuple[str, ...]) -> list[Term]:
    """The structure of each of the library's M terms.

    Examples:
        >>> import graphgrad as gg
        >>> terms(gg.Polynomial(2, 1, root=2), ("x1", "x2"))[1]
        Monomial(powers=((0, Fraction(1, 2)),))
    """
    match library:
        case SumLibrary():
            return [term for part in library.parts for term in terms(part, states)]
        case Polynomial():
            return [
                Monomial(
                    tuple(
                        (i, Fraction(int(power), library.root))
                        for i, power in enumerate(column)
                        if power
                    )
                )
                for column in (library.degrees * library.root).round().T
            ]
        case Shifted():
            return terms(library.centred, states)
        case Monomials():
            return [
                Monomial(tuple((i, Fraction(p)) for i, p in enumerate(powers) if p))
                for powers in library.exponents
            ]
        case FunctionTerms():
            return _function_terms(library, states)
        case UserTerms():
            return [Opaque(name, used) for name, used, _ in library.terms]
    names = library.names(states)
    return [
        Opaque(name, tuple(int(i) for i in column.nonzero()[0]))
        for name, column in zip(names, library.incidence.T, strict=True)
    ]


def _function_terms(library: FunctionTerms, states: tuple[str, ...]) -> list[Term]:
    """One function after another, each with all its arguments."""
    names, columns = library.names(states), library.incidence.T
    each = len(columns) // len(library.functions)
    found: list[Term] = []
    for j, (name, column) in enumerate(zip(names, columns, strict=True)):
        template, function = library.functions[j // each]
        variables = tuple(int(i) for i in column.nonzero()[0])
        inner, factor = function, 1.0
        if isinstance(function, Stretched):
            inner, factor = function.function, float(function.factor)
        if inner in FUNCTIONS:
            found.append(Applied(name, FUNCTIONS[inner], True, factor, variables))
        else:
            short = template.removesuffix("(*)")
            found.append(Applied(name, short, False, 1.0, variables))
    return found
