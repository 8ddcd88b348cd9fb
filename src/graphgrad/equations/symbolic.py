"""Equations as SymPy expressions."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..library import AbstractLibrary
from .prepare import prepare
from .terms import Applied, Monomial, Opaque, Term

if TYPE_CHECKING:
    import sympy


def to_sympy(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    digits: int | None = None,
    dynamics: str = "map",
    form: Any = None,
) -> "list[sympy.Expr]":
    """One SymPy expression per state: its rate, its next value or its change.

    The symbols are named after the states and inputs. Coefficients keep full double
    precision, though SymPy prints 15 digits. A user-defined function becomes an
    undefined function of the same name.

    Args:
        coefficients: Coefficients of the dynamics, of shape `(Nx, M)`.
        library: The terms.
        states: Names of the states, followed by those of the inputs.
        digits: Significant digits; all by default.
        dynamics: As for `equations`: whether an expression is dx/dt, x[t+1] or
            x[t+1] - x[t]. All are sums of the same form.
        form: Removed; use `dynamics`.

    Examples:
        >>> import graphgrad as gg
        >>> C = [[0, 1.1, 0, 0, -0.1, 0], [0, 0, 0.9, 0, 0.05, 0]]
        >>> prey, fox = gg.to_sympy(C, gg.Polynomial(2, 2), ["prey", "fox"])
        >>> prey
        -0.1*fox*prey + 1.1*prey
        >>> prey.subs({"prey": 10, "fox": 1})
        10.0000000000000
    """
    import sympy

    prepared = prepare(coefficients, library, states, dynamics, digits, form=form)
    symbols = [
        sympy.Symbol(name) - sympy.Float(c) if c else sympy.Symbol(name)
        for name, c in zip(prepared.variables, prepared.origin, strict=True)
    ]
    return [
        sympy.Add(*(sympy.Float(v) * _term(prepared.terms[j], symbols) for v, j in row))
        for row in prepared.rows()
    ]


def _term(term: Term, symbols: "list[sympy.Expr]") -> "sympy.Expr":
    import sympy

    match term:
        case Monomial(powers):
            return sympy.Mul(*(_power(symbols[i], power) for i, power in powers))
        case Applied(_, function, known, factor, used):
            inside = symbols[used[0]]
            if len(used) > 1:
                inside = inside - symbols[used[1]]
            whole = float(factor).is_integer()
            scale = sympy.Integer(int(factor)) if whole else sympy.Float(factor)
            applied = getattr(sympy, function) if known else sympy.Function(function)
            return applied(scale * inside)
        case Opaque(name, used):
            return sympy.Function(name)(*(symbols[i] for i in used))


def _power(x: "sympy.Expr", power: Fraction) -> "sympy.Expr":
    import sympy

    exponent = sympy.Rational(power.numerator, power.denominator)
    if power.denominator % 2 == 0 or power.denominator == 1:
        return x**exponent
    # An odd root of a negative number is negative here; SymPy's own is complex.
    size = sympy.Abs(x) ** exponent
    return size if power.numerator % 2 == 0 else sympy.sign(x) * size
