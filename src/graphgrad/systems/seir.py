"""SEIR epidemic: R. M. Anderson, R. M. May, Infectious Diseases of Humans (1991).

As SIR, with a latent stage of 4 days on average: states are shares of the population,
time is in days, the basic reproduction number is infection / recovery = 2.5. The
default 0.25 days a step and 200 steps cover the wave; long after it additive noise
turns the few who are exposed or infected negative.
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
        infection: Infections a day, for each susceptible and infected.
        onset: Onsets a day, for each exposed.
        recovery: Recoveries a day, for each infected.
        noise: The process noise has standard deviation `noise` over a unit of time.
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
