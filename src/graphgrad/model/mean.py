"""The mean of the next state, and its kinds, which are those of the dynamics. Eq. (7).

A mean that is a library of terms owns its coefficients. It provides its value, its
derivative in the state, its design matrix, and a copy with other coefficients, so that
no other code needs to know whether it is a map, a difference or a flow.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..checks import check_choice
from ..library import AbstractLibrary
from ..registries import DYNAMICS as DYNAMICS


def refuse_form(form: Any) -> None:
    """Raise if the removed argument `form` is given, and name its replacement."""
    if form is not None:
        raise ValueError(
            f"`form` must be left out, got {form!r}. Use `dynamics`: 'flow' for dx/dt, "
            "'difference' for x[t+1] - x[t] (what form='rate' was), 'map' for x[t+1]."
        )


def check_dynamics(dynamics: Any, *, auto: bool = False) -> str:
    """Return `dynamics`, or list the kinds there are."""
    choices = ("auto", *DYNAMICS) if auto else DYNAMICS
    return check_choice("dynamics", dynamics, choices)


class AbstractMean(eqx.Module):
    """The mean of the next state as a function of the state."""

    @abstractmethod
    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        """Mean of the next state; finite even where `defined` is false."""

    @abstractmethod
    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        """Whether the mean has a real value at x."""


class Schedule(eqx.Module):
    """What varies between steps; made by `arrange`.

    Attributes:
        pace: Length of each step, in units of the usual one.
        fresh: Where a new series starts, independently of the previous one.
        starts: Mean of its initial state.
        inputs: Inputs during each step, as further variables of the library.
        later_inputs: Inputs at the end of each step, if they are interpolated
            linearly; None if they are held.
        uncertainty: Factor on the model's standard deviation of the measurement noise,
            for each entry of the observation at the end of a step.
    """

    pace: Float[Array, "*T"]
    fresh: Bool[Array, "*T"]
    starts: Float[Array, "*T Nx"]
    inputs: Float[Array, "*T Nu"] | None = None
    later_inputs: Float[Array, "*T Nu"] | None = None
    uncertainty: Float[Array, "*T Ny"] | None = None


class Expansion(NamedTuple):
    """First-order expansion of a transition about one state.

    Attributes:
        value: Mean of the next state.
        slope: Its derivative in the state.
        sources: Covariance of the noise over the step, separately for each column of
            the noise's factor: one per state if that is diagonal. None if the noise is
            not Gaussian.
        covariance: Their sum; that of the initial state where a series starts.
        sensitivity: Derivative of the value in the active coefficients, row by row.
        turning: Derivative of the terms in the state.
    """

    value: Float[Array, "Nx"]
    slope: Float[Array, "Nx Nx"]
    sources: Float[Array, "m Nx Nx"] | None
    covariance: Float[Array, "Nx Nx"] | None = None
    sensitivity: Float[Array, "Nx n"] | None = None
    turning: Float[Array, "M Nx"] | None = None


class AbstractLibraryMean(AbstractMean):
    """A mean that is a library of terms, with its coefficients.

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: One row per state, one column per term.
        moment: The schedule of this step, if there is one.
    """

    library: eqx.AbstractVar[AbstractLibrary]
    coefficients: eqx.AbstractVar[Float[Array, "Nx M"]]
    moment: eqx.AbstractVar[Schedule | None]

    @classmethod
    @abstractmethod
    def of(
        cls,
        library: AbstractLibrary,
        coefficients: Float[Array, "Nx M"],
        *,
        dt: Any,
        substeps: Any,
    ) -> "AbstractLibraryMean":
        """The mean with these coefficients.

        Args:
            library: The terms.
            coefficients: One row per state, one column per term.
            dt: Usual interval, or None; checked where it is needed.
            substeps: Runge-Kutta steps per interval, checked where they are needed.
        """

    @property
    @abstractmethod
    def dynamics(self) -> str:
        """Kind of dynamics: one of `DYNAMICS`."""

    @abstractmethod
    def design(
        self, x: Float[Array, "*batch Nx"]
    ) -> tuple[Float[Array, "*batch M"], Float[Array, "*batch Nx"]]:
        """Design matrix, and the offset that does not depend on coefficients."""

    @abstractmethod
    def expand(
        self,
        x: Float[Array, "Nx"],
        factor: Float[Array, "Nx m"] | None,
        active: Int[Array, "Nx A"] | None = None,
    ) -> Expansion:
        """First-order expansion of the mean, and of noise with this factor.

        Args:
            x: The state.
            factor: Factor of the covariance of the noise, or None.
            active: Columns of the coefficients to compute sensitivities for.
        """

    @abstractmethod
    def turned(
        self, x: Float[Array, "Nx"], away: Float[Array, "Nx"], found: Expansion
    ) -> Float[Array, "M"]:
        """By how much the design changes from one state to another, to first order.

        Args:
            x: The state.
            away: From it to the other one.
            found: The expansion about the state.
        """

    @abstractmethod
    def noise_length(self) -> Float[Array, ""]:
        """Factor on the variances of the noise over this step."""

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        defined = self.library.defined(self.variables(x))
        return defined if self.moment is None else defined | self.moment.fresh

    def with_coefficients(
        self, coefficients: Float[Array, "Nx M"]
    ) -> "AbstractLibraryMean":
        """The same mean with other coefficients."""
        return eqx.tree_at(lambda mean: mean.coefficients, self, coefficients)

    def at(self, moment: Schedule) -> "AbstractLibraryMean":
        """The mean during one step of a schedule."""
        return eqx.tree_at(
            lambda mean: mean.moment, self, moment, is_leaf=lambda leaf: leaf is None
        )

    def variables(self, x: Array, share: Any = 0.0) -> Array:
        """States and inputs, after a share of the step has elapsed."""
        if self.moment is None or self.moment.inputs is None:
            return x
        inputs = self.moment.inputs
        if self.moment.later_inputs is not None:
            inputs = inputs + share * (self.moment.later_inputs - inputs)
        inputs = jnp.broadcast_to(inputs, (*x.shape[:-1], inputs.shape[-1]))
        return jnp.concatenate([x, inputs], axis=-1)

    def starting(
        self, terms: Float[Array, "*batch M"], rest: Float[Array, "*batch Nx"]
    ) -> tuple[Array, Array]:
        """A design, or that of the initial state where a series starts."""
        if self.moment is None:
            return terms, rest
        fresh = self.moment.fresh
        return jnp.where(fresh, 0, terms), jnp.where(fresh, self.moment.starts, rest)


def squares(factor: Float[Array, "Nx m"]) -> Float[Array, "m Nx Nx"]:
    """Outer product of each column with itself."""
    return jnp.einsum("ac,bc->cab", factor, factor)


def by_equation(
    terms: Float[Array, "M"], active: Int[Array, "Nx A"]
) -> Float[Array, "Nx n"]:
    """Sensitivity of each equation to its own coefficients: their terms."""
    n = len(active)
    own = jnp.eye(n, dtype=terms.dtype)[:, :, None] * terms[active]
    return own.reshape(n, -1)
