"""Random sparse polynomials: the synthetic twin of Sec. V-A.

The paper states neither the start of the twin nor its filter's prior; like its other
systems it starts here at the first unit vector with the prior N(x0, I).
"""

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..library import Polynomial
from ..library.degrees import default_states
from .base import System
from .rates import PolynomialRate


def random_sparse(
    key: PRNGKeyArray,
    *,
    n_states: int = 3,
    degree: int = 2,
    dt: float = 0.025,
    density: float = 0.25,
    noise: float = 1.0,
    x0: Any = None,
) -> System:
    """A random sparse rate matrix whose largest singular value is 1.

    The paper discretises it by Euler: `simulate(..., scheme="euler")` and
    `model(dynamics="map")` are its twin. Such a system need not be bounded. At dt =
    0.025, trajectories of 200 Euler steps leave |x| < 100 in 49 % of draws with 3
    states and degree 2, in 76 % with degree 3, and in all with 20 states (31 % at 100
    steps), and those of the flow as often: check `diverged_at`.

    Args:
        key: Random key, for the support and the coefficients.
        n_states: Number of states, Nx.
        degree: Degree of the library.
        dt: Time between two observations.
        density: Share of nonzero coefficients of the *rate*; the map adds the identity.
        noise: Standard deviation of the process noise over a unit of time; that of the
            measurement noise is sqrt(dt) * noise.
        x0: Initial state; the first unit vector by default.

    Examples:
        >>> import jax
        >>> system = random_sparse(jax.random.key(0), n_states=3, degree=2)
        >>> int((system.rate.coefficients != 0).sum()), "of", 3 * 10
        (8, 'of', 30)
    """
    if not 0 < density <= 1:
        raise ValueError(
            f"`density` must be above 0 and at most 1, got {density!r}. "
            "The paper's twin has 0.25."
        )
    library = Polynomial(n_states, degree)
    size = n_states * library.n_terms
    place_key, value_key = jax.random.split(key)
    # Half a term is rounded up, so that there is at least one.
    places = jax.random.choice(
        place_key, size, (math.ceil(density * size),), replace=False
    )
    values = jax.random.uniform(
        value_key, places.shape, minval=-n_states, maxval=n_states
    )
    flat = np.zeros(size)
    flat[np.asarray(places)] = np.asarray(values)
    coefficients = flat.reshape(n_states, library.n_terms)
    coefficients /= np.linalg.norm(coefficients, 2)
    return System(
        "random_sparse",
        default_states(n_states),
        PolynomialRate(library, coefficients),
        dt=dt,
        x0=np.eye(n_states)[0] if x0 is None else x0,
        state_noise=noise**2,
        observation_noise=dt * noise**2,
        initial_noise=1.0,
        bound=100.0,
    )
