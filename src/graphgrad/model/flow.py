"""A flow dx/dt = A phi(x) over an interval, by Runge-Kutta steps.

One classical step of length d is exactly x + d A psi(x; A), with psi the mean of phi
over the stages, weighted 1, 2, 2, 1: at the present A the next state is linear in the
coefficients, and regressions stay linear. Value, derivatives in the state and in the
coefficients, and the covariance of the process noise are propagated together
(Särkkä and Solin, Applied Stochastic Differential Equations, 2019, chapters 6 and 9).
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..checks import check_at_least, check_positive
from ..library import AbstractLibrary
from .mean import AbstractLibraryMean, Expansion, Schedule, squares
from .repeat import repeat

STAGES = np.array([[0.0, 1 / 6], [0.5, 1 / 3], [0.5, 1 / 3], [1.0, 1 / 6]])
"""Positions of the stages within a Runge-Kutta step, and their weights."""

MOST_SUBSTEPS = 32
"""Largest number of Runge-Kutta steps per interval."""


class FlowMean(AbstractLibraryMean):
    """Solution of the flow dx/dt = A phi(x) at the end of an interval.

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: A, of shape `(Nx, M)`, in units per time.
        interval: Usual length of an interval.
        moment: The schedule of this interval, if there is one.
        substeps: Runge-Kutta steps per interval: a traced value, so that all numbers
            share one compiled program.

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
    substeps: Int[Array, ""] = eqx.field(converter=jnp.asarray, default=1)

    @classmethod
    def of(
        cls,
        library: AbstractLibrary,
        coefficients: Float[Array, "Nx M"],
        *,
        dt: Any,
        substeps: Any,
    ) -> "FlowMean":
        if dt is None:
            raise ValueError(
                "`dt` must be given for `dynamics='flow'`, got None. It is the usual "
                "interval between rows; without it use `dynamics='map'`."
            )
        dt = check_positive("dt", dt, "It is the usual interval between rows.")
        substeps = check_at_least("substeps", substeps, 1, "1 is one Runge-Kutta step.")
        interval = jnp.asarray(dt, coefficients.dtype)
        return cls(
            library, coefficients, interval=interval, substeps=jnp.asarray(substeps)
        )

    @property
    def dynamics(self) -> str:
        return "flow"

    def noise_length(self) -> Float[Array, ""]:
        if self.moment is None:
            return self.interval
        return self.interval * self.moment.pace

    def with_substeps(self, substeps: int | Array) -> "FlowMean":
        """The same flow with another number of steps per interval."""
        return eqx.tree_at(lambda mean: mean.substeps, self, jnp.asarray(substeps))

    def design(
        self, x: Float[Array, "*batch Nx"]
    ) -> tuple[Float[Array, "*batch M"], Float[Array, "*batch Nx"]]:
        d = self.noise_length() / self.substeps
        C = self.coefficients.T

        def step(carry: tuple[Array, Array], number: Array) -> tuple[Array, Array]:
            x, psi = carry

            def stage(before: tuple[Array, Array], at: Array):
                move, mean = before
                place, weight = at
                here = self.variables(x + place * d * move, self._share(number, place))
                terms = self.library(here)
                return (terms @ C, mean + weight * terms), None

            start = jnp.zeros_like(x), jnp.zeros_like(psi)
            (_, mean), _ = jax.lax.scan(stage, start, jnp.asarray(STAGES, x.dtype))
            return x + d * (mean @ C), psi + mean

        start = x, jnp.zeros((*x.shape[:-1], self.library.n_terms), x.dtype)
        _, psi = self._repeat(step, start)
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
            before: States at the start of the interval.
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
        # All of it varies with the state, also where the flow is linear: the derivative
        # of what does not vary over a batch would be counted once for each member.
        varying = 0 * x[0]
        start = jax.tree.map(lambda leaf: leaf + varying, start)
        shared = self, factor, active
        found = repeat(_expand_step, start, shared, self.substeps, MOST_SUBSTEPS)
        if found.sources is not None:
            # At least the noise of rounding, or covariances become singular.
            least = jnp.finfo(x.dtype).eps * (x**2 + found.value**2)
            added = jnp.diag(least) / len(found.sources)
            found = found._replace(sources=found.sources + added)
        if self.moment is None:
            return found
        fresh = self.moment.fresh
        found = found._replace(slope=jnp.where(fresh, 0, found.slope))
        if found.sensitivity is not None:
            assert found.turning is not None
            found = found._replace(
                sensitivity=jnp.where(fresh, 0, found.sensitivity),
                turning=jnp.where(fresh, 0, found.turning),
            )
        return found._replace(value=jnp.where(fresh, self.moment.starts, found.value))

    def turned(
        self,
        x: Float[Array, "Nx"],  # noqa: ARG002
        away: Float[Array, "Nx"],
        found: Expansion,
    ) -> Float[Array, "M"]:
        assert found.turning is not None
        return found.turning @ away

    def substep(self, x: Array, d: Array, number: Array) -> "_Substep":
        """One Runge-Kutta step, with its derivative in the state."""
        A, eye = self.coefficients, jnp.eye(len(x), dtype=x.dtype)

        def stage(before: tuple[Array, ...], at: Array):
            move, jacobian, total, slope, psi, turning = before
            place, weight = at
            share = self._share(number, place)
            here, turn = x + place * d * move, eye + place * d * jacobian

            def terms_at(z: Array) -> Array:
                return self.library(self.variables(z, share))

            terms, change = terms_at(here), jax.jacfwd(terms_at)(here)
            drift = self.library.derivative(A, self.variables(here, share))
            move, jacobian = A @ terms, drift[:, : len(x)] @ turn
            w = weight * d
            total, slope = total + w * move, slope + w * jacobian
            return (
                move,
                jacobian,
                total,
                slope,
                psi + w * terms,
                turning + w * change,
            ), None

        none, flat = jnp.zeros_like(x), jnp.zeros_like(eye)
        terms = jnp.zeros(A.shape[1], x.dtype)
        start = none, flat, none, flat, terms, jnp.zeros((len(terms), len(x)), x.dtype)
        end, _ = jax.lax.scan(stage, start, jnp.asarray(STAGES, x.dtype))
        return _Substep(x + end[2], eye + end[3], end[4], end[5])

    def _share(self, number: Array, place: Array) -> Array:
        """Elapsed share of the interval."""
        return (number + place) / self.substeps

    def _repeat(self, step, start):
        """Take `substeps` steps in a loop of fixed length, for reverse mode.

        Only the initial value of each step is stored for derivatives.
        """
        step = jax.checkpoint(step)

        def one(carry, number: Array):
            taken = number < self.substeps
            return jax.lax.cond(taken, step, lambda c, _: c, carry, number), None

        return jax.lax.scan(one, start, jnp.arange(MOST_SUBSTEPS))[0]


