"""The transition of the state: a mean and process noise about it. Eq. (6), (7).

A mean that is a library of terms owns its coefficients. It provides its value, its
derivative in the state, its design matrix, and a copy with other coefficients, so that
no other code needs to know whether it is a map, a difference or a flow.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..checks import check_choice
from ..library import AbstractLibrary
from ..registries import DYNAMICS as DYNAMICS
from .noise import (
    AbstractNoise,
    AbstractScaleNoise,
    GaussianNoise,
    definite,
    standard_normals,
)


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


class _AbstractStep(AbstractLibraryMean):
    """A mean with one evaluation of the terms per step."""

    library: AbstractLibrary
    coefficients: Float[Array, "Nx M"]
    moment: Schedule | None = None

    @classmethod
    def of(
        cls,
        library: AbstractLibrary,
        coefficients: Float[Array, "Nx M"],
        *,
        dt: Any,  # noqa: ARG003
        substeps: Any,  # noqa: ARG003
    ) -> "_AbstractStep":
        return cls(library, coefficients)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        terms, rest = self.design(x)
        return rest + terms @ self.coefficients.T

    def noise_length(self) -> Float[Array, ""]:
        one = jnp.ones((), self.coefficients.dtype)
        return one if self.moment is None else self.moment.pace

    def expand(
        self,
        x: Float[Array, "Nx"],
        factor: Float[Array, "Nx m"] | None,
        active: Int[Array, "Nx A"] | None = None,
    ) -> Expansion:
        terms, rest = self.design(x)
        C, length = self.coefficients, self.noise_length()
        slope = self.library.derivative(C, self.variables(x))[:, : len(x)]
        slope = length * slope + self._kept() * jnp.eye(len(x), dtype=x.dtype)
        if self.moment is not None:
            slope = jnp.where(self.moment.fresh, 0, slope)
        return Expansion(
            value=rest + C @ terms,
            slope=slope,
            sources=None if factor is None else length * squares(factor),
            covariance=None if factor is None else length * factor @ factor.T,
            sensitivity=None if active is None else by_equation(terms, active),
        )

    @abstractmethod
    def _kept(self) -> Float[Array, ""]:
        """Share of the state that stays, whatever the coefficients are."""

    def design(
        self, x: Float[Array, "*batch Nx"]
    ) -> tuple[Float[Array, "*batch M"], Float[Array, "*batch Nx"]]:
        terms = self.library(self.variables(x))
        return self.starting(self.noise_length() * terms, self._kept() * x)

    def turned(
        self,
        x: Float[Array, "Nx"],
        away: Float[Array, "Nx"],
        found: Expansion,  # noqa: ARG002
    ) -> Float[Array, "M"]:
        return jax.jvp(lambda x: self.design(x)[0], (x,), (away,))[1]


class MapMean(_AbstractStep):
    """f(x) = C phi(x), Eq. (7); over a step of length s, x + s (C phi(x) - x).

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: C, of shape `(Nx, M)`.
        moment: The schedule of this step, if there is one.
    """

    @property
    def dynamics(self) -> str:
        return "map"

    def _kept(self) -> Float[Array, ""]:
        return 1 - self.noise_length()


class DifferenceMean(_AbstractStep):
    """f(x) = x + A phi(x); over a step of length s, x + s A phi(x).

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: A, of shape `(Nx, M)`.
        moment: The schedule of this step, if there is one.
    """

    @property
    def dynamics(self) -> str:
        return "difference"

    def _kept(self) -> Float[Array, ""]:
        return jnp.ones((), self.coefficients.dtype)


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


class Transition(eqx.Module):
    """The distribution of the next state given this one.

    Attributes:
        mean: Any mean; an `AbstractLibraryMean` if the equations are to be fitted.
        noise: Process noise: per step, or per unit of time for a flow.
        begin: Noise of the initial state, at a step that may start a series.
    """

    mean: AbstractMean
    noise: AbstractNoise
    begin: GaussianNoise | None = None

    @property
    def same_noise(self) -> bool:
        """Whether the noise over a step does not depend on the state."""
        flows = isinstance(self.mean, AbstractLibraryMean) and (
            self.mean.dynamics == "flow"
        )
        return not (flows and isinstance(self.noise, GaussianNoise))

    def expand(
        self, x: Float[Array, "Nx"], active: Int[Array, "Nx A"] | None = None
    ) -> Expansion:
        """First-order expansion about one state."""
        noise = self.noise
        factor = noise.factor if isinstance(noise, GaussianNoise) else None
        if isinstance(self.mean, AbstractLibraryMean):
            found = self.mean.expand(x, factor, active)
        else:
            sources = None if factor is None else squares(factor)
            slope = jax.jacfwd(self.mean)(x)
            found = Expansion(self.mean(x), slope, sources)
        if found.sources is None:
            return found
        covariance = found.covariance
        if covariance is None:
            covariance = jnp.sum(found.sources, axis=0)
        if self.begin is not None:
            fresh = self._fresh()
            covariance = jnp.where(fresh, self.begin.covariance, covariance)
            found = found._replace(sources=jnp.where(fresh, 0, found.sources))
        return found._replace(covariance=covariance)

    def noise_at(self, x: Float[Array, "Nx"]) -> AbstractNoise:
        """The noise over the step from one state."""
        if not isinstance(self.mean, AbstractLibraryMean):
            return self.noise
        if not self.same_noise:
            covariance = self.expand(x).covariance
            assert covariance is not None
            return GaussianNoise.of(definite(covariance))
        if self.mean.dynamics != "flow" and self.begin is None:
            return self.noise
        noise = self.noise
        assert isinstance(noise, AbstractScaleNoise)
        factor = jnp.sqrt(self.mean.noise_length())
        if self.begin is not None:
            # A new series starts from the distribution of the initial state.
            assert self.mean.moment is not None
            starts = self.mean.moment.starts
            here = noise.local(starts, starts).variances
            begin = jnp.sqrt(self.begin.variances / here)
            factor = jnp.where(self._fresh(), begin, factor)
        return noise.times(factor)

    def sample(
        self, key: PRNGKeyArray, x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch Nx"]:
        """One next state for each state."""
        if self.same_noise:
            return self._shared(x).sample(key, self.mean(x))
        return self.placed(jax.random.normal(key, x.shape, x.dtype), x)

    def draws(self, keys: Array, shape: tuple[int, ...], dtype: Any) -> Any:
        """What `sample` draws from each key for states of a shape; see the noise."""
        if self.same_noise:
            return self.noise.draws(keys, shape, dtype)
        return standard_normals(keys, shape, dtype)

    def placed(
        self, drawn: Any, x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch Nx"]:
        """One next state for each state: `sample`, from one entry of `draws`."""
        if self.same_noise:
            return self._shared(x).placed(drawn, self.mean(x))
        z = drawn.reshape(x.shape)
        return self.mean(x) + jnp.einsum("...ij,...j->...i", self._roots(x), z)

    def log_prob(
        self, x_next: Float[Array, "*batch Nx"], x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch"]:
        """Log-density of next states; minus infinity where the mean is undefined."""
        if self.same_noise:
            density = self._shared(x).log_prob(x_next, self.mean(x))
        else:
            # Depends on the factors of the next states; see `engines.linalg`.
            roots = self._roots(x, 0 * x_next[..., :1, None])
            density = jnp.vectorize(
                lambda root, x, mean: GaussianNoise(root).log_prob(x, mean),
                signature="(n,n),(n),(n)->()",
            )(roots, x_next, self.mean(x))
        return jnp.where(self.mean.defined(x), density, -jnp.inf)

    def _shared(self, x: Array) -> AbstractNoise:
        """The noise over the step, for noise that does not depend on the state."""
        return self.noise_at(x.reshape(-1, x.shape[-1])[0])

    def _roots(self, x: Array, after: Any = 0.0) -> Float[Array, "*batch Nx Nx"]:
        """Cholesky factors of the covariances over the step."""

        def covariance(x: Array) -> Array:
            found = self.expand(x).covariance
            assert found is not None
            return definite(found)

        each = jnp.vectorize(covariance, signature="(n)->(n,n)")
        return jnp.linalg.cholesky(each(x) + after)

    def _fresh(self) -> Array:
        mean = self.mean
        assert isinstance(mean, AbstractLibraryMean)
        assert mean.moment is not None
        return mean.moment.fresh
