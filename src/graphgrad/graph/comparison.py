"""Comparison of an estimated graph with the true one, edge by edge: Fig. 5."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..library import AbstractLibrary, variable_names
from .adjacency import present

MARKS = {
    "right": ("=", "right edge, right terms"),
    "wrong terms": ("~", "right edge, wrong terms"),
    "missed": ("-", "missed"),
    "invented": ("+", "invented"),
    "absent": (".", "rightly absent"),
}


class GraphComparison(NamedTuple):
    """The verdict on every possible edge.

    Attributes:
        verdicts: Strings of shape `(Nx, Nx)`; `[a, b]` is the verdict on the edge from
            b to a: `"right"` (edge and terms), `"wrong terms"` (right edge),
            `"missed"`, `"invented"` or `"absent"` (from both).
        states: Names of the states, followed by those of the inputs.
    """

    verdicts: np.ndarray
    states: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Number of edges per verdict."""
        return {kind: int(np.sum(self.verdicts == kind)) for kind in MARKS}

    def table(self) -> str:
        """All verdicts as text: a row shows which states act on its state."""
        margin = max(map(len, self.states))
        lines = [" " * margin + "".join(f"  {state}" for state in self.states)]
        for state, row in zip(self.states, self.verdicts, strict=False):
            cells = (
                f"  {MARKS[kind][0]:>{len(name)}}"
                for kind, name in zip(row, self.states, strict=True)
            )
            lines.append(f"{state:<{margin}}" + "".join(cells))
        for kind, count in self.counts.items():
            mark, meaning = MARKS[kind]
            lines.append(f"{mark} {meaning}: {count}")
        return "\n".join(lines)


def compare_graphs(
    coefficients: Any,
    truth: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    zero_threshold: float = 0.0,
) -> GraphComparison:
    """The verdict on every possible edge, as Fig. 5 colours those of Lorenz 96.

    An edge is right if its terms are exactly the true ones.

    Args:
        coefficients: Estimated C, of shape `(Nx, M)`.
        truth: The true C.
        library: The terms of both.
        states: Names of the states, followed by those of the inputs.
        zero_threshold: Coefficients below this size count as zero, in both. The paper
            uses 1e-6 (Sec. V-A) where estimates are not exactly sparse.

    Examples:
        >>> import graphgrad as gg
        >>> library = gg.Polynomial(2, 2)  # 1, x1, x2, x1^2, x1 x2, x2^2
        >>> truth = [[0, 0.9, 0, 0, 0.1, 0], [0, 0, 0.5, 0, 0, 0]]
        >>> found = [[0, 0.8, 0.1, 0, 0, 0], [0, 0, 0.5, 0, 0, 0]]
        >>> print(compare_graphs(found, truth, library).table())
            x1  x2
        x1   ~   ~
        x2   .   =
        = right edge, right terms: 1
        ~ right edge, wrong terms: 2
        - missed: 0
        + invented: 0
        . rightly absent: 1
    """
    found, enters = present(coefficients, library.incidence, zero_threshold)
    true, _ = present(truth, library.incidence, zero_threshold, name="truth")
    if true.shape != found.shape:
        raise ValueError(
            f"`truth` must have the shape of `coefficients`, {found.shape}, got "
            f"{true.shape}. Give both for the same states and terms."
        )
    names = variable_names(library.n_states, len(found), states)
    # Terms of each edge, [a, b, j].
    found, true = found[:, None] & enters, true[:, None] & enters
    has, should = found.any(axis=-1), true.any(axis=-1)
    verdicts = np.select(
        [~has & ~should, ~should, ~has, (found == true).all(axis=-1)],
        ["absent", "invented", "missed", "right"],
        "wrong terms",
    )
    return GraphComparison(verdicts, names)
