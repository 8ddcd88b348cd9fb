"""FitzHugh-Nagumo: R. FitzHugh, Biophys. J. 1 (1961).

With FitzHugh's a, b, epsilon and a current of 0.5 the neuron fires periodically, every
40 units of time: 200 steps of dt = 0.2 cover one cycle.
"""

from .base import System
from .rates import polynomial_rate


def fitzhugh_nagumo(
    *,
    dt: float = 0.2,
    a: float = 0.7,
    b: float = 0.8,
    epsilon: float = 0.08,
    current: float = 0.5,
    noise: float = 0.05,
    observation_std: float = 0.1,
) -> System:
    """A spiking neuron: a relaxation cycle in two states, of degree 3.

    Args:
        dt: Time between two observations.
        a: Threshold of the recovery variable.
        b: Decay of the recovery variable.
        epsilon: Time-scale ratio of the recovery variable.
        current: Injected current.
        noise: Standard deviation of the process noise over a unit of time.
        observation_std: Standard deviation of the measurement noise.

    Examples:
        >>> fitzhugh_nagumo().states
        ('v', 'w')
    """
    equations = {
        "v": {"v": 1.0, "v^3": -1 / 3, "w": -1.0, "1": current},
        "w": {"v": epsilon, "1": epsilon * a, "w": -epsilon * b},
    }
    return System(
        "fitzhugh_nagumo",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[-1.0, 1.0],
        state_noise=noise**2,
        observation_noise=observation_std**2,
        initial_noise=observation_std**2,
        bound=100.0,
    )
