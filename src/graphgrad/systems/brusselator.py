"""Brusselator: I. Prigogine, R. Lefever, J. Chem. Phys. 48 (1968).

b > 1 + a^2 gives a limit cycle; a = 1, b = 3 is the usual choice. The fastest rate is
x1^2, about 20 at the peak, so the Euler map is stable below dt = 0.1.
"""

from .base import System
from .rates import polynomial_rate


def brusselator(
    *,
    dt: float = 0.05,
    a: float = 1.0,
    b: float = 3.0,
    noise: float = 0.05,
    observation_std: float = 0.1,
) -> System:
    """An autocatalytic reaction: a limit cycle in two states, of degree 3.

    Args:
        dt: Time between two observations.
        a: Supply of x1.
        b: Rate at which x1 turns into x2.
        noise: Standard deviation of the process noise over a unit of time.
        observation_std: Standard deviation of the measurement noise.

    Examples:
        >>> brusselator().states
        ('x1', 'x2')
    """
    equations = {
        "x1": {"1": a, "x1": -(b + 1), "x1^2 x2": 1.0},
        "x2": {"x1": b, "x1^2 x2": -1.0},
    }
    return System(
        "brusselator",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[1.0, 1.0],
        state_noise=noise**2,
        observation_noise=observation_std**2,
        initial_noise=observation_std**2,
        bound=100.0,
    )
