"""Process noise and measurement noise: distributions about a mean."""

import math
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray


class AbstractNoise(eqx.Module):
    """A distribution about a mean that can be sampled differentiably (Sec. IV-A).

    Both methods take the mean itself, not a residual, so that the noise may depend on
    the state.
    """

    @abstractmethod
    def sample(
        self, key: PRNGKeyArray, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        """One draw for each mean, by a map of the key that is smooth in the mean."""

    def draws(
        self,
        keys: Array,
        shape: tuple[int, ...],  # noqa: ARG002
        dtype: Any,  # noqa: ARG002
    ) -> Any:
        """What `sample` draws from each of several keys before it needs the mean.

        A loop over time draws it for all steps at once and gives each step its own to
        `placed`, because few large draws are faster than many small ones. Here it is
        the keys themselves: everything is drawn in the loop.

        Args:
            keys: A vector of random keys.
            shape: Shape of the means of one step.
            dtype: Type of the means.
        """
        return keys

    def placed(
        self, drawn: Any, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        """One draw for each mean: `sample`, from one entry of `draws`."""
        return self.sample(drawn, mean)

    @abstractmethod
    def log_prob(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "..."]:
        """Log-density of x; both arguments broadcast."""

    def local(self, x: Float[Array, "N"], mean: Float[Array, "N"]) -> "GaussianNoise":
        """Gaussian noise about the same mean with the same score at x.

        Its variances are those of reweighted least squares: the distance from the mean
        divided by the derivative of the log-density.
        """
        nudge = 1e-6 * (1 + jnp.abs(mean))
        away = jnp.where(jnp.abs(x - mean) < nudge, nudge, x - mean)
        precision = -jax.grad(self.log_prob)(mean + away, mean) / away
        return GaussianNoise(
            1 / jnp.sqrt(jnp.maximum(precision, jnp.finfo(x.dtype).tiny))
        )


class AbstractScaleNoise(AbstractNoise):
    """A distribution with one scale per coordinate, which can be learnt."""

    scale: eqx.AbstractVar[Array]

    @property
    def variances(self) -> Float[Array, "N"]:
        """Squares of the scales."""
        return self.scale**2

    def with_variances(self, variances: Float[Array, "N"]) -> "AbstractScaleNoise":
        """The same distribution with other scales."""
        return eqx.tree_at(lambda noise: noise.scale, self, jnp.sqrt(variances))

    def times(self, factor: Float[Array, "N"]) -> "AbstractScaleNoise":
        """The same distribution with its scales multiplied."""
        return eqx.tree_at(lambda noise: noise.scale, self, self.scale * factor)


class ScaledNoise(AbstractScaleNoise):
    """Any noise with its deviations from the mean multiplied.

    Attributes:
        noise: The noise.
        scale: Factors, one per coordinate.
    """

    noise: AbstractNoise
    scale: Float[Array, "N"]

    def sample(
        self, key: PRNGKeyArray, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        return mean + self.scale * (self.noise.sample(key, mean) - mean)

    def draws(self, keys: Array, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.noise.draws(keys, shape, dtype)

    def placed(
        self, drawn: Any, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        return mean + self.scale * (self.noise.placed(drawn, mean) - mean)

    def log_prob(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "..."]:
        density = self.noise.log_prob(mean + (x - mean) / self.scale, mean)
        return density - jnp.sum(jnp.log(self.scale))


class GaussianNoise(AbstractScaleNoise):
    """Additive zero-mean Gaussian noise.

    Attributes:
        scale: Standard deviations `(N,)`, or the lower Cholesky factor `(N, N)` of
            a full covariance.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> noise = GaussianNoise.of(jnp.array([0.25, 4.0]))
        >>> noise.scale.tolist()
        [0.5, 2.0]
        >>> noise.sample(jax.random.key(0), jnp.zeros((5, 2))).shape
        (5, 2)
    """

    scale: Float[Array, "N"] | Float[Array, "N N"]

    @classmethod
    def of(cls, covariance: Float[Array, "N"] | Float[Array, "N N"]) -> "GaussianNoise":
        """The noise with given variances or a given covariance matrix."""
        if covariance.ndim == 1:
            return cls(jnp.sqrt(covariance))
        return cls(jnp.linalg.cholesky(covariance))

    @property
    def diagonal(self) -> bool:
        """Whether the coordinates are independent."""
        return self.scale.ndim == 1

    @property
    def variances(self) -> Float[Array, "N"]:
        return self.scale**2 if self.diagonal else jnp.diag(self.covariance)

    def with_variances(self, variances: Float[Array, "N"]) -> "GaussianNoise":
        """Independent noise of these variances."""
        return GaussianNoise(jnp.sqrt(variances))

    def times(self, factor: Float[Array, "N"]) -> "GaussianNoise":
        if self.diagonal:
            return GaussianNoise(self.scale * factor)
        return GaussianNoise(self.scale * jnp.asarray(factor)[..., None])

    def local(
        self,
        x: Float[Array, "N"],  # noqa: ARG002
        mean: Float[Array, "N"],  # noqa: ARG002
    ) -> "GaussianNoise":
        return self

    @property
    def factor(self) -> Float[Array, "N N"]:
        """A matrix whose product with its transpose is the covariance."""
        return jnp.diag(self.scale) if self.diagonal else self.scale

    @property
    def covariance(self) -> Float[Array, "N N"]:
        """The covariance as a matrix."""
        if self.diagonal:
            return jnp.diag(self.scale**2)
        return self.scale @ self.scale.T

    def only(self, kept: Bool[Array, "N"]) -> "GaussianNoise":
        """The marginal of the kept coordinates; the others are standard normal."""
        if self.diagonal:
            return GaussianNoise(jnp.where(kept, self.scale, 1))
        covariance = jnp.where(kept[:, None] & kept, self.covariance, 0)
        rest = jnp.diag(1 - kept.astype(covariance.dtype))
        return GaussianNoise.of(covariance + rest)

    def sample(
        self, key: PRNGKeyArray, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        return self.placed(jax.random.normal(key, mean.shape, mean.dtype), mean)

    def draws(
        self, keys: Array, shape: tuple[int, ...], dtype: Any
    ) -> Float[Array, "n size"]:
        return standard_normals(keys, shape, dtype)

    def placed(
        self, drawn: Float[Array, "..."], mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        z = drawn.reshape(mean.shape)
        return mean + (z * self.scale if self.diagonal else z @ self.scale.T)

    def log_prob(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "..."]:
        if self.diagonal:
            z, sizes = (x - mean) / self.scale, self.scale
        else:
            # (x - mean) L^-T, by one triangular solve for all residuals.
            inverse = jax.scipy.linalg.solve_triangular(
                self.scale, jnp.eye(len(self.scale), dtype=self.scale.dtype), lower=True
            )
            z, sizes = (x - mean) @ inverse.T, jnp.diag(self.scale)
        constant = jnp.sum(jnp.log(sizes)) + 0.5 * len(sizes) * math.log(2 * math.pi)
        return -0.5 * jnp.sum(z**2, axis=-1) - constant


def standard_normals(
    keys: Array, shape: tuple[int, ...], dtype: Any
) -> Float[Array, "n size"]:
    """The normal numbers that each key draws in a shape, as one row per key.

    Rows are flat because vector units work along the last axis: with few states there,
    a CPU takes three times as long.
    """
    size = math.prod(shape)
    return jax.vmap(lambda key: jax.random.normal(key, (size,), dtype))(keys)


def definite(covariance: Float[Array, "N N"]) -> Float[Array, "N N"]:
    """A covariance that rounding may have made semidefinite, made definite.

    Each variance grows by a rounding error of its own, so that units do not matter.
    """
    variances = jnp.diag(covariance)
    sizes = jnp.where(variances > 0, variances, jnp.trace(covariance))
    share = 10 * len(covariance) * jnp.finfo(covariance.dtype).eps
    return covariance + share * jnp.diag(sizes)
