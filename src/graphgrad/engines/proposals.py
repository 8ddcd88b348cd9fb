"""Proposal distributions of new particles: the pi of Alg. 1 and 2."""

from abc import abstractmethod
from collections.abc import MutableMapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .. import registries
from ..model import (
    AbstractMean,
    GaussianNoise,
    LinearGaussian,
    StateSpaceModel,
    Transition,
    standard_normals,
)
from .linalg import inverse_root
from .sweep import ObservedRow


class AbstractProposalDistribution(eqx.Module):
    """The proposal distribution of one model: pi(x_t | x_{t-1}, y_t)."""

    @abstractmethod
    def sample(
        self, key: PRNGKeyArray, x: Float[Array, "K Nx"], y: Float[Array, "Ny"]
    ) -> Float[Array, "K Nx"]:
        """One new particle per particle, smooth in the model's parameters."""

    def draws(
        self,
        keys: Array,
        shape: tuple[int, ...],  # noqa: ARG002
        dtype: Any,  # noqa: ARG002
    ) -> Any:
        """What `sample` draws from each key for particles of a shape.

        As for `AbstractNoise`: drawn for all steps before the loop over time, and the
        keys themselves if not overridden.
        """
        return keys

    def placed(
        self, drawn: Any, x: Float[Array, "K Nx"], y: Float[Array, "Ny"]
    ) -> Float[Array, "K Nx"]:
        """One new particle per particle: `sample`, from one entry of `draws`."""
        return self.sample(drawn, x, y)

    @abstractmethod
    def log_prob(
        self,
        x_next: Float[Array, "K Nx"],
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],
    ) -> Float[Array, "K"]:
        """Log-density of the new particles."""


class AbstractProposal(eqx.Module):
    """Interface of proposals.

    A custom proposal implements `prepare`: it is called once per filter run, outside
    the loop over time, and returns the distribution to sample from.
    """

    @abstractmethod
    def prepare(self, model: StateSpaceModel) -> AbstractProposalDistribution:
        """The proposal distribution; computations that do not depend on time."""


class _TransitionDistribution(AbstractProposalDistribution):
    transition: Transition

    def sample(
        self,
        key: PRNGKeyArray,
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],  # noqa: ARG002
    ) -> Float[Array, "K Nx"]:
        return self.transition.sample(key, x)

    def draws(self, keys: Array, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.transition.draws(keys, shape, dtype)

    def placed(
        self,
        drawn: Any,
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],  # noqa: ARG002
    ) -> Float[Array, "K Nx"]:
        return self.transition.placed(drawn, x)

    def log_prob(
        self,
        x_next: Float[Array, "K Nx"],
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],  # noqa: ARG002
    ) -> Float[Array, "K"]:
        return self.transition.log_prob(x_next, x)


class Bootstrap(AbstractProposal):
    """pi = p(x_t | x_{t-1}): for any model."""

    def prepare(self, model: StateSpaceModel) -> AbstractProposalDistribution:
        return _TransitionDistribution(model.transition)


class _NormalDistribution(AbstractProposalDistribution):
    """A proposal that moves each particle by normal numbers."""

    def sample(
        self, key: PRNGKeyArray, x: Float[Array, "K Nx"], y: Float[Array, "Ny"]
    ) -> Float[Array, "K Nx"]:
        return self.placed(jax.random.normal(key, x.shape, x.dtype), x, y)

    def draws(
        self, keys: Array, shape: tuple[int, ...], dtype: Any
    ) -> Float[Array, "T size"]:
        return standard_normals(keys, shape, dtype)

    @abstractmethod
    def placed(
        self, drawn: Float[Array, "..."], x: Float[Array, "K Nx"], y: Float[Array, "Ny"]
    ) -> Float[Array, "K Nx"]:
        """One new particle per particle, from one row of `draws`."""


class _GuidedDistribution(_NormalDistribution):
    mean: AbstractMean
    noise: GaussianNoise
    observation: LinearGaussian

    def _distribution(self, x: Array, y: Array) -> tuple[Array, GaussianNoise]:
        """Means of x_t given x_{t-1} and y_t, and the noise about them."""
        mean, observed = self.mean(x), ~jnp.isnan(y)
        innovation = jnp.where(observed, y - self.observation.mean(mean), 0)
        noise, observation = self.noise, self.observation
        if observation.matrix is None and noise.diagonal and observation.noise.diagonal:
            q, r = noise.scale**2, observation.noise.scale**2
            scale = jnp.where(observed, jnp.sqrt(q * r / (q + r)), noise.scale)
            return mean + q / (q + r) * innovation, GaussianNoise(scale)
        gain, covariance = _condition(noise, observation, y)
        return mean + innovation @ gain.T, GaussianNoise.of(covariance)

    def placed(
        self, drawn: Float[Array, "..."], x: Float[Array, "K Nx"], y: Float[Array, "Ny"]
    ) -> Float[Array, "K Nx"]:
        mean, noise = self._distribution(x, y)
        return noise.placed(drawn, mean)

    def log_prob(
        self,
        x_next: Float[Array, "K Nx"],
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],
    ) -> Float[Array, "K"]:
        mean, noise = self._distribution(x, y)
        return noise.log_prob(x_next, mean)


