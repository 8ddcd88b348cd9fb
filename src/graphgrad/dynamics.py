"""How a state moves: in words, and which way is taken if none is asked for."""

from .registries import SOLVERS

MOTIONS = {
    "flow": "flow, dx/dt = A phi(x)",
    "map": "map, x[t+1] = C phi(x)",
    "difference": "difference, x[t+1] - x[t] = A phi(x)",
}
"""Each of the dynamics in a few words."""


def left_side(state: str, dynamics: str) -> str:
    """What an equation is about, as text.

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
    """The flow where something says when rows were observed, the map where not.

    Args:
        timed: Whether the rows have times, or the interval between them is given.
        solver: Those of the paper have maps alone.

    Examples:
        >>> default_dynamics(timed=True, solver="adaptive")
        'flow'
    """
    return "flow" if timed and solver not in SOLVERS else "map"
