"""Where new particles are drawn: the pi of Alg. 1 and 2."""

from abc import abstractmethod
from collections.abc import MutableMapping

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
)
from .linalg import inverse_root
from .sweep import Seen


class AbstractProposalLaw(eqx.Module):
    """A proposal made ready for one model: pi(x_t | x_{t-1}, y_t)."""

    @abstractmethod
    def sample(
        self, key: PRNGKeyArray, x: Float[Array, "K Nx"], y: Float[Array, "Ny"]
    ) -> Float[Array, "K Nx"]:
        """One new particle for each particle, smooth in the model's parameters."""

    @abstractmethod
    def log_prob(
        self,
        x_next: Float[Array, "K Nx"],
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],
    ) -> Float[Array, "K"]:
        """Log-density of the new particles."""


class AbstractProposal(eqx.Module):
    """A kind of proposal.

    Write your own by implementing `prepare`: it is called once a filter run, outside
    the loop over time, and returns the law to draw from.
    """

    @abstractmethod
    def prepare(self, model: StateSpaceModel) -> AbstractProposalLaw:
        """What does not depend on time, computed once."""


class _TransitionLaw(AbstractProposalLaw):
    transition: Transition

    def sample(
        self,
        key: PRNGKeyArray,
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],  # noqa: ARG002
    ) -> Float[Array, "K Nx"]:
        return self.transition.sample(key, x)

    def log_prob(
        self,
        x_next: Float[Array, "K Nx"],
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],  # noqa: ARG002
    ) -> Float[Array, "K"]:
        return self.transition.log_prob(x_next, x)


class Bootstrap(AbstractProposal):
    """pi = p(x_t | x_{t-1}): works for every model."""

    def prepare(self, model: StateSpaceModel) -> AbstractProposalLaw:
        return _TransitionLaw(model.transition)


class _GuidedLaw(AbstractProposalLaw):
    mean: AbstractMean
    noise: GaussianNoise
    observation: LinearGaussian

    def _law(self, x: Array, y: Array) -> tuple[Array, GaussianNoise]:
        """Means of x_t given x_{t-1} and y_t, and the noise about them."""
        mean, seen = self.mean(x), ~jnp.isnan(y)
        surprise = jnp.where(seen, y - self.observation.mean(mean), 0)
        noise, observation = self.noise, self.observation
        if observation.matrix is None and noise.diagonal and observation.noise.diagonal:
            q, r = noise.scale**2, observation.noise.scale**2
            scale = jnp.where(seen, jnp.sqrt(q * r / (q + r)), noise.scale)
            return mean + q / (q + r) * surprise, GaussianNoise(scale)
        gain, covariance = _condition(noise, observation, y)
        return mean + surprise @ gain.T, GaussianNoise.of(covariance)

    def sample(
        self, key: PRNGKeyArray, x: Float[Array, "K Nx"], y: Float[Array, "Ny"]
    ) -> Float[Array, "K Nx"]:
        mean, noise = self._law(x, y)
        return noise.sample(key, mean)

    def log_prob(
        self,
        x_next: Float[Array, "K Nx"],
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],
    ) -> Float[Array, "K"]:
        mean, noise = self._law(x, y)
        return noise.log_prob(x_next, mean)


class LocallyOptimal(AbstractProposal):
    """pi = p(x_t | x_{t-1}, y_t), where noises are Gaussian and y is linear in x."""

    def prepare(self, model: StateSpaceModel) -> AbstractProposalLaw:
        noise, observation = model.transition.noise, model.observation
        if not isinstance(noise, GaussianNoise) or not isinstance(
            observation, LinearGaussian
        ):
            raise ValueError(
                "`proposal` must be one that the model allows: LocallyOptimal needs "
                "Gaussian state noise and a linear Gaussian observation, got "
                f"{type(noise).__name__} and {type(observation).__name__}. "
                "Use Linearised or Bootstrap."
            )
        transition = model.transition
        if not transition.same_noise:
            return _LinearisedLaw(model)  # exact, with a noise for each particle
        shared = transition.noise_at(model.initial_mean)
        assert isinstance(shared, GaussianNoise)
        return _GuidedLaw(transition.mean, shared, observation)


class _LinearisedLaw(AbstractProposalLaw):
    model: StateSpaceModel

    def _law(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Mean and covariance of x_t given one x_{t-1} and y_t, nearly.

        The laws are made Gaussian about the predicted state.
        """
        transition = self.model.transition
        predicted = transition.mean(x)
        Q = transition.noise_at(x).local(predicted, predicted).covariance
        seen, _ = Seen.at(self.model.observation, y, predicted)
        H = seen.matrix
        whiten = inverse_root(H @ Q @ H.T + seen.covariance)
        gain = Q @ H.T @ whiten.T @ whiten
        shrink = jnp.eye(len(x), dtype=x.dtype) - gain @ H
        covariance = shrink @ Q @ shrink.T + gain @ seen.covariance @ gain.T
        return predicted + gain @ (seen.y - H @ predicted), covariance

    def sample(
        self, key: PRNGKeyArray, x: Float[Array, "K Nx"], y: Float[Array, "Ny"]
    ) -> Float[Array, "K Nx"]:
        means, covariances = jax.vmap(self._law, in_axes=(0, None))(x, y)
        z = jax.random.normal(key, means.shape, means.dtype)
        return means + jnp.einsum("kij,kj->ki", jnp.linalg.cholesky(covariances), z)

    def log_prob(
        self,
        x_next: Float[Array, "K Nx"],
        x: Float[Array, "K Nx"],
        y: Float[Array, "Ny"],
    ) -> Float[Array, "K"]:
        means, covariances = jax.vmap(self._law, in_axes=(0, None))(x, y)
        # Factored after those of `sample`, where both are wanted.
        covariances += 0 * x_next[0, 0]
        return jax.vmap(lambda x, m, P: GaussianNoise.of(P).log_prob(x, m))(
            x_next, means, covariances
        )


class Linearised(AbstractProposal):
    """The locally optimal proposal of the model made linear Gaussian at each particle.

    For observations by any differentiable function and law.
    """

    def prepare(self, model: StateSpaceModel) -> AbstractProposalLaw:
        return _LinearisedLaw(model)


def _condition(
    noise: GaussianNoise, observation: LinearGaussian, y: Array
) -> tuple[Array, Array]:
    """Gain and covariance of x given y = H x + r, for x of covariance Q."""
    Q, H = noise.covariance, observation.matrix
    if H is None:
        H = jnp.eye(Q.shape[0], dtype=Q.dtype)
    _, H, R, _ = Seen.of(y, H, observation.noise.covariance)
    S = jax.scipy.linalg.cho_factor(H @ Q @ H.T + R, lower=True)
    gain = jax.scipy.linalg.cho_solve(S, H @ Q).T
    # Joseph's form: symmetric and positive definite under rounding.
    shrink = jnp.eye(Q.shape[0], dtype=Q.dtype) - gain @ H
    return gain, shrink @ Q @ shrink.T + gain @ R @ gain.T


PROPOSALS: MutableMapping[str, type[AbstractProposal]] = registries.PROPOSALS
