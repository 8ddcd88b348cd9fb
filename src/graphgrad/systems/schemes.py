"""Two discretisations of dx/dt = rate(x): the paper's Euler step, and the flow.

The flow is integrated by the classical Runge-Kutta method, with the number of substeps
from `substeps`. Process noise is added by Strang splitting: half of a substep's noise
comes before it and half after, so that the covariance accumulated over an interval is a
trapezoidal sum along the flow.
"""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..model import AbstractMean


def integrate(
    rate: Callable,
    x: Float[Array, "*batch Nx"],
    time: float | Float[Array, ""],
    substeps: int | Int[Array, ""],
) -> Float[Array, "*batch Nx"]:
    """The state after a time, by that many Runge-Kutta steps of order four."""
    h = jnp.asarray(time, x.dtype) / substeps
    return jax.lax.fori_loop(0, substeps, lambda _, x: _runge_kutta(rate, x, h), x)


def _runge_kutta(rate: Callable, x: Array, h: Array) -> Array:
    def stage(carry: tuple[Array, Array], at: tuple[Array, Array]):
        (move, total), (place, weight) = carry, at
        move = rate(x + place * h * move)
        return (move, total + weight * move), None

    # A loop, since a rate with many terms is slow to compile.
    stages = jnp.array([0, 1 / 2, 1 / 2, 1], x.dtype), jnp.array([1, 2, 2, 1], x.dtype)
    zero = jnp.zeros_like(x)
    (_, total), _ = jax.lax.scan(stage, (zero, zero), stages)
    return x + h / 6 * total


class EulerMean(AbstractMean):
    """x + dt rate(x): the discretisation of the paper (Sec. V).

    Attributes:
        rate: dx/dt; its parameters can be estimated by a maximum-likelihood fit.
        dt: Length of the step.
    """

    rate: Callable
    dt: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        return x + self.dt * self.rate(x)

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.ones(x.shape[:-1], dtype=bool)


class RungeKuttaMean(AbstractMean):
    """The flow of a rate over an interval, for rates outside any library.

    Attributes:
        rate: dx/dt; its parameters can be estimated by a maximum-likelihood fit.
        dt: Length of the interval.
        substeps: Runge-Kutta steps per interval.
    """

    rate: Callable
    dt: float = eqx.field(static=True)
    substeps: int = eqx.field(static=True, default=1)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        return integrate(self.rate, x, self.dt, self.substeps)

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.ones(x.shape[:-1], dtype=bool)


class AbstractMove(eqx.Module):
    """Draws the next state given the current one."""

    @abstractmethod
    def __call__(self, key: PRNGKeyArray, x: Float[Array, "Nx"]) -> Float[Array, "Nx"]:
        """The state after an interval."""


class EulerMove(AbstractMove):
    """The Euler step, followed by noise of standard deviation `scale`.

    Attributes:
        mean: The step.
        scale: Standard deviations of the noise per step.
    """

    mean: EulerMean
    scale: Float[Array, "Nx"]

    def __call__(self, key: PRNGKeyArray, x: Float[Array, "Nx"]) -> Float[Array, "Nx"]:
        return self.mean(x) + jax.random.normal(key, x.shape, x.dtype) * self.scale


class FlowMove(AbstractMove):
    """The flow in substeps, each with noise.

    Attributes:
        rate: dx/dt.
        scale: Standard deviations of the noise over a unit of time.
        dt: Length of the interval.
        substeps: Runge-Kutta steps per interval; an array, so that a change does not
            trigger a compilation.
    """

    rate: Callable
    scale: Float[Array, "Nx"]
    dt: Float[Array, ""]
    substeps: Int[Array, ""]

    def __call__(self, key: PRNGKeyArray, x: Float[Array, "Nx"]) -> Float[Array, "Nx"]:
        h = self.dt / self.substeps
        half = jnp.sqrt(h / 2) * self.scale

        def substep(n: Array, x: Array) -> Array:
            before, after = jax.random.normal(
                jax.random.fold_in(key, n), (2, *x.shape), x.dtype
            )
            return _runge_kutta(self.rate, x + half * before, h) + half * after

        return jax.lax.fori_loop(0, self.substeps, substep, x)
