"""The interface of engines, and their result: smoothed states as weighted points."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from scipy.linalg import hadamard

from ..model import (
    AbstractObservation,
    GaussianNoise,
    LinearGaussian,
    StateSpaceModel,
)


class Sweep(NamedTuple):
    """One smoother pass: likelihood, filtered means, smoothed pairs of states.

    The distribution of (x_{t-1}, x_t) given all data is represented by P weighted
    points. Expectations of any function of a pair, and so all E-step statistics, are
    weighted sums over them.

    Attributes:
        log_likelihood: Estimate of log p(y_1:T).
        filtered: Means of x_t given y_1:t.
        before: Points of x_{t-1}.
        after: Points of x_t, or its mean given that of x_{t-1}.
        weights: Weights of the points; they sum to one at each t.
        spread: Covariance of x_t about `after`; zero for drawn points.
        variances: Of the process noise of x_t given x_{t-1}, or, if it is not Gaussian,
            of the Gaussian noise with the same score there.
        path: Trajectory x_0..x_T: one draw from the smoothed distribution, or its mean.
            The next sweep may start from it.
    """

    log_likelihood: Float[Array, ""]
    filtered: Float[Array, "T Nx"]
    before: Float[Array, "T P Nx"]
    after: Float[Array, "T P Nx"]
    weights: Float[Array, "T P"]
    spread: Float[Array, "T Nx Nx"]
    variances: Float[Array, "T #P Nx"]
    path: Float[Array, "T_plus_1 Nx"]

    def means(self) -> Float[Array, "T_plus_1 Nx"]:
        """Smoothed means of x_0..x_T."""
        first = jnp.sum(self.weights[0][:, None] * self.before[0], axis=0)
        rest = jnp.einsum("tp,tpn->tn", self.weights, self.after)
        return jnp.concatenate([first[None], rest])

    def covariances(self) -> Float[Array, "T_plus_1 Nx Nx"]:
        """Smoothed covariances of x_0..x_T."""
        means = self.means()
        points = jnp.concatenate([self.before[:1], self.after])
        weights = jnp.concatenate([self.weights[:1], self.weights])
        away = points - means[:, None]
        spread = jnp.concatenate([jnp.zeros_like(self.spread[:1]), self.spread])
        return jnp.einsum("tp,tpn,tpm->tnm", weights, away, away) + spread

    def thinned(self) -> "Sweep":
        """The same distributions by two points a row, for points in opposite pairs.

        Means stay exact. Covariances are exact on average over rows: each row has the
        signs of another row of a Hadamard matrix, in which columns are orthogonal.
        """
        T, P, _ = self.before.shape
        half = P // 2
        period = 1 << (half - 1).bit_length()
        signs = hadamard(period)[np.arange(T) % period, :half] / math.sqrt(half)
        scaled = jnp.asarray(signs, self.before.dtype)

        def two(points: Array) -> Array:
            mean = jnp.mean(points, axis=1, keepdims=True)
            away = jnp.einsum("tp,tpn->tn", scaled, points[:, :half] - mean)[:, None]
            return mean + jnp.concatenate([away, -away], axis=1)

        return self._replace(
            before=two(self.before),
            after=two(self.after),
            weights=jnp.full((T, 2), 0.5, self.weights.dtype),
        )

    def states(self) -> "SweptStates":
        """The distribution of each state, without the pairs."""
        return SweptStates(self.filtered, self.means(), self.covariances(), self.path)


class SweptStates(NamedTuple):
    """What a sweep says of each state: a fraction of what it says of pairs.

    Attributes:
        filtered: As for `Sweep`.
        means: Smoothed means of x_0..x_T.
        covariances: Smoothed covariances of x_0..x_T.
        path: As for `Sweep`.
    """

    filtered: Float[Array, "T Nx"]
    means: Float[Array, "T_plus_1 Nx"]
    covariances: Float[Array, "T_plus_1 Nx Nx"]
    path: Float[Array, "T_plus_1 Nx"]


class FilteredDistributions(NamedTuple):
    """Filtered distribution of each state.

    Attributes:
        means: Of x_t given y_1:t.
        covariances: Of x_t given y_1:t.
        increments: Log-densities of y_t given y_1:t-1.
    """

    means: Float[Array, "T Nx"]
    covariances: Float[Array, "T Nx Nx"]
    increments: Float[Array, "T"]


class AbstractEngine(eqx.Module):
    """Interface of filters and smoothers."""

    @property
    @abstractmethod
    def stochastic(self) -> bool:
        """Whether results depend on the key."""

    @property
    def differentiable(self) -> bool:
        """Whether `log_likelihood` has the right derivative."""
        return False

    @abstractmethod
    def sweep(
        self,
        key: PRNGKeyArray,
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"] | None = None,
        unsure: Bool[Array, "T_plus_1"] | None = None,
    ) -> Sweep:
        """Run one smoother pass, forwards and backwards.

        Args:
            key: Random key.
            model: The model.
            ys: Observations.
            previous: `path` of the previous sweep, for engines that start from one.
            unsure: Times at which `previous` is unreliable, for engines that linearise
                about it; they use the filtered mean there.
        """

    @abstractmethod
    def filter(
        self, key: PRNGKeyArray, model: StateSpaceModel, ys: Float[Array, "T Ny"]
    ) -> FilteredDistributions:
        """Run the filter: each state is inferred from rows up to its own.

        Args:
            key: Random key.
            model: The model.
            ys: Observations.
        """

    def log_likelihood(
        self,
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"],
    ) -> Float[Array, ""]:
        """Log-likelihood of a sweep; differentiable if the engine is."""
        return self.sweep(jax.random.key(0), model, ys, previous).log_likelihood

    def scored_sweep(
        self,
        key: PRNGKeyArray,
        build: Callable[[Any], StateSpaceModel],
        values: Any,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"],
    ) -> tuple[Sweep, Any]:
        """A sweep, and the derivative of its log-likelihood in parameters.

        For engines that are differentiable.

        Args:
            key: Random key.
            build: The model of given parameters.
            values: The parameters.
            ys: Observations.
            previous: As for `sweep`.
        """

        def value(values: Any) -> Array:
            return self.log_likelihood(build(values), ys, previous)

        sweep = self.sweep(key, build(values), ys, previous)
        return sweep, jax.grad(value)(values)


class ObservedRow(NamedTuple):
    """A row of observations with missing entries masked.

    Attributes:
        y: The observation, zero where it is missing.
        matrix: H, zero in the rows of missing entries.
        covariance: R; missing entries are independent, of variance one.
        kept: Which entries are observed.
    """

    y: Float[Array, "Ny"]
    matrix: Float[Array, "Ny Nx"]
    covariance: Float[Array, "Ny Ny"]
    kept: Bool[Array, "Ny"]

    @classmethod
    def of(
        cls,
        y: Float[Array, "Ny"],
        matrix: Float[Array, "Ny Nx"],
        covariance: Float[Array, "Ny Ny"],
    ) -> "ObservedRow":
        """Mask a row in which NaN marks missing entries."""
        kept = ~jnp.isnan(y)
        rest = jnp.diag(1 - kept.astype(covariance.dtype))
        return cls(
            jnp.where(kept, y, 0),
            jnp.where(kept[:, None], matrix, 0),
            jnp.where(kept[:, None] & kept, covariance, 0) + rest,
            kept,
        )

    @classmethod
    def at(
        cls,
        observation: AbstractObservation,
        y: Float[Array, "Ny"],
        x: Float[Array, "Nx"],
    ) -> tuple["ObservedRow", Float[Array, ""]]:
        """Mask a row, with the observation model linearised about a state.

        Returns:
            The masked row, and the log-density at that state minus that of the linear
            Gaussian approximation.
        """
        if isinstance(observation, LinearGaussian):
            matrix = observation.matrix
            if matrix is None:
                matrix = jnp.eye(len(x), dtype=x.dtype)
            return cls.of(y, matrix, observation.noise.covariance), jnp.zeros(
                (), y.dtype
            )
        mean, matrix = observation.mean(x), jax.jacfwd(observation.mean)(x)
        noise = observation.noise.local(jnp.where(jnp.isnan(y), mean, y), mean)
        observed = cls.of(y - mean + matrix @ x, matrix, noise.covariance)
        excess = observation.log_prob(y, x) - LinearGaussian(noise).log_prob(y, mean)
        return observed, excess

    def log_density(
        self, z: Float[Array, "Ny"], whiten: Float[Array, "Ny Ny"]
    ) -> Float[Array, ""]:
        """Log-density of the observed entries, from the whitened innovation z."""
        constant = 0.5 * math.log(2 * math.pi) * jnp.sum(self.kept)
        return jnp.sum(jnp.log(jnp.diag(whiten)) - 0.5 * z**2) - constant


def needs_gaussian(model: StateSpaceModel, engine: str) -> None:
    """Raise if noise is not Gaussian or observations are not linear.

    Args:
        model: The model.
        engine: Name of the engine, for the message.
    """
    for what, part, kind in (
        ("initial noise", model.initial_noise, GaussianNoise),
        ("process noise", model.transition.noise, GaussianNoise),
        ("observation", model.observation, LinearGaussian),
    ):
        if not isinstance(part, kind):
            raise ValueError(
                f"`engine` must be one that the model allows: the {engine} engine "
                f"needs a {kind.__name__} {what}, got {type(part).__name__}. "
                "Use the gaussian or the particle engine."
            )


def drawn_variances(
    model: StateSpaceModel,
    before: Float[Array, "T P Nx"],
    after: Float[Array, "T P Nx"],
) -> Float[Array, "T #P Nx"]:
    """Local variances of the process noise between drawn points."""
    noise, T = model.transition.noise, before.shape[0]
    same = model.transition.same_noise
    if isinstance(noise, GaussianNoise) and model.schedule is None and same:
        return jnp.broadcast_to(noise.variances, (T, 1, before.shape[2]))

    def step(moment, before: Array, after: Array) -> Array:
        transition = model.at(moment).transition

        def variances(x: Array, x_next: Array) -> Array:
            found = transition.expand(x)
            if found.covariance is not None:
                return jnp.diag(found.covariance)
            return transition.noise_at(x).local(x_next, found.value).variances

        return jax.vmap(variances)(before, after)

    return jax.vmap(step)(model.schedule, before, after)
