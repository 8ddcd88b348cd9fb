"""Descriptions of the kinds of dynamics, and the default kind."""

from .registries import SOLVERS

MOTIONS = {
    "flow": "flow, dx/dt = A phi(x)",
    "map": "map, x[t+1] = C phi(x)",
    "difference": "difference, x[t+1] - x[t] = A phi(x)",
}
"""Short descriptions of the dynamics."""


def left_side(state: str, dynamics: str) -> str:
    """Left-hand side of an equation, as text.

    Examples:
        >>> [left_side("fox", kind) for kind in ("flow", "map", "difference")]
        ['dfox/dt', 'fox[t+1]', 'fox[t+1] - fox[t]']
    """
    return {
        "flow": f"d{state}/dt",
        "map": f"{state}[t+1]",
        "difference": f"{state}[t+1] - {state}[t]",
    }[dynamics]


def default_dynamics(*, timed: bool, solver: str) -> str:
    """The default: a flow if the rows have times or an interval, else a map.

    Args:
        timed: Whether the rows have times, or the interval between them is given.
        solver: Name of the solver; those of the paper fit maps only.

    Examples:
        >>> default_dynamics(timed=True, solver="adaptive")
        'flow'
    """
    return "flow" if timed and solver not in SOLVERS else "map"
