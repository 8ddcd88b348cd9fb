"""SEIR epidemic: R. M. Anderson, R. M. May, Infectious Diseases of Humans (1991).

As SIR, with a latent stage of 4 days on average: states are shares of the population,
time is in days, the basic reproduction number is infection / recovery = 2.5. The
default 0.25 days per step and 200 steps cover the wave; long after it additive noise
makes the small numbers of exposed and infected negative.
"""

from .base import System
from .rates import polynomial_rate


def seir(
    *,
    dt: float = 0.25,
    infection: float = 0.5,
    onset: float = 0.25,
    recovery: float = 0.2,
    noise: float = 0.002,
    observation_std: float = 0.01,
) -> System:
    """Susceptible, exposed, infected, recovered: four states, of degree 2.

    Args:
        dt: Time between two observations.
        infection: Infection rate per day, per susceptible and infected.
        onset: Onset rate per day, per exposed.
        recovery: Recovery rate per day, per infected.
        noise: Standard deviation of the process noise over a unit of time.
        observation_std: Standard deviation of the measurement noise.

    Examples:
        >>> seir().states
        ('S', 'E', 'I', 'R')
    """
    equations = {
        "S": {"S I": -infection},
        "E": {"S I": infection, "E": -onset},
        "I": {"E": onset, "I": -recovery},
        "R": {"I": recovery},
    }
    return System(
        "seir",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[0.9, 0.03, 0.02, 0.05],
        state_noise=noise**2,
        observation_noise=observation_std**2,
        initial_noise=observation_std**2,
        bound=10.0,
    )
