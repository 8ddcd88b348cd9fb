"""Oregonator: R. J. Field, R. M. Noyes, J. Chem. Phys. 60 (1974).

In the dimensionless form of J. J. Tyson (1982), divided by epsilon and delta, so that
the rate is a polynomial. The values for the Belousov-Zhabotinsky reaction (epsilon
0.04, delta 4e-4, q 8e-4) are too stiff for Euler; the flow needs 64 substeps for them
at dt = 0.03, and 4 for the defaults. The milder defaults keep the relaxation cycle,
with x1 between 0.03 and 0.65, x2 up to 3.2 and a period near 5; the fastest rate is x2
/ epsilon, about 30, so the Euler map is stable below dt = 0.06.
"""

from .base import System
from .rates import polynomial_rate


def oregonator(
    *,
    dt: float = 0.03,
    epsilon: float = 0.1,
    delta: float = 0.05,
    q: float = 0.02,
    f: float = 1.0,
    noise: float = 0.005,
    observation_std: float = 0.02,
) -> System:
    """An oscillating reaction: a relaxation cycle in three states, of degree 2.

    Args:
        dt: Time between two observations.
        epsilon: Time scale of x1.
        delta: Time scale of x2.
        q: Rate constant that keeps x1 above zero.
        f: Stoichiometric factor.
        noise: Standard deviation of the process noise over a unit of time.
        observation_std: Standard deviation of the measurement noise.

    Examples:
        >>> oregonator().states
        ('x1', 'x2', 'x3')
    """
    equations = {
        "x1": {
            "x2": q / epsilon,
            "x1 x2": -1 / epsilon,
            "x1": 1 / epsilon,
            "x1^2": -1 / epsilon,
        },
        "x2": {"x2": -q / delta, "x1 x2": -1 / delta, "x3": f / delta},
        "x3": {"x1": 1.0, "x3": -1.0},
    }
    return System(
        "oregonator",
        tuple(equations),
        polynomial_rate(equations),
        dt=dt,
        x0=[0.3, 0.5, 0.2],
        state_noise=noise**2,
        observation_noise=observation_std**2,
        initial_noise=observation_std**2,
        bound=100.0,
    )
