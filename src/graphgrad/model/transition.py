"""How the state moves: a mean and a noise about it. Eq. (6), (7).

A mean that is made of a library of terms owns its coefficients. It gives its value, its
derivative in the state, its design in the coefficients, and itself with other ones, so
that nobody else needs to know whether it is a map, a difference or a flow.
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
from .noise import AbstractNoise, AbstractScaleNoise, GaussianNoise


def refuse_form(form: Any) -> None:
    """Say what took the place of `form`, if it is given."""
    if form is not None:
        raise ValueError(
            f"`form` must be left out, got {form!r}. Use `dynamics`: 'flow' for dx/dt, "
            "'difference' for x[t+1] - x[t] (what form='rate' was), 'map' for x[t+1]."
        )


def check_dynamics(dynamics: Any, *, auto: bool = False) -> str:
    """The kind of dynamics, if there is one of this name."""
    choices = ("auto", *DYNAMICS) if auto else DYNAMICS
    return check_choice("dynamics", dynamics, choices)


class AbstractMean(eqx.Module):
    """The map from a state to the mean of the next one."""

    @abstractmethod
    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        """Mean of the next state; finite even where `defined` is false."""

    @abstractmethod
    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        """Whether the map has a real value at x."""


class Schedule(eqx.Module):
    """What differs from step to step; made by `arrange`.

    Attributes:
        pace: Length of each step, in units of the usual one.
        fresh: Where a new series begins, with no memory of the one before.
        starts: Mean of its first state.
        inputs: Inputs that act during each step, as further variables of the library.
        later_inputs: Inputs at the end of each step, where they change along it in a
            straight line; None where they are held.
        uncertainty: How many times larger the standard deviation of each entry of the
            observation at the end of a step is than the model's.
    """

    pace: Float[Array, "*T"]
    fresh: Bool[Array, "*T"]
    starts: Float[Array, "*T Nx"]
    inputs: Float[Array, "*T Nu"] | None = None
    later_inputs: Float[Array, "*T Nu"] | None = None
    uncertainty: Float[Array, "*T Ny"] | None = None


class Expansion(NamedTuple):
    """A transition about one state, to first order.

    Attributes:
        value: Mean of the next state.
        slope: Its derivative in the state.
        sources: Covariance of the noise over the step, apart by the columns of the
            noise's own factor: one a state if that is diagonal. None where the noise is
            not Gaussian.
        covariance: Their sum; that of a first state where a series begins.
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
    """A mean made of terms, which owns their coefficients.

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: One row a state, one column a term.
        moment: What is special about this step, if anything.
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
        """The mean of these coefficients.

        Args:
            library: The terms.
            coefficients: One row a state, one column a term.
            dt: Usual length of an interval, or None; checked where it is needed.
            substeps: Runge-Kutta steps an interval, checked where they are needed.
        """

    @property
    @abstractmethod
    def dynamics(self) -> str:
        """Which of `DYNAMICS` it is."""

    @abstractmethod
    def design(
        self, x: Float[Array, "*batch Nx"]
    ) -> tuple[Float[Array, "*batch M"], Float[Array, "*batch Nx"]]:
        """What multiplies the coefficients, and what is beside that."""

    @abstractmethod
    def expand(
        self,
        x: Float[Array, "Nx"],
        factor: Float[Array, "Nx m"] | None,
        active: Int[Array, "Nx A"] | None = None,
    ) -> Expansion:
        """The mean and the noise of this factor about one state.

        Args:
            x: The state.
            factor: Of the covariance of the noise, or None.
            active: Columns of the coefficients whose sensitivity is wanted.
        """

    @abstractmethod
    def noise_length(self) -> Float[Array, ""]:
        """By how much the variances of a noise grow over this step."""

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
        """States and inputs, after a share of the step."""
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
        """A design, or that of a first state where a series begins."""
        if self.moment is None:
            return terms, rest
        fresh = self.moment.fresh
        return jnp.where(fresh, 0, terms), jnp.where(fresh, self.moment.starts, rest)


class _AbstractStep(AbstractLibraryMean):
    """One evaluation of the terms a step."""

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
        turning, keep = jax.jacfwd(self.design)(x)
        C, length = self.coefficients, self.noise_length()
        return Expansion(
            value=rest + C @ terms,
            slope=keep + C @ turning,
            sources=None if factor is None else length * squares(factor),
            sensitivity=None if active is None else by_equation(terms, active),
            turning=turning,
        )


class MapMean(_AbstractStep):
    """f(x) = C phi(x), Eq. (7); over a step of length s, x + s (C phi(x) - x).

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: C, of shape `(Nx, M)`.
        moment: What is special about this step, if anything.
    """

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
    ) -> "MapMean":
        return cls(library, coefficients)

    @property
    def dynamics(self) -> str:
        return "map"

    def design(
        self, x: Float[Array, "*batch Nx"]
    ) -> tuple[Float[Array, "*batch M"], Float[Array, "*batch Nx"]]:
        terms = self.library(self.variables(x))
        if self.moment is None:
            return terms, jnp.zeros_like(x)
        pace = self.moment.pace
        return self.starting(pace * terms, (1 - pace) * x)


class DifferenceMean(_AbstractStep):
    """f(x) = x + A phi(x); over a step of length s, x + s A phi(x).

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: A, of shape `(Nx, M)`.
        moment: What is special about this step, if anything.
    """

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
    ) -> "DifferenceMean":
        return cls(library, coefficients)

    @property
    def dynamics(self) -> str:
        return "difference"

    def design(
        self, x: Float[Array, "*batch Nx"]
    ) -> tuple[Float[Array, "*batch M"], Float[Array, "*batch Nx"]]:
        terms = self.library(self.variables(x))
        return self.starting(self.noise_length() * terms, x)


def squares(factor: Float[Array, "Nx m"]) -> Float[Array, "m Nx Nx"]:
    """Products of each column with itself."""
    return jnp.einsum("ac,bc->cab", factor, factor)


def by_equation(
    terms: Float[Array, "M"], active: Int[Array, "Nx A"]
) -> Float[Array, "Nx n"]:
    """Each coefficient acts on its own equation, by its term."""
    n = len(active)
    own = jnp.eye(n, dtype=terms.dtype)[:, :, None] * terms[active]
    return own.reshape(n, -1)


class Transition(eqx.Module):
    """The distribution of the next state given this one.

    Attributes:
        mean: Any map; an `AbstractLibraryMean` when the equations are looked for.
        noise: About the mean: of a step, or of a unit of time for a flow.
        begin: About the first state of a series, at a step that may be one.
    """

    mean: AbstractMean
    noise: AbstractNoise
    begin: GaussianNoise | None = None

    @property
    def same_noise(self) -> bool:
        """Whether the noise over a step is the same for all states."""
        flows = isinstance(self.mean, AbstractLibraryMean) and (
            self.mean.dynamics == "flow"
        )
        return not (flows and isinstance(self.noise, GaussianNoise))

    def expand(
        self, x: Float[Array, "Nx"], active: Int[Array, "Nx A"] | None = None
    ) -> Expansion:
        """The transition about one state, to first order."""
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
            return GaussianNoise.of(_definite(covariance))
        if self.mean.dynamics != "flow" and self.begin is None:
            return self.noise
        noise = self.noise
        assert isinstance(noise, AbstractScaleNoise)
        factor = jnp.sqrt(self.mean.noise_length())
        if self.begin is not None:
            # A new series begins by the distribution of first states.
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
        z = jax.random.normal(key, x.shape, x.dtype)
        return self.mean(x) + jnp.einsum("...ij,...j->...i", self._roots(x), z)

    def log_prob(
        self, x_next: Float[Array, "*batch Nx"], x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch"]:
        """Log-density of next states; minus infinity outside the map's domain."""
        if self.same_noise:
            density = self._shared(x).log_prob(x_next, self.mean(x))
        else:
            # Factored after what was factored for the next states.
            roots = self._roots(x, 0 * x_next[..., :1, None])
            density = jnp.vectorize(
                lambda root, x, mean: GaussianNoise(root).log_prob(x, mean),
                signature="(n,n),(n),(n)->()",
            )(roots, x_next, self.mean(x))
        return jnp.where(self.mean.defined(x), density, -jnp.inf)

    def _shared(self, x: Array) -> AbstractNoise:
        """The noise over the step, which is the same for all of these states."""
        return self.noise_at(x.reshape(-1, x.shape[-1])[0])

    def _roots(self, x: Array, after: Any = 0.0) -> Float[Array, "*batch Nx Nx"]:
        """Cholesky factors of the covariances over the step."""

        def covariance(x: Array) -> Array:
            found = self.expand(x).covariance
            assert found is not None
            return _definite(found)

        each = jnp.vectorize(covariance, signature="(n)->(n,n)")
        return jnp.linalg.cholesky(each(x) + after)

    def _fresh(self) -> Array:
        mean = self.mean
        assert isinstance(mean, AbstractLibraryMean)
        assert mean.moment is not None
        return mean.moment.fresh


def _definite(covariance: Float[Array, "N N"]) -> Float[Array, "N N"]:
    """A covariance that rounding may have made semidefinite."""
    jitter = 10 * jnp.finfo(covariance.dtype).eps * jnp.trace(covariance)
    return covariance + jitter * jnp.eye(len(covariance), dtype=covariance.dtype)
