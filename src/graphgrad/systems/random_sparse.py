"""Random sparse polynomials: the synthetic twin of Sec. V-A.

The paper does not say where the twin starts nor what its filter's prior is; like its
other systems it starts here at the first unit vector with the prior N(x0, I).
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
    """A rate matrix of random sparse coefficients whose largest singular value is 1.

    The paper steps along it by Euler: `simulate(..., scheme="euler")` and
    `model(dynamics="map")` are its twin. Nothing in the recipe keeps such a system
    bounded. At dt = 0.025, paths of 200 Euler steps leave |x| < 100 in 49 % of draws
    with 3 states and degree 2, in 76 % with degree 3, and in all with 20 states (31 %
    at 100 steps), and the flow does as often: watch `diverged_at`.

    Args:
        key: Random key, for which terms appear and their coefficients.
        n_states: Number of states, Nx.
        degree: Degree of the library.
        dt: Time between two observations.
        density: Share of the coefficients of the *rate* that are not zero; the map
            has the identity on top of them.
        noise: The process noise has standard deviation `noise` over a unit of time,
            the measurement noise sqrt(dt) * noise.
        x0: Start; the first unit vector if not given.

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
    # Half a term is rounded up, so that there is always one.
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
