"""A flow dx/dt = A phi(x) over an interval, by Runge-Kutta steps.

One classical step of length d is exactly x + d A psi(x; A), with psi the mean of phi
over the stages, weighted 1, 2, 2, 1: at the present A the next state is linear in the
coefficients, and regressions stay linear. Value, derivatives in the state and in the
coefficients, and the covariance of the process noise are taken along together
(Särkkä and Solin, Applied Stochastic Differential Equations, 2019, chapters 6 and 9).
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..library import AbstractLibrary
from .transition import (
    AbstractLibraryMean,
    Expansion,
    Schedule,
    by_equation,
    squares,
)

WEIGHTS = (1.0, 2.0, 2.0, 1.0)
"""Of the stages of a Runge-Kutta step, in sixths."""

PLACES = (0.0, 0.5, 0.5, 1.0)
"""Where in a step its stages are."""


class FlowMean(AbstractLibraryMean):
    """Where the flow dx/dt = A phi(x) leads in an interval.

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: A, of shape `(Nx, M)`, in units per time.
        interval: Usual length of an interval.
        moment: What is special about this interval, if anything.
        substeps: Runge-Kutta steps an interval.

    Examples:
        >>> import graphgrad as gg, jax.numpy as jnp
        >>> library = gg.Polynomial(n_states=1, degree=1)
        >>> decay = FlowMean(library, jnp.array([[0.0, -1.0]]), jnp.array(0.5))
        >>> round(float(decay(jnp.ones(1))[0]), 3)  # exp(-0.5)
        0.607
    """

    library: AbstractLibrary
    coefficients: Float[Array, "Nx M"]
    interval: Float[Array, ""]
    moment: Schedule | None = None
    substeps: int = eqx.field(static=True, default=1)

    @property
    def dynamics(self) -> str:
        return "flow"

    def noise_length(self) -> Float[Array, ""]:
        if self.moment is None:
            return self.interval
        return self.interval * self.moment.pace

    def with_substeps(self, substeps: int) -> "FlowMean":
        """The same flow with another number of steps an interval."""
        return FlowMean(
            self.library, self.coefficients, self.interval, self.moment, substeps
        )

    def design(
        self, x: Float[Array, "*batch Nx"]
    ) -> tuple[Float[Array, "*batch M"], Float[Array, "*batch Nx"]]:
        d = self.noise_length() / self.substeps

        def step(carry: tuple[Array, Array], number: Array | int):
            x, psi = carry
            C, share = self.coefficients.T, number / self.substeps
            move = jnp.zeros_like(x)
            mean = jnp.zeros_like(psi)
            for place, weight in zip(PLACES, WEIGHTS, strict=True):
                here = share + place / self.substeps
                terms = self.library(self.variables(x + place * d * move, here))
                mean += weight / 6 * terms
                move = terms @ C
            return (x + d * (mean @ C), psi + mean), None

        start = x, jnp.zeros((*x.shape[:-1], self.library.n_terms), x.dtype)
        _, psi = _repeat(step, start, self.substeps)
        return self.starting(d * psi, x)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        terms, rest = self.design(x)
        return rest + terms @ self.coefficients.T

    def design_between(
        self,
        before: Float[Array, "*batch Nx"],
        after: Float[Array, "*batch Nx"],
        drifts: tuple[Float[Array, "*batch Nx"], Float[Array, "*batch Nx"]],
    ) -> Float[Array, "*batch M"]:
        """Integral of the terms along a cubic between two states, by Simpson's rule.

        Args:
            before: States at the beginning of the interval.
            after: States at its end.
            drifts: Derivatives there, times the length of the interval.
        """
        middle = (before + after) / 2 + (drifts[0] - drifts[1]) / 8
        places = ((before, 0.0, 1), (middle, 0.5, 4), (after, 1.0, 1))
        total = sum(
            weight / 6 * self.library(self.variables(x, share))
            for x, share, weight in places
        )
        return self.starting(self.noise_length() * total, before)[0]

    def expand(
        self,
        x: Float[Array, "Nx"],
        factor: Float[Array, "Nx m"] | None,
        active: Int[Array, "Nx A"] | None = None,
    ) -> Expansion:
        n, M = self.coefficients.shape
        d = self.noise_length() / self.substeps

        def step(carry: Expansion, number: Array | int):
            one = self._substep(carry.value, d, number / self.substeps, active)
            F = one.slope
            sources = sensitivity = turning = None
            if factor is not None:
                assert carry.sources is not None
                sources = F @ carry.sources @ F.T + _noise(F, factor, d)
            if one.sensitivity is not None:
                sensitivity = F @ carry.sensitivity + one.sensitivity
                turning = carry.turning + one.turning @ carry.slope
            after = Expansion(
                one.value,
                F @ carry.slope,
                sources,
                sensitivity=sensitivity,
                turning=turning,
            )
            return after, None

        sized = None if active is None else active.size
        start = Expansion(
            value=x,
            slope=jnp.eye(n, dtype=x.dtype),
            sources=None
            if factor is None
            else jnp.zeros((factor.shape[1], n, n), x.dtype),
            sensitivity=None if sized is None else jnp.zeros((n, sized), x.dtype),
            turning=None if sized is None else jnp.zeros((M, n), x.dtype),
        )
        found = _repeat(step, start, self.substeps)
        if found.sources is not None:
            # No less noise than rounding makes, or covariances become singular.
            least = jnp.finfo(x.dtype).eps * (x**2 + found.value**2)
            added = jnp.diag(least) / len(found.sources)
            found = found._replace(sources=found.sources + added)
        if self.moment is None:
            return found
        fresh = self.moment.fresh
        found = found._replace(slope=jnp.where(fresh, 0, found.slope))
        if found.sensitivity is not None:
            found = found._replace(
                sensitivity=jnp.where(fresh, 0, found.sensitivity),
                turning=jnp.where(fresh, 0, found.turning),
            )
        return found._replace(value=jnp.where(fresh, self.moment.starts, found.value))

    def _substep(
        self, x: Array, d: Array, share: Array | float, active: Array | None
    ) -> "_Substep":
        """One Runge-Kutta step, with its derivatives in the state and in A."""
        A, eye = self.coefficients, jnp.eye(len(x), dtype=x.dtype)
        move, pull = jnp.zeros_like(x), jnp.zeros_like(eye)
        total, slope = jnp.zeros_like(x), jnp.zeros_like(eye)
        sensitivity = turning = push = 0.0
        for place, weight in zip(PLACES, WEIGHTS, strict=True):
            here = share + place / self.substeps
            stage, turn = x + place * d * move, eye + place * d * pull

            def terms_at(z: Array, here: Array | float = here) -> Array:
                return self.library(self.variables(z, here))

            terms, change = terms_at(stage), jax.jacfwd(terms_at)(stage)
            J = A @ change
            move, pull = A @ terms, J @ turn
            total += weight / 6 * move
            slope += weight / 6 * pull
            if active is not None:
                push = J @ (place * d * push) if place else 0.0
                push = push + by_equation(terms, active)
                sensitivity += weight / 6 * d * push
                turning += weight / 6 * d * change @ turn
        return _Substep(
            x + d * total,
            eye + d * slope,
            None if active is None else jnp.asarray(sensitivity),
            None if active is None else jnp.asarray(turning),
        )


class _Substep(NamedTuple):
    value: Array
    slope: Array
    sensitivity: Array | None
    turning: Array | None


def _noise(F: Array, factor: Array, d: Array) -> Float[Array, "m Nx Nx"]:
    """Covariance of noise that enters along a step, by Simpson's rule.

    What enters half way is carried on by the square root of the step's own derivative,
    to second order.
    """
    away = F - jnp.eye(len(F), dtype=F.dtype)
    half = jnp.eye(len(F), dtype=F.dtype) + away / 2 - away @ away / 8
    entered = squares(factor)
    return d / 6 * (F @ entered @ F.T + 4 * half @ entered @ half.T + entered)


def _repeat(step, carry, times: int):
    """Take a step once, or in a loop."""
    if times == 1:
        return step(carry, 0)[0]
    return jax.lax.scan(step, carry, jnp.arange(times))[0]