def _expand_step(
    carry: Expansion,
    number: Array,
    shared: tuple[FlowMean, Array | None, Array | None],
) -> Expansion:
    """One Runge-Kutta step more."""
    flow, factor, active = shared
    d = flow.noise_length() / flow.substeps
    one = flow.substep(carry.value, d, number)
    F = one.slope
    sources = sensitivity = turning = None
    if factor is not None:
        assert carry.sources is not None
        sources = F @ carry.sources @ F.T + _noise(F, factor, d)
    if active is not None:
        assert carry.sensitivity is not None
        assert carry.turning is not None
        # A coefficient acts along the step, on average from its middle on.
        half = (jnp.eye(len(F), dtype=F.dtype) + F) / 2
        own = half[:, :, None] * one.terms[active]
        sensitivity = F @ carry.sensitivity + own.reshape(len(F), -1)
        turning = carry.turning + one.turning @ carry.slope
    slope = F @ carry.slope
    return Expansion(
        one.value, slope, sources, sensitivity=sensitivity, turning=turning
    )


class _Substep(NamedTuple):
    """Value and slope of a step, and the mean terms along it with their slope."""

    value: Array
    slope: Array
    terms: Array
    turning: Array


def _noise(F: Array, factor: Array, d: Array) -> Float[Array, "m Nx Nx"]:
    """Covariance of noise that enters along a step, by Simpson's rule.

    Noise that enters half way is propagated by the square root of the step's
    derivative, to second order.
    """
    away = F - jnp.eye(len(F), dtype=F.dtype)
    half = jnp.eye(len(F), dtype=F.dtype) + away / 2 - away @ away / 8
    entered = squares(factor)
    return d / 6 * (F @ entered @ F.T + 4 * half @ entered @ half.T + entered)
