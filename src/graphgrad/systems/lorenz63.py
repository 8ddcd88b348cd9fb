"""Lorenz 63: E. N. Lorenz, Deterministic nonperiodic flow, J. Atmos. Sci. 20 (1963).

With the settings of Sec. V-B. The Euler map at the paper's dt = 0.025 leaves the
attractor for good in about 85 % of draws of 100 steps or more and in 70 % of 50 steps,
never in 25; at dt = 0.02 in none. The flow never does.
"""

from .base import System
from .rates import polynomial_rate


def lorenz63(
    *,
    dt: float = 0.025,
    sigma: float = 10.0,
    rho: float = 28.0,
    beta: float = 8 / 3,
    noise: float = 1.0,
) -> System:
    """Convection rolls: chaos in three states, of degree 2.

    Args:
        dt: Time between two observations.
        sigma: Prandtl number.
        rho: Rayleigh number over its critical value.
        beta: Aspect ratio of the rolls.
        noise: The noise sigma of Sec. V-B: standard deviation of the process noise over
            a unit of time, and of the measurement noise.

    Examples:
        >>> lorenz63().adjacency.astype(int)
        array([[1, 1, 0],
               [1, 1, 1],
               [1, 1, 1]])
    """
    equations = {
        "x1": {"x1": -sigma, "x2": sigma},
        "x2": {"x1": rho, "x2": -1.0, "x1 x3": -1.0},
        "x3": {"x1 x2": 1.0, "x3": -beta},
    }
    return System(
        "lorenz63",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[1.0, 0.0, 0.0],
        state_noise=noise**2,
        observation_noise=noise**2,
        initial_noise=1.0,
        bound=100.0,
    )
