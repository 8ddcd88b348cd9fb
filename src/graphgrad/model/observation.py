"""What is seen of the state."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .laws import AbstractIndependentNoise
from .noise import GaussianNoise


class AbstractObservation(eqx.Module):
    """The law of y given x: anything that can be drawn and has a mean and a density."""

    noise: eqx.AbstractVar[Any]

    @abstractmethod
    def mean(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Ny"]:
        """The expected observation of each state."""

    def sample(
        self, key: PRNGKeyArray, x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch Ny"]:
        """One observation for each state."""
        return self.noise.sample(key, self.mean(x))

    @abstractmethod
    def log_prob(
        self, y: Float[Array, "Ny"], x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch"]:
        """Log-density of one observation for each of several states.

        NaN says that an entry was not observed: the density is that of the others.
        """


class LinearGaussian(AbstractObservation):
    """y = H x + noise; entries of y may be missing.

    Attributes:
        noise: Gaussian noise of the observation.
        matrix: H of shape `(Ny, Nx)`; `None` when every state is seen as it is.
    """

    noise: GaussianNoise
    matrix: Float[Array, "Ny Nx"] | None = None

    def mean(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Ny"]:
        return x if self.matrix is None else x @ self.matrix.T

    def log_prob(
        self, y: Float[Array, "Ny"], x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch"]:
        mean, seen = self.mean(x), ~jnp.isnan(y)
        # What was not observed is where it is expected, with a density to take out.
        log_prob = self.noise.only(seen).log_prob(jnp.where(seen, y, mean), mean)
        return log_prob + 0.5 * math.log(2 * math.pi) * jnp.sum(~seen)


class GeneralObservation(AbstractObservation):
    """y scatters about a function of x, by any law of independent entries.

    Attributes:
        noise: The law, about its mean.
        matrix: H, where the mean is H x.
        function: Or a differentiable function from one state to the mean; neither of
            them when every state is seen as it is.
    """

    noise: AbstractIndependentNoise | GaussianNoise
    matrix: Float[Array, "Ny Nx"] | None = None
    function: Callable[[Array], Array] | None = eqx.field(static=True, default=None)

    def mean(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Ny"]:
        if self.function is not None:
            return jnp.vectorize(self.function, signature="(n)->(m)")(x)
        return x if self.matrix is None else x @ self.matrix.T

    def log_prob(
        self, y: Float[Array, "Ny"], x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch"]:
        mean = self.mean(x)
        if isinstance(self.noise, GaussianNoise):
            return LinearGaussian(self.noise).log_prob(y, mean)
        seen = ~jnp.isnan(y)
        # Any value that the law allows where nothing was seen.
        density = self.noise.log_density(jnp.where(seen, y, 0), mean)
        return jnp.sum(jnp.where(seen, density, 0), axis=-1)
