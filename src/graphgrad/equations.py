"""Equations as text."""

from collections.abc import Sequence
from typing import Any

from .checks import check_finite, check_shape
from .library import AbstractLibrary
from .library.degrees import default_states


def equations(
    coefficients: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    digits: int = 3,
) -> list[str]:
    """One line a state: its next value from the terms that are not zero.

    Args:
        coefficients: C, of shape `(Nx, M)`.
        library: The terms.
        states: Names of the states.
        digits: Significant digits.

    Examples:
        >>> import graphgrad as gg
        >>> system = gg.systems.lorenz63(dt=0.02)
        >>> for line in gg.equations(system.coefficients(), system.library()):
        ...     print(line)
        x1[t+1] = 0.8 x1 + 0.2 x2
        x2[t+1] = 0.56 x1 + 0.98 x2 - 0.02 x1 x3
        x3[t+1] = 0.947 x3 + 0.02 x1 x2
    """
    states = default_states(library.n_states) if states is None else states
    names = library.names(states)
    matrix = check_finite("coefficients", coefficients, "They come from a fit.")
    shape = (library.n_states, library.n_terms)
    check_shape("coefficients", matrix.shape, shape, "One row a state, column a term.")
    lines = []
    for state, row in zip(states, matrix.tolist(), strict=True):
        text = "".join(
            f" {'-' if value < 0 else '+'} {_product(abs(value), name, digits)}"
            for value, name in zip(row, names, strict=True)
            if value != 0
        )
        # The first sign stands alone: nothing for plus, no blank after minus.
        first = "-" if text.startswith(" - ") else ""
        lines.append(f"{state}[t+1] = {first}{text[3:] or '0'}")
    return lines


def _product(size: float, name: str, digits: int) -> str:
    number = f"{size:.{digits}g}"
    return number if name == "1" else f"{number} {name}"
