"""Roessler: O. E. Roessler, An equation for continuous chaos, Phys. Lett. A 57 (1976).

With his a = b = 0.2, c = 5.7, from a point of the attractor just before a spike of x3.
Between the spikes x3 is about 0.02 and noise makes it negative in 3 % of steps, which
is harmless at the default noise; with four times the noise and dt = 0.05 half of all
trajectories diverge within 1000 steps.
"""

from .base import System
from .rates import polynomial_rate


def rossler(
    *,
    dt: float = 0.03,
    a: float = 0.2,
    b: float = 0.2,
    c: float = 5.7,
    noise: float = 0.05,
    observation_std: float = 0.2,
) -> System:
    """A folded band: chaos in three states, of degree 2.

    Args:
        dt: Time between two observations.
        a: Growth of the spiral.
        b: Supply of x3.
        c: Height of the fold.
        noise: Standard deviation of the process noise over a unit of time.
        observation_std: Standard deviation of the measurement noise.

    Examples:
        >>> rossler().states
        ('x1', 'x2', 'x3')
    """
    equations = {
        "x1": {"x2": -1.0, "x3": -1.0},
        "x2": {"x1": 1.0, "x2": a},
        "x3": {"1": b, "x1 x3": 1.0, "x3": -c},
    }
    return System(
        "rossler",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[-6.0, -4.0, 0.02],
        state_noise=noise**2,
        observation_noise=observation_std**2,
        initial_noise=observation_std**2,
        bound=100.0,
    )
