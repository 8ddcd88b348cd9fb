"""A damped linear oscillator: small enough for every solver."""

from .base import System
from .rates import polynomial_rate


def damped_oscillator(
    *,
    dt: float = 1.0,
    damping: float = 0.1,
    frequency: float = 0.3,
    noise: float = 0.1,
    observation_std: float = 0.1,
) -> System:
    """Decay in a spiral to the origin: two states, of degree 1.

    Args:
        dt: Time between two observations.
        damping: Damping rate.
        frequency: Angular frequency, in radians per unit of time.
        noise: Standard deviation of the process noise over a unit of time.
        observation_std: Standard deviation of the measurement noise.

    Examples:
        >>> damped_oscillator().coefficients().tolist()
        [[0.0, -0.1, 0.3], [0.0, -0.3, -0.1]]
        >>> damped_oscillator().coefficients(dynamics="map").tolist()
        [[0.0, 0.9, 0.3], [0.0, -0.3, 0.9]]
    """
    equations = {
        "x1": {"x1": -damping, "x2": frequency},
        "x2": {"x1": -frequency, "x2": -damping},
    }
    return System(
        "damped_oscillator",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[3.0, 0.0],
        state_noise=noise**2,
        observation_noise=observation_std**2,
        initial_noise=1.0,
        bound=100.0,
    )
