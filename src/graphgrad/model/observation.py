"""Observation models: the distribution of an observation given the state."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .distributions import AbstractIndependentNoise
from .noise import GaussianNoise


class AbstractObservation(eqx.Module):
    """The distribution of y given x: a mean, a density and a sampler."""

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

        NaN marks missing entries: the density is that of the others.
        """


class LinearGaussian(AbstractObservation):
    """y = H x + noise; entries of y may be missing.

    Attributes:
        noise: Gaussian measurement noise.
        matrix: H of shape `(Ny, Nx)`; `None` for the identity.
    """

    noise: GaussianNoise
    matrix: Float[Array, "Ny Nx"] | None = None

    def mean(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Ny"]:
        return x if self.matrix is None else x @ self.matrix.T

    def log_prob(
        self, y: Float[Array, "Ny"], x: Float[Array, "*batch Nx"]
    ) -> Float[Array, "*batch"]:
        mean, observed = self.mean(x), ~jnp.isnan(y)
        # Missing entries are set to their mean; their density is removed below.
        log_prob = self.noise.only(observed).log_prob(
            jnp.where(observed, y, mean), mean
        )
        return log_prob + 0.5 * math.log(2 * math.pi) * jnp.sum(~observed)


class GeneralObservation(AbstractObservation):
    """y has any distribution of independent entries about a function of x.

    Attributes:
        noise: The distribution, given its mean.
        matrix: H, if the mean is H x.
        function: A differentiable function from one state to the mean, if it is not
            H x. The mean is x if neither is given.
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
        observed = ~jnp.isnan(y)
        # Any value in the support of the distribution where entries are missing.
        density = self.noise.log_density(jnp.where(observed, y, 0), mean)
        return jnp.sum(jnp.where(observed, density, 0), axis=-1)
