"""Rabinovich-Fabrikant: M. I. Rabinovich, A. L. Fabrikant, Sov. Phys. JETP 50 (1979).

alpha = 0.14 and gamma = 0.1 give the well-known attractor. It is sensitive (M.-F.
Danca, N. Kuznetsov, G. Chen, Nonlinear Dyn. 88 (2017)): noise that makes x3 negative
causes divergence, so the noise is small relative to x3, and so is dt.
"""

from .base import System
from .rates import polynomial_rate


def rabinovich_fabrikant(
    *,
    dt: float = 0.01,
    alpha: float = 0.14,
    gamma: float = 0.1,
    noise: float = 0.01,
    observation_std: float = 0.02,
) -> System:
    """Modulation of waves in a plasma: three states, of degree 3.

    Args:
        dt: Time between two observations.
        alpha: Damping of x3.
        gamma: Growth of x1 and x2.
        noise: Standard deviation of the process noise over a unit of time.
        observation_std: Standard deviation of the measurement noise.

    Examples:
        >>> rabinovich_fabrikant().states
        ('x1', 'x2', 'x3')
    """
    equations = {
        "x1": {"x2 x3": 1.0, "x2": -1.0, "x1^2 x2": 1.0, "x1": gamma},
        "x2": {"x1 x3": 3.0, "x1": 1.0, "x1^3": -1.0, "x2": gamma},
        "x3": {"x3": -2 * alpha, "x1 x2 x3": -2.0},
    }
    return System(
        "rabinovich_fabrikant",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[-1.0, 0.0, 0.5],
        state_noise=noise**2,
        observation_noise=observation_std**2,
        initial_noise=observation_std**2,
        bound=100.0,
    )
