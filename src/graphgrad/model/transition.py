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


class LibraryMean(AbstractMean):
    """f(x) = C phi(x), Eq. (7).

    Attributes:
        library: The terms phi.
        coefficients: C, of shape `(Nx, M)`.
    """

    library: AbstractLibrary
    coefficients: Float[Array, "Nx M"]

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        return self.library(x) @ self.coefficients.T

    def defined(self, x: Float[Array, "*batch Nx"]) -> Bool[Array, "*batch"]:
        return self.library.defined(x)


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
