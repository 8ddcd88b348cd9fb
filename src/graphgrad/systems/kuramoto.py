"""Kuramoto: Y. Kuramoto, Chemical Oscillations, Waves, and Turbulence (1984).

With the settings of Sec. V-D and the sign of its discretised equation: oscillators
attract one another. Phases are not wrapped, as in the printed equations.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..checks import check_at_least
from ..library.degrees import default_states
from .base import System


class KuramotoRate(eqx.Module):
    """eta_i + K R sin(psi - x_i), where R e^(i psi) is the mean of e^(i x).

    Attributes:
        eta: Natural frequency of each oscillator.
        coupling: K.
    """

    eta: Float[Array | np.ndarray, "Nx"]
    coupling: Float[Array | np.ndarray, ""]

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        eta = jnp.asarray(self.eta, x.dtype)
        coupling = jnp.asarray(self.coupling, x.dtype)
        sine, cosine = jnp.sin(x), jnp.cos(x)
        # R sin(psi - x) without psi, which is not differentiable where R = 0.
        pull = (
            jnp.mean(sine, axis=-1, keepdims=True) * cosine
            - jnp.mean(cosine, axis=-1, keepdims=True) * sine
        )
        return eta + coupling * pull


def kuramoto(
    key: PRNGKeyArray,
    *,
    dt: float = 0.05,
    n_states: int = 20,
    coupling: float = 0.8,
    noise: float = 0.1,
) -> System:
    """Oscillators coupled through their mean phase; not polynomial.

    Observations begin at time 10, so a filter needs the state at that time:
    `system.model(initial=simulation.states[0])`. The model's mean has `eta` and
    `coupling` as arrays, so that a maximum-likelihood fit can estimate them.

    Args:
        key: Random key, for the frequencies N(0.5, 0.5^2) and the start U(-pi, pi).
        dt: Time between two observations.
        n_states: Number of oscillators.
        coupling: K.
        noise: Standard deviation of the process noise over a unit of time; that of the
            measurement noise is sqrt(dt) * noise.

    Examples:
        >>> import jax
        >>> system = kuramoto(jax.random.key(0))
        >>> simulation = system.simulate(jax.random.key(1), steps=25)
        >>> model = system.model(initial=simulation.states[0])
        >>> model.transition.mean.rate.eta.shape
        (20,)
    """
    n = check_at_least("n_states", n_states, 2, "One oscillator has nothing to couple.")
    eta_key, start_key = jax.random.split(key)
    eta = 0.5 + 0.5 * jax.random.normal(eta_key, (n,))
    start = jax.random.uniform(start_key, (n,), minval=-math.pi, maxval=math.pi)
    return System(
        "kuramoto",
        default_states(n),
        KuramotoRate(np.asarray(eta, float), np.asarray(coupling, float)),
        dt=dt,
        x0=start,
        state_noise=noise**2,
        observation_noise=dt * noise**2,
        initial_noise=0.2,
        bound=math.inf,
        spin_up=round(10 / dt),
        adjacency=np.eye(n, dtype=bool) | (coupling != 0),
    )
