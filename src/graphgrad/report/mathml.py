"""Equations as MathML, which browsers render natively.

An equation is a row of small formulas, so that it can wrap between terms on a narrow
screen. MathML Core: https://www.w3.org/TR/mathml-core/.
"""

import re
from fractions import Fraction

import numpy as np

from ..equations.prepare import Prepared
from ..equations.text import equation_lines
from .findings import Findings
from .text import number, safe

MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
THIN = '<mspace width="0.17em"></mspace>'


def symbol(name: str, time: str = "", power: Fraction = Fraction(1)) -> str:
    """A variable; digits at the end of its name become a subscript.

    Examples:
        >>> symbol("x1")
        '<msub><mi>x</mi><mrow><mn>1</mn></mrow></msub>'
        >>> symbol("fox", power=Fraction(2))
        '<msup><mtext>fox</mtext><mn>2</mn></msup>'
    """
    found = re.fullmatch(r"(.*?[^\W\d])_?([0-9]+)", name, re.DOTALL)
    base, digits = found.groups() if found else (name, "")
    letter = f"<mi>{safe(base)}</mi>" if len(base) == 1 else _text(base)
    below = [f"<mn>{digits}</mn>"] * bool(digits)
    if time:
        below.append("<mi>t</mi>" + "<mo>+</mo><mn>1</mn>" * (time == "t+1"))
    index = f"<mrow>{'<mo>,</mo>'.join(below)}</mrow>"
    above = f"<mn>{power}</mn>"
    match bool(below), power != 1:
        case True, True:
            return f"<msubsup>{letter}{index}{above}</msubsup>"
        case True, False:
            return f"<msub>{letter}{index}</msub>"
        case False, True:
            return f"<msup>{letter}{above}</msup>"
    return letter


def term(findings: Findings, j: int, *, timed: bool = True) -> str:
    """The factor after the coefficient of a term; empty for the constant."""
    if findings.monomials is not None and not findings.monomials[j]:
        return _text(findings.terms[j])
    moving = timed and findings.dynamics != "flow"
    # Inputs act during the step.
    times = ["t"] * len(findings.states) + ["t+1"] * len(findings.inputs)
    return THIN.join(
        symbol(name, time if moving else "", Fraction(power).limit_denominator(1000))
        for name, time, power in zip(
            findings.variables, times, findings.incidence[:, j].tolist(), strict=True
        )
        if power
    )


def left_side(findings: Findings, a: int) -> str:
    """Left-hand side of an equation: a state's rate, its next value or its change."""
    name = findings.states[a]
    if findings.dynamics == "flow":
        time = "<mi>d</mi><mi>t</mi>"
        above = f"<mrow><mi>d</mi>{symbol(name)}</mrow>"
        return f"<mfrac>{above}<mrow>{time}</mrow></mfrac>"
    following = symbol(name, "t+1")
    if findings.dynamics == "map":
        return following
    return f"{following}<mo>{MINUS}</mo>{symbol(name, 't')}"


def equation(findings: Findings, a: int) -> str:
    """One equation as HTML, with a plain-text label for screen readers."""
    row, errors = findings.coefficients[a].tolist(), findings.standard_errors
    parts = []
    for j in np.flatnonzero(row).tolist():
        error = np.nan if errors is None else float(errors[a, j])
        parts.append(
            formula(
                sign(row[j] < 0, first=not parts)
                + numeral(abs(row[j]), error)
                + THIN
                + term(findings, j)
            )
        )
    left = formula(left_side(findings, a) + "<mo>=</mo>")
    right = " ".join(parts) or formula("<mn>0</mn>")
    reading = safe(plain_equation(findings, a))
    return f'<p class="equation" role="math" aria-label="{reading}">{left} {right}</p>'


def numeral(value: float, error: float = np.nan) -> str:
    """A positive number, with a power of ten if it is very large or very small.

    Examples:
        >>> numeral(2e-7)
        '<mn>2</mn><mo>...</mo><msup><mn>10</mn><mn>...7</mn></msup>'
    """
    mantissa, _, exponent = number(value, error).partition("e")
    if not exponent:
        return f"<mn>{mantissa}</mn>"
    power = str(int(exponent)).replace("-", MINUS)
    return (
        f"<mn>{mantissa}</mn><mo>{TIMES}</mo><msup><mn>10</mn><mn>{power}</mn></msup>"
    )


def sign(minus: bool, *, first: bool) -> str:
    """The sign before a number; a leading plus is omitted."""
    if first:
        return f'<mo form="prefix">{MINUS}</mo>' if minus else ""
    return f'<mo lspace="0.1em" rspace="0.3em">{MINUS if minus else "+"}</mo>'


def plain_equation(findings: Findings, a: int) -> str:
    """One equation as a line of text.

    Examples:
        >>> findings = Findings(title="", states=("x",), terms=("1", "x"),
        ...     incidence=np.array([[0.0, 1.0]]), coefficients=np.array([[2.0, -0.5]]))
        >>> plain_equation(findings, 0)
        'x[t+1] = 2 - 0.5 x'
    """
    row = np.asarray(findings.coefficients[a : a + 1], float)
    errors = findings.standard_errors
    states, terms = (findings.states[a],), tuple(findings.terms)
    prepared = Prepared(row, states, terms, [], findings.dynamics)
    known = None if errors is None else errors[a : a + 1]
    (line,) = equation_lines(prepared, standard_errors=known)
    return line


def formula(inside: str) -> str:
    """An inline formula."""
    return f"<math>{inside}</math>"


def _text(name: str) -> str:
    return f"<mtext>{safe(name)}</mtext>"
