"""Equations as NumPy functions and as their source."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..library import AbstractLibrary
from .prepare import prepare
from .terms import Applied, Monomial, Term


def numpy_function(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    digits: int | None = None,
    form: str = "map",
    dt: float | None = None,
) -> Callable[..., np.ndarray]:
    """A NumPy function of states `(..., Nx)` that gives their next values or rates.

    With inputs it is a function of the states and the inputs `(..., Nu)`. Where a term
    has no real value, NumPy says so: the value is NaN.

    Args:
        coefficients: C, of shape `(Nx, M)`.
        library: The terms; a term that a user wrote is refused.
        states: Names of the states, and then of the inputs.
        digits: Significant digits; all if not given.
        form: `"map"` for the next value, C; `"rate"` for dx/dt, (C - I) / dt, as
            solvers of differential equations want it.
        dt: Time step, for the rate.

    Examples:
        >>> import graphgrad as gg
        >>> system = gg.systems.lorenz63(dt=0.02)
        >>> step = gg.numpy_function(system.coefficients(), system.library())
        >>> step([1.0, 2.0, 0.0]).tolist()
        [1.2000000000000002, 2.52, 0.04]
    """
    source = numpy_source(
        coefficients, library, states, digits=digits, form=form, dt=dt
    )
    room: dict[str, Any] = {}
    exec(source, room)
    return room["step" if form == "map" else "rate"]


def numpy_source(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    digits: int | None = None,
    form: str = "map",
    dt: float | None = None,
) -> str:
    """Python source of the function `step` or `rate` that needs only NumPy.

    Args:
        coefficients: C, of shape `(Nx, M)`.
        library: The terms; a term that a user wrote is refused.
        states: Names of the states, and then of the inputs.
        digits: Significant digits; all if not given.
        form: `"map"` for `step`, C; `"rate"` for `rate`, (C - I) / dt.
        dt: Time step, for the rate.

    Examples:
        >>> import graphgrad as gg
        >>> system = gg.systems.lorenz63(dt=0.02)
        >>> print(gg.numpy_source(system.coefficients(), system.library(), digits=3))
        import numpy as np
        <BLANKLINE>
        <BLANKLINE>
        def step(x):
            x = np.asarray(x, dtype=float)
            x1, x2, x3 = np.moveaxis(x, -1, 0)
            out = np.empty((*x1.shape, 3))
            out[..., 0] = 0.8 * x1 + 0.2 * x2
            out[..., 1] = 0.56 * x1 + 0.98 * x2 - 0.02 * x1 * x3
            out[..., 2] = 0.947 * x3 + 0.02 * x1 * x2
            return out
        <BLANKLINE>
    """
    prepared = prepare(coefficients, library, states, form, dt, digits)
    n_states = len(prepared.states)
    xs = [f"x{i + 1}" for i in range(n_states)]
    us = [f"u{i + 1}" for i in range(len(prepared.variables) - n_states)]
    used = {j for row in prepared.rows() for _, j in row}
    texts = {j: _term(prepared.terms[j], [*xs, *us]) for j in sorted(used)}
    arguments = {"x": xs, "u": us} if us else {"x": xs}
    lines = ["import numpy as np", "", ""]
    lines.append(f"def {'step' if form == 'map' else 'rate'}({', '.join(arguments)}):")
    for short, name in zip([*xs, *us], prepared.variables, strict=True):
        if short != name:
            lines.append(f"    # {short}: {str(name)!a}")
    for argument, columns in arguments.items():
        lines += [
            f"    {argument} = np.asarray({argument}, dtype=float)",
            f"    {', '.join(columns)}{',' * (len(columns) == 1)} = "
            f"np.moveaxis({argument}, -1, 0)",
        ]
    shape = "np.broadcast_shapes(x1.shape, u1.shape)" if us else "x1.shape"
    lines.append(f"    out = np.empty((*{shape}, {n_states}))")
    for i, row in enumerate(prepared.rows()):
        text = "".join(
            f" {'-' if value < 0 else '+'} "
            + " * ".join(filter(None, (repr(abs(value)), texts[j])))
            for value, j in row
        )
        first = "-" if text.startswith(" - ") else ""
        lines.append(f"    out[..., {i}] = {first}{text[3:] or '0.0'}")
    return "\n".join([*lines, "    return out", ""])


def _term(term: Term, variables: list[str]) -> str:
    match term:
        case Monomial(powers):
            return " * ".join(_power(variables[i], power) for i, power in powers)
        case Applied(_, function, True, factor, used):
            inside = " - ".join(variables[i] for i in used)
            if factor != 1:
                inside = (
                    f"{factor!r} * ({inside})" if used[1:] else f"{factor!r} * {inside}"
                )
            return f"np.{function}({inside})"
        case other:
            raise ValueError(
                f"`library` must hold terms that NumPy can compute, got {other.name!r}"
                ", a function of yours. Write the equations with `to_sympy`, and give "
                "its `lambdify` your function."
            )


def _power(x: str, power: Fraction) -> str:
    if power == 1:
        return x
    if power.denominator == 1:
        return f"{x}**{power.numerator}"
    if power.denominator % 2 == 0:
        return f"{x}**({power})"
    # An odd root of a negative number is negative; NumPy's own is NaN.
    size = f"np.abs({x})**({power})"
    return size if power.numerator % 2 == 0 else f"np.sign({x}) * {size}"
