"""The transition of the state: a mean and process noise about it. Eq. (6), (7)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .mean import AbstractLibraryMean, AbstractMean, Expansion, squares
from .noise import (
    AbstractNoise,
    AbstractScaleNoise,
    GaussianNoise,
    definite,
    standard_normals,
)


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
