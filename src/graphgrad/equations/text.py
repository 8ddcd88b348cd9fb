"""Equations as text."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from ..checks import check_at_least, check_numbers, check_shape
from ..library import AbstractLibrary
from ..registries import left_side
from .prepare import Prepared, prepare


def equations(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    digits: int = 3,
    standard_errors: Any = None,
    dynamics: str = "map",
    align: bool = False,
    form: Any = None,
) -> list[str]:
    """One line per state: its equation, with the nonzero terms.

    Args:
        coefficients: Coefficients of the dynamics, of shape `(Nx, M)`. If the library
            has more variables than there are rows, the last variables are inputs.
        library: The terms.
        states: Names of the states, followed by those of the inputs.
        digits: Significant digits.
        standard_errors: Standard errors of the coefficients, `(Nx, M)`. A coefficient
            is then rounded to the second digit of its standard error; `digits` applies
            where the error is 0 or unknown (NaN).
        dynamics: What the sum of the terms is: `"flow"` for dx/dt, `"map"` for x[t+1],
            `"difference"` for x[t+1] - x[t].
        align: Whether to align each term in one column across all lines.
        form: Removed; use `dynamics`.

    Examples:
        >>> import graphgrad as gg
        >>> system = gg.systems.lorenz63(dt=0.02)
        >>> A, library = system.coefficients(), system.library()
        >>> for line in gg.equations(A, library, dynamics="flow", align=True):
        ...     print(line)
        dx1/dt = -10 x1 + 10 x2
        dx2/dt =  28 x1 -  1 x2                        - 1 x1 x3
        dx3/dt =                - 2.67 x3 + 1 x1 x2
        >>> C = system.coefficients(dynamics="map")
        >>> for line in gg.equations(C, library):
        ...     print(line)
        x1[t+1] = 0.8 x1 + 0.2 x2
        x2[t+1] = 0.56 x1 + 0.98 x2 - 0.02 x1 x3
        x3[t+1] = 0.947 x3 + 0.02 x1 x2
        >>> gg.equations(C, library, standard_errors=0.0123 * (C != 0))[0]
        'x1[t+1] = 0.800 x1 + 0.200 x2'
    """
    prepared = prepare(coefficients, library, states, dynamics, form=form)
    return equation_lines(prepared, digits, standard_errors, align=align)


def equation_lines(
    prepared: Prepared,
    digits: int = 3,
    standard_errors: Any = None,
    *,
    align: bool = False,
) -> list[str]:
    """One line per state, from coefficients and term names only.

    Examples:
        >>> matrix = np.array([[-2.0, 0.91234]])
        >>> equation_lines(Prepared(matrix, ("x",), ("1", "x"), [], "flow"))
        ['dx/dt = -2 + 0.912 x']
    """
    digits = check_at_least("digits", digits, 1, "It counts significant digits.")
    numbers = sizes(prepared, digits, standard_errors)
    left = [left_side(state, prepared.dynamics) for state in prepared.states]
    if align:
        return _aligned(left, numbers, prepared)
    lines = []
    for start, row, values in zip(left, numbers, prepared.matrix, strict=True):
        text = "".join(
            f" {'-' if values[j] < 0 else '+'} {_product(number, prepared.names[j])}"
            for j, number in row.items()
        )
        # The leading sign: nothing for plus, no space after minus.
        first = "-" if text.startswith(" - ") else ""
        lines.append(f"{start} = {first}{text[3:] or '0'}")
    return lines


def rounded(value: float, digits: int, error: float = np.nan) -> str:
    """A positive number rounded to `digits`, or to the second digit of its error.

    Examples:
        >>> rounded(0.80351, 3), rounded(0.80351, 3, error=0.0123)
        ('0.804', '0.804')
        >>> rounded(0.8, 3, error=0.00061), rounded(4567.0, 3, error=100)
        ('0.80000', '4570')
    """
    if not (np.isfinite(error) and error > 0):
        return f"{value:.{digits}g}"
    # The second digit of the error; a double has at most 17 digits.
    last = max(Decimal(f"{error:.1e}").adjusted() - 1, Decimal(value).adjusted() - 16)
    exact = Decimal(value).quantize(Decimal(1).scaleb(last))
    if not exact:
        return f"{value:.1g}"
    return f"{exact:f}" if -5 < exact.adjusted() < 6 else f"{exact:e}"


def sizes(
    prepared: Prepared, digits: int, standard_errors: Any
) -> list[dict[int, str]]:
    """Absolute values of the nonzero coefficients as text, by column."""
    errors = np.full(prepared.matrix.shape, np.nan)
    if standard_errors is not None:
        remedy = "One error for each coefficient."
        errors = check_numbers("standard_errors", standard_errors, remedy)
        check_shape("standard_errors", errors.shape, prepared.matrix.shape, remedy)
    return [
        {j: rounded(abs(value), digits, float(errors[i, j])) for value, j in row}
        for i, row in enumerate(prepared.rows())
    ]


def _aligned(
    left: list[str], numbers: list[dict[int, str]], prepared: Prepared
) -> list[str]:
    used = sorted({j for row in numbers for j in row})
    wide = {j: max(len(row[j]) for row in numbers if j in row) for j in used}
    margin = max(map(len, left))
    lines = []
    for start, row, values in zip(left, numbers, prepared.matrix, strict=True):
        text = ""
        for column, j in enumerate(used):
            cell = _product(f"{row.get(j, ''):>{wide[j]}}", prepared.names[j])
            if j not in row:
                sign, cell = " ", " " * len(cell)
            else:
                first = all(k >= j for k in row)
                sign = "-" if values[j] < 0 else " " if first else "+"
            # No space after the leading sign.
            text += f"{sign}{cell}" if column == 0 else f" {sign} {cell}"
        lines.append(f"{start:<{margin}} = {text if row else ' 0'}".rstrip())
    return lines


def _product(number: str, name: str) -> str:
    return number if name == "1" else f"{number} {name}"
