"""Two ways to move along dx/dt = rate(x): the paper's Euler step, and the flow.

The flow is followed by the classical Runge-Kutta method, in as many substeps as
`substeps` finds it to need. Process noise is split in the manner of Strang: half of a
substep's noise comes before it and half after, so that the covariance gathered over an
interval is a trapezoidal sum along the flow.
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
    """The state a time later, by as many Runge-Kutta steps of order four."""
    h = jnp.asarray(time, x.dtype) / substeps
    return jax.lax.fori_loop(0, substeps, lambda _, x: _runge_kutta(rate, x, h), x)


def _runge_kutta(rate: Callable, x: Array, h: Array) -> Array:
    def stage(carry: tuple[Array, Array], at: tuple[Array, Array]):
        (move, total), (place, weight) = carry, at
        move = rate(x + place * h * move)
        return (move, total + weight * move), None

    # A loop, since a rate of many terms takes long to compile.
    stages = jnp.array([0, 1 / 2, 1 / 2, 1], x.dtype), jnp.array([1, 2, 2, 1], x.dtype)
    zero = jnp.zeros_like(x)
    (_, total), _ = jax.lax.scan(stage, (zero, zero), stages)
    return x + h / 6 * total


class EulerMean(AbstractMean):
    """x + dt rate(x): the discretisation of the paper (Sec. V).

    Attributes:
        rate: dx/dt; its parameters are what a maximum-likelihood fit may move.
        dt: Length of the step.
    """

    rate: Callable
    dt: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        return x + self.dt * self.rate(x)

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.ones(x.shape[:-1], dtype=bool)


class RungeKuttaMean(AbstractMean):
    """Where the flow of a rate carries a state, for rates that no library writes.

    Attributes:
        rate: dx/dt; its parameters are what a maximum-likelihood fit may move.
        dt: Length of the interval.
        substeps: Runge-Kutta steps in it.
    """

    rate: Callable
    dt: float = eqx.field(static=True)
    substeps: int = eqx.field(static=True, default=1)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        return integrate(self.rate, x, self.dt, self.substeps)

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return jnp.ones(x.shape[:-1], dtype=bool)


class AbstractMove(eqx.Module):
    """A draw of the next state given this one."""

    @abstractmethod
    def __call__(self, key: PRNGKeyArray, x: Float[Array, "Nx"]) -> Float[Array, "Nx"]:
        """The state an interval later."""


class EulerMove(AbstractMove):
    """The Euler step, and noise of standard deviation `scale` after it.

    Attributes:
        mean: The step.
        scale: Standard deviations of the noise of a step.
    """

    mean: EulerMean
    scale: Float[Array, "Nx"]

    def __call__(self, key: PRNGKeyArray, x: Float[Array, "Nx"]) -> Float[Array, "Nx"]:
        return self.mean(x) + jax.random.normal(key, x.shape, x.dtype) * self.scale


class FlowMove(AbstractMove):
    """The flow in substeps, with noise in each.

    Attributes:
        rate: dx/dt.
        scale: Standard deviations of the noise over a unit of time.
        dt: Length of the interval.
        substeps: Runge-Kutta steps in it; an array, so that another number of them
            compiles nothing.
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