class LocallyOptimal(AbstractProposal):
    """pi = p(x_t | x_{t-1}, y_t), for Gaussian noise and y linear in x."""

    def prepare(self, model: StateSpaceModel) -> AbstractProposalDistribution:
        noise, observation = model.transition.noise, model.observation
        if not isinstance(noise, GaussianNoise) or not isinstance(
            observation, LinearGaussian
        ):
            raise ValueError(
                "`proposal` must be one that the model allows: LocallyOptimal needs "
                "Gaussian process noise and a linear Gaussian observation, got "
                f"{type(noise).__name__} and {type(observation).__name__}. "
                "Use Linearised or Bootstrap."
            )
        transition = model.transition
        if not transition.same_noise:
            return _LinearisedDistribution(
                model
            )  # exact, with a noise for each particle
        shared = transition.noise_at(model.initial_mean)
        assert isinstance(shared, GaussianNoise)
        return _GuidedDistribution(transition.mean, shared, observation)


class _LinearisedDistribution(_NormalDistribution):
    model: StateSpaceModel

    def _distribution(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Approximate mean and covariance of x_t given one x_{t-1} and y_t.

        The distributions are linearised about the predicted state.
        """
        transition = self.model.transition
        predicted = transition.mean(x)
        Q = transition.noise_at(x).local(predicted, predicted).covariance
        observed, _ = ObservedRow.at(self.model.observation, y, predicted)
        H = observed.matrix
        whiten = inverse_root(H @ Q @ H.T + observed.covariance)
        gain = Q @ H.T @ whiten.T @ whiten
        shrink = jnp.eye(len(x), dtype=x.dtype) - gain @ H
        covariance = shrink @ Q @ shrink.T + gain @ observed.covariance @ gain.T
        return predicted + gain @ (observed.y - H @ predicted), covariance

    def placed(
        self, drawn: Float[Array, "..."], x: Float[Array, "K Nx"], y: Float[Array, "Ny"]
    ) -> Float[Array, "K Nx"]:
        means, covariances = jax.vmap(self._distribution, in_axes=(0, None))(x, y)
        z = drawn.reshape(means.shape)
        return means + jnp.einsum("kij,kj->ki", jnp.linalg.cholesky(covariances), z)

    def log_prob(
        self,
        x_next: Float[Array, "K Nx"],
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],
    ) -> Float[Array, "K"]:
        means, covariances = jax.vmap(self._distribution, in_axes=(0, None))(x, y)
        # Depends on the factors of `sample`; see `linalg`.
        covariances += 0 * x_next[0, 0]
        return jax.vmap(lambda x, m, P: GaussianNoise.of(P).log_prob(x, m))(
            x_next, means, covariances
        )


class Linearised(AbstractProposal):
    """Locally optimal proposal of the model linearised at each particle.

    For any differentiable observation function and any distribution.
    """

    def prepare(self, model: StateSpaceModel) -> AbstractProposalDistribution:
        return _LinearisedDistribution(model)


def _condition(
    noise: GaussianNoise, observation: LinearGaussian, y: Array
) -> tuple[Array, Array]:
    """Gain and covariance of x given y = H x + r, for x of covariance Q."""
    Q, H = noise.covariance, observation.matrix
    if H is None:
        H = jnp.eye(Q.shape[0], dtype=Q.dtype)
    _, H, R, _ = ObservedRow.of(y, H, observation.noise.covariance)
    S = jax.scipy.linalg.cho_factor(H @ Q @ H.T + R, lower=True)
    gain = jax.scipy.linalg.cho_solve(S, H @ Q).T
    # Joseph's form: symmetric and positive definite under rounding.
    shrink = jnp.eye(Q.shape[0], dtype=Q.dtype) - gain @ H
    return gain, shrink @ Q @ shrink.T + gain @ R @ gain.T


PROPOSALS: MutableMapping[str, type[AbstractProposal]] = registries.PROPOSALS
