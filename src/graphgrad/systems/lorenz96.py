"""Lorenz 96: E. N. Lorenz, Predictability, ECMWF Seminar on Predictability (1996).

With the settings of Sec. V-C. The Euler map leaves the attractor for good in 98 % of
draws of 200 steps at the paper's dt = 0.025, in 47 % at 0.02, and in none at 0.01; the
flow never does.
"""

import numpy as np

from ..checks import check_at_least
from ..library.degrees import default_states
from .base import System
from .rates import polynomial_rate


def lorenz96(
    *,
    dt: float = 0.025,
    n_states: int = 20,
    forcing: float = 8.0,
    noise: float = 1.0,
) -> System:
    """A ring of weather stations: chaos in any number of states >= 4, of degree 2.

    Args:
        dt: Time between two observations.
        n_states: Number of stations, at least 4.
        forcing: F; 8 is chaotic.
        noise: Standard deviation of the process noise over a unit of time; that of the
            measurement noise is sqrt(dt) * noise.

    Examples:
        >>> lorenz96().adjacency.sum()
        np.int64(80)
    """
    n = check_at_least("n_states", n_states, 4, "A station acts on three others.")
    x = default_states(n)
    equations = {
        x[i]: {
            f"{x[i - 1]} {x[(i + 1) % n]}": 1.0,
            f"{x[i - 1]} {x[i - 2]}": -1.0,
            x[i]: -1.0,
            "1": forcing,
        }
        for i in range(n)
    }
    return System(
        "lorenz96",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=np.eye(n)[0],
        state_noise=noise**2,
        observation_noise=dt * noise**2,
        initial_noise=1.0,
        bound=100.0,
    )
