"""Equations as LaTeX."""

import re
from collections.abc import Sequence
from typing import Any

from ..library import AbstractLibrary
from .prepare import Prepared, prepare
from .terms import Applied, Monomial
from .text import sizes

_ESCAPES = {
    "\\": r"\backslash{}",
    "^": r"\hat{\ }",
    "~": r"\sim{}",
    " ": r"\ ",
    **{c: f"\\{c}" for c in "_{}$%#&"},
}


def latex(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    digits: int | None = 3,
    standard_errors: Any = None,
    dynamics: str = "map",
    form: Any = None,
) -> list[str]:
    r"""One line of LaTeX per state, for math mode.

    Digits at the end of a name become a subscript; names of more than one letter are
    set upright. A user-defined term is written as its name.

    Args:
        coefficients: Coefficients of the dynamics, of shape `(Nx, M)`.
        library: The terms.
        states: Names of the states, followed by those of the inputs.
        digits: Significant digits; None for all.
        standard_errors: As for `equations`: a coefficient is rounded to the second
            digit of its standard error.
        dynamics: As for `equations`.
        form: Removed; use `dynamics`.

    Examples:
        >>> import graphgrad as gg
        >>> library = gg.Polynomial(2, 2)
        >>> C = [[0, 1.1, 0, 0, -0.1, 0], [0, 0, 0.9, 0, 0.05, 0]]
        >>> print(gg.latex(C, library)[0])
        x_{1,t+1} = 1.1\,x_{1,t} - 0.1\,x_{1,t}\,x_{2,t}
        >>> print(gg.latex(C, library, ["prey", "fox"], dynamics="flow")[1])
        \frac{\mathrm{d}}{\mathrm{d}t}\mathrm{fox} = 0.9\,\mathrm{fox} + ...
    """
    if standard_errors is None:
        prepared = prepare(coefficients, library, states, dynamics, digits, form=form)
        numbers = [
            {j: _number(_all_digits(value)) for value, j in row}
            for row in prepared.rows()
        ]
    else:
        prepared = prepare(coefficients, library, states, dynamics, form=form)
        numbers = [
            {j: _number(size) for j, size in row.items()}
            for row in sizes(prepared, digits or 17, standard_errors)
        ]
    flows = dynamics == "flow"
    n_states = len(prepared.states)
    # Inputs act during the step.
    variables = [
        _symbol(name, None if flows else "t" if i < n_states else "t+1")
        for i, name in enumerate(prepared.variables)
    ]
    variables = [
        rf"\left({name} {'-' if c > 0 else '+'} {_number(f'{abs(c):.8g}')}\right)"
        if c
        else name
        for name, c in zip(variables, prepared.origin, strict=True)
    ]
    factors = [_term(prepared, j, variables) for j in range(len(prepared.terms))]
    lines = []
    for i, state in enumerate(prepared.states):
        text = "".join(
            (" - " if prepared.matrix[i, j] < 0 else " + ")
            + r"\,".join(filter(None, (number, factors[j])))
            for j, number in numbers[i].items()
        )
        first = "-" if text.startswith(" - ") else ""
        lines.append(f"{_left(state, dynamics)} = {first}{text[3:] or '0'}")
    return lines


def _left(state: str, dynamics: str) -> str:
    """Left-hand side of an equation."""
    if dynamics == "flow":
        return rf"\frac{{\mathrm{{d}}}}{{\mathrm{{d}}t}}{_symbol(state, None)}"
    following = _symbol(state, "t+1")
    return following if dynamics == "map" else f"{following} - {_symbol(state, 't')}"


def _symbol(name: str, time: str | None) -> str:
    made = re.fullmatch(r"(.+)\[(t(?:-\d+)?)\]", name, re.DOTALL)
    if made:  # a delayed state or input
        return _symbol(*made.groups())
    made = re.fullmatch(r"(.+)\((t - [\d.e+-]+)\)", name, re.DOTALL)
    if made:
        return rf"{_symbol(made[1], None)}\left({made[2]}\right)"
    made = re.fullmatch(r"(sin|cos)\((2 pi t/)?(.+)\)", name, re.DOTALL)
    if made:  # a season
        inside = rf"2\pi t/{made[3]}" if made[2] else _upright(made[3])
        return rf"\{made[1]}\left({inside}\right)"
    found = re.fullmatch(r"(.*?[^\W\d])_?([0-9]+)", name, re.DOTALL)
    base, number = found.groups() if found else (name, None)
    below = ",".join(filter(None, (number, time)))
    plain = len(base) == 1 and base.isascii() and base.isalpha()
    return (base if plain else _upright(base)) + (f"_{{{below}}}" if below else "")


def _upright(text: str) -> str:
    # Non-printable characters would break the line.
    shown = "".join(c if c.isprintable() else " " for c in text)
    return rf"\mathrm{{{''.join(_ESCAPES.get(c, c) for c in shown)}}}"


def _all_digits(value: float) -> str:
    return repr(abs(value)).removesuffix(".0")


def _number(shown: str) -> str:
    mantissa, _, exponent = shown.partition("e")
    return mantissa + (rf" \times 10^{{{int(exponent)}}}" if exponent else "")


def _term(prepared: Prepared, j: int, variables: list[str]) -> str:
    match prepared.terms[j]:
        case Monomial(powers):
            return r"\,".join(
                variables[i] + ("" if power == 1 else f"^{{{power}}}")
                for i, power in powers
            )
        case Applied(_, function, True, factor, used):
            inside = " - ".join(variables[i] for i in used)
            if factor != 1 and len(used) > 1:
                inside = rf"\left({inside}\right)"
            if abs(factor) != 1:
                inside = rf"{_number(_all_digits(factor))}\,{inside}"
            inside = f"-{inside}" if factor < 0 else inside
            if function == "sqrt":
                return rf"\sqrt{{{inside}}}"
            return rf"\{function}\left({inside}\right)"
        case other:
            return _upright(other.name)
