"""Equations as NumPy functions and as Python source code."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..checks import check_at_least, check_positive
from ..library import AbstractLibrary, from_origin
from .prepare import Prepared, prepare
from .terms import Applied, Monomial, Term


def numpy_function(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    digits: int | None = None,
    dynamics: str = "map",
    step: float | None = None,
    substeps: int = 1,
    form: Any = None,
) -> Callable[..., np.ndarray]:
    """A NumPy function of states `(..., Nx)`: `rate(t, x)` of a flow, or `step(x)`.

    The rate is dx/dt in the form that ODE solvers expect, such as SciPy's `solve_ivp`;
    the time is ignored. A step returns the next states. With inputs there is one more
    argument, `u` of shape `(..., Nu)`. Where a term has no real value, the result is
    NaN.

    Args:
        coefficients: Coefficients of the dynamics, of shape `(Nx, M)`.
        library: The terms; user-defined terms are rejected.
        states: Names of the states, followed by those of the inputs.
        digits: Significant digits; all by default.
        dynamics: `"flow"` for the rate, `"map"` and `"difference"` for a step.
        step: For a flow, a length of time: return the step over it instead of the rate,
            with inputs held constant.
        substeps: Number of classical Runge-Kutta steps per `step`; doubling it reduces
            the error by a factor of 16.
        form: Removed; use `dynamics`.

    Examples:
        >>> import graphgrad as gg
        >>> from scipy.integrate import solve_ivp
        >>> system = gg.systems.lorenz63(dt=0.02)
        >>> A, library = system.coefficients(), system.library()
        >>> rate = gg.numpy_function(A, library, dynamics="flow")
        >>> rate(0.0, [1.0, 2.0, 0.0]).tolist()
        [10.0, 26.0, 2.0]
        >>> ends = solve_ivp(rate, (0, 0.1), [1.0, 2.0, 0.0], rtol=1e-9).y[:, -1]
        >>> step = gg.numpy_function(A, library, dynamics="flow", step=0.1, substeps=8)
        >>> abs(step([1.0, 2.0, 0.0]) - ends).max() < 1e-4
        np.True_
    """
    source = numpy_source(
        coefficients,
        library,
        states,
        digits=digits,
        dynamics=dynamics,
        step=step,
        substeps=substeps,
        form=form,
    )
    room: dict[str, Any] = {}
    exec(source, room)
    return room["rate" if dynamics == "flow" and step is None else "step"]


def numpy_source(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    digits: int | None = None,
    dynamics: str = "map",
    step: float | None = None,
    substeps: int = 1,
    form: Any = None,
) -> str:
    """Python source of the function `rate` or `step`; it needs only NumPy.

    Args:
        coefficients: Coefficients of the dynamics, of shape `(Nx, M)`.
        library: The terms; user-defined terms are rejected.
        states: Names of the states, followed by those of the inputs.
        digits: Significant digits; all by default.
        dynamics: As for `numpy_function`.
        step: As for `numpy_function`; the source then also contains the rate.
        substeps: As for `numpy_function`.
        form: Removed; use `dynamics`.

    Examples:
        >>> import graphgrad as gg
        >>> system = gg.systems.lorenz63(dt=0.02)
        >>> A, library = system.coefficients(), system.library()
        >>> print(gg.numpy_source(A, library, dynamics="flow", digits=3))
        import numpy as np
        <BLANKLINE>
        <BLANKLINE>
        def rate(t, x):
            x = np.asarray(x, dtype=float)
            x1, x2, x3 = np.moveaxis(x, -1, 0)
            out = np.empty((*x1.shape, 3))
            out[..., 0] = -10.0 * x1 + 10.0 * x2
            out[..., 1] = 28.0 * x1 - 1.0 * x2 - 1.0 * x1 * x3
            out[..., 2] = -2.67 * x3 + 1.0 * x1 * x2
            return out
        <BLANKLINE>
    """
    prepared = prepare(coefficients, library, states, dynamics, digits, form=form)
    lines = ["import numpy as np", "", "", *_function(prepared)]
    if step is not None:
        if dynamics != "flow":
            raise ValueError(
                f"`step` must be left out for dynamics {dynamics!r}, got {step!r}. The "
                "function already is one step of the data."
            )
        step = check_positive("step", step, "It is a length of time.")
        substeps = check_at_least("substeps", substeps, 1, "1 is one Runge-Kutta step.")
        lines += ["", "", *_runge_kutta(prepared, step, substeps)]
    elif substeps != 1:
        raise ValueError(
            f"`substeps` must be left out without `step`, got {substeps!r}. Give "
            "`step`, the length of time that they divide."
        )
    return "\n".join([*lines, ""])


def _function(prepared: Prepared) -> list[str]:
    """The rate of a flow, or the step of a map or difference."""
    flows = prepared.dynamics == "flow"
    n_states = len(prepared.states)
    xs = [f"x{i + 1}" for i in range(n_states)]
    us = [f"u{i + 1}" for i in range(len(prepared.variables) - n_states)]
    used = {j for row in prepared.rows() for _, j in row}
    shifted = [
        from_origin(name, c, repr(abs(c)))
        for name, c in zip([*xs, *us], prepared.origin, strict=True)
    ]
    texts = {j: _term(prepared.terms[j], shifted) for j in sorted(used)}
    arguments = {"x": xs, "u": us} if us else {"x": xs}
    names = ", ".join(["t"] * flows + list(arguments))
    lines = [f"def {'rate' if flows else 'step'}({names}):"]
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
        if prepared.dynamics == "difference":
            text = f" + {xs[i]}{text}"
        first = "-" if text.startswith(" - ") else ""
        lines.append(f"    out[..., {i}] = {first}{text[3:] or '0.0'}")
    return [*lines, "    return out"]


def _runge_kutta(prepared: Prepared, step: float, substeps: int) -> list[str]:
    """One step of a flow by the classical Runge-Kutta method: Kutta, 1901."""
    u = ", u" * (len(prepared.variables) > len(prepared.states))
    many = "one Runge-Kutta step" if substeps == 1 else f"{substeps} Runge-Kutta steps"
    return [
        f"def step(x{u}):",
        f"    # A time of {step!r} in {many}.",
        "    x = np.asarray(x, dtype=float)",
        f"    h = {step / substeps!r}",
        f"    for _ in range({substeps}):",
        f"        k1 = rate(0.0, x{u})",
        f"        k2 = rate(0.0, x + h / 2 * k1{u})",
        f"        k3 = rate(0.0, x + h / 2 * k2{u})",
        f"        k4 = rate(0.0, x + h * k3{u})",
        "        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)",
        "    return x",
    ]


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
                ", a user-defined function. Write the equations with `to_sympy`, and "
                "pass your function to its `lambdify`."
            )


def _power(x: str, power: Fraction) -> str:
    if power == 1:
        return x
    if power.denominator == 1:
        return f"{x}**{power.numerator}"
    if power.denominator % 2 == 0:
        return f"{x}**({power})"
    # An odd root of a negative number is negative; NumPy returns NaN.
    size = f"np.abs({x})**({power})"
    return size if power.numerator % 2 == 0 else f"np.sign({x}) * {size}"
