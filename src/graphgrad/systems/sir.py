"""SIR epidemic: W. O. Kermack, A. G. McKendrick, Proc. R. Soc. A 115 (1927).

States are shares of the population; time is in days; the basic reproduction number is
infection / recovery = 2.5. The default 0.2 days per step and 200 steps cover the wave.
Long after it additive noise makes the small number of infected negative. S + I + R is 1
apart from noise, so the terms 1, S, I, R are nearly collinear.
"""

from .base import System
from .rates import polynomial_rate


def sir(
    *,
    dt: float = 0.2,
    infection: float = 0.5,
    recovery: float = 0.2,
    noise: float = 0.002,
    observation_std: float = 0.01,
) -> System:
    """Susceptible, infected, recovered: one wave in three states, of degree 2.

    Args:
        dt: Time between two observations.
        infection: Infection rate per day, per susceptible and infected.
        recovery: Recovery rate per day, per infected.
        noise: Standard deviation of the process noise over a unit of time.
        observation_std: Standard deviation of the measurement noise.

    Examples:
        >>> sir().states
        ('S', 'I', 'R')
    """
    equations = {
        "S": {"S I": -infection},
        "I": {"S I": infection, "I": -recovery},
        "R": {"I": recovery},
    }
    return System(
        "sir",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[0.93, 0.02, 0.05],
        state_noise=noise**2,
        observation_noise=observation_std**2,
        initial_noise=observation_std**2,
        bound=10.0,
    )
