"""How the state moves: a mean map and a noise about it. Eq. (6), (7)."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..library import AbstractLibrary
from .noise import AbstractNoise


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
        pace: Length of each step, in steps of the map.
        fresh: Where a new series begins, with no memory of the one before.
        starts: Mean of its first state.
        inputs: Inputs that act during each step, as further variables of the library.
        uncertainty: How many times larger the standard deviation of each entry of the
            observation at the end of a step is than the model's.
    """

    pace: Float[Array, "*T"]
    fresh: Bool[Array, "*T"]
    starts: Float[Array, "*T Nx"]
    inputs: Float[Array, "*T Nu"] | None = None
    uncertainty: Float[Array, "*T Ny"] | None = None


class LibraryMean(AbstractMean):
    """f(x) = C phi(x), Eq. (7); over a step of length s, x + s (C phi(x) - x).

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: C, of shape `(Nx, M)`.
        moment: What is special about this step, if anything.
    """

    library: AbstractLibrary
    coefficients: Float[Array, "Nx M"]
    moment: Schedule | None = None

    def terms(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch M"]:
        """What multiplies the coefficients."""
        terms = self.library(self._variables(x))
        if self.moment is None:
            return terms
        return terms * jnp.where(self.moment.fresh, 0, self.moment.pace)

    def rest(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        """What does not depend on the coefficients."""
        if self.moment is None:
            return jnp.zeros_like(x)
        left = (1 - self.moment.pace) * x
        return jnp.where(self.moment.fresh, self.moment.starts, left)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        moved = self.terms(x) @ self.coefficients.T
        return moved if self.moment is None else self.rest(x) + moved

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        defined = self.library.defined(self._variables(x))
        return defined if self.moment is None else defined | self.moment.fresh

    def _variables(self, x: Array) -> Array:
        if self.moment is None or self.moment.inputs is None:
            return x
        inputs = self.moment.inputs
        inputs = jnp.broadcast_to(inputs, (*x.shape[:-1], inputs.shape[-1]))
        return jnp.concatenate([x, inputs], axis=-1)


class Transition(eqx.Module):
    """The law of the next state given this one.

    Attributes:
        mean: Any map; `LibraryMean` when the equations are looked for.
        noise: The law about the mean.
    """

    mean: AbstractMean
    noise: AbstractNoise

    def sample(
        self, key: PRNGKeyArray, x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch Nx"]:
        """One next state for each state."""
        return self.noise.sample(key, self.mean(x))

    def log_prob(
        self, x_next: Float[Array, "*batch Nx"], x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch"]:
        """Log-density of next states; minus infinity outside the map's domain."""
        density = self.noise.log_prob(x_next, self.mean(x))
        return jnp.where(self.mean.defined(x), density, -jnp.inf)
