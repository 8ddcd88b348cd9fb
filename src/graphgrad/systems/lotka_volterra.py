"""Lotka-Volterra: A. J. Lotka (1925), V. Volterra (1926).

Parameters of the SciPy cookbook, with the equilibrium at 20 prey and 10 predators. With
the default noise no population of the flow fell below 2 in 300 trajectories of 1000
steps. The Euler map spirals outwards, by about 2 % per unit of time at dt = 0.03, where
the lowest population was 0.5; at dt = 0.05 most such trajectories become negative and
diverge.
"""

from .base import System
from .rates import polynomial_rate


def lotka_volterra(
    *,
    dt: float = 0.03,
    birth: float = 1.0,
    predation: float = 0.1,
    death: float = 1.5,
    conversion: float = 0.075,
    noise: float = 0.1,
    observation_std: float = 0.5,
) -> System:
    """Prey and predators: a cycle in two states, of degree 2.

    Args:
        dt: Time between two observations.
        birth: Growth rate of the prey.
        predation: Predation rate, per prey and predator.
        death: Decay rate of the predators.
        conversion: Growth rate of the predators, per prey and predator.
        noise: Standard deviation of the process noise over a unit of time.
        observation_std: Standard deviation of the measurement noise.

    Examples:
        >>> lotka_volterra().states
        ('prey', 'predator')
    """
    equations = {
        "prey": {"prey": birth, "prey predator": -predation},
        "predator": {"predator": -death, "prey predator": conversion},
    }
    return System(
        "lotka_volterra",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[10.0, 5.0],
        state_noise=noise**2,
        observation_noise=observation_std**2,
        initial_noise=observation_std**2,
        bound=1000.0,
    )
