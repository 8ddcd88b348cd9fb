"""Non-Gaussian distributions, for process noise and measurement noise.

All are parametrised by their mean, so that one distribution serves as process noise and
as measurement noise; a link function belongs to the observation function.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlog1py, xlogy
from jaxtyping import Array, Float, PRNGKeyArray

from ..checks import check_positive, check_variances
from .noise import AbstractNoise, AbstractScaleNoise, GaussianNoise

LEAST_MEAN = 1e-6
"""Means of counts and probabilities stay this far from the ends of their range."""


class AbstractIndependentNoise(AbstractNoise):
    """A distribution with independent coordinates."""

    @abstractmethod
    def log_density(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "*batch N"]:
        """Log-density of each coordinate."""

    def log_prob(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "..."]:
        return jnp.sum(self.log_density(x, mean), axis=-1)

    def fault(self, values: np.ndarray) -> str | None:  # noqa: ARG002
        """The rule that some of the values violate, or None."""
        return None


class StudentT(AbstractIndependentNoise, AbstractScaleNoise):
    """Student-t noise: heavy tails, for outliers and jumps.

    Args:
        variance: Squared scale: a number, or one per coordinate. The variance is larger
            by the factor df / (df - 2).
        df: Degrees of freedom; few mean heavy tails.

    Examples:
        >>> noise = StudentT(0.25, df=4)
        >>> float(noise.scale)
        0.5
    """

    scale: Float[Array, "..."]
    df: Float[Array, ""]

    def __init__(self, variance: Any = 1.0, *, df: float = 4.0):
        self.scale = jnp.sqrt(jnp.asarray(check_variances("variance", variance)))
        self.df = jnp.asarray(check_positive("df", df, "4 has heavy tails."))

    def sample(
        self, key: PRNGKeyArray, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        df = self.df.astype(mean.dtype)
        return mean + self.scale * jax.random.t(key, df, mean.shape, mean.dtype)

    def log_density(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "*batch N"]:
        z, df = (x - mean) / self.scale, self.df
        constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * jnp.log(math.pi * df)
        return constant - jnp.log(self.scale) - 0.5 * (df + 1) * jnp.log1p(z**2 / df)

    def local(self, x: Float[Array, "N"], mean: Float[Array, "N"]) -> GaussianNoise:
        z = (x - mean) / self.scale
        return GaussianNoise(self.scale * jnp.sqrt((self.df + z**2) / (self.df + 1)))


class MultiplicativeNoise(AbstractIndependentNoise, AbstractScaleNoise):
    """Gaussian noise with a standard deviation proportional to the mean.

    Args:
        variance: Variance over the squared mean: a number, or one per coordinate.
        least: Absolute mean below which the noise does not decrease further.

    Examples:
        >>> noise = MultiplicativeNoise(0.01)
        >>> noise.local(jnp.zeros(2), jnp.array([1.0, -20.0])).scale.tolist()
        [0.10000000149011612, 2.0]
    """

    scale: Float[Array, "..."]
    least: float = eqx.field(static=True)

    def __init__(self, variance: Any, *, least: float = 1e-3):
        self.scale = jnp.sqrt(jnp.asarray(check_variances("variance", variance)))
        self.least = check_positive("least", least, "1e-3 is small enough for most.")

    def _size(self, mean: Array) -> Array:
        return self.scale * jnp.maximum(jnp.abs(mean), self.least)

    def sample(
        self, key: PRNGKeyArray, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        return mean + self._size(mean) * jax.random.normal(key, mean.shape, mean.dtype)

    def log_density(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "*batch N"]:
        size = self._size(mean)
        z = (x - mean) / size
        return -0.5 * z**2 - jnp.log(size) - 0.5 * math.log(2 * math.pi)

    def local(
        self,
        x: Float[Array, "N"],  # noqa: ARG002
        mean: Float[Array, "N"],
    ) -> GaussianNoise:
        return GaussianNoise(self._size(mean))


class _Counts(AbstractIndependentNoise):
    """Distributions of counts: whole numbers from 0."""

    @abstractmethod
    def _variance(self, mean: Array) -> Array:
        """Variance of a count, positive."""

    def local(
        self,
        x: Float[Array, "N"],  # noqa: ARG002
        mean: Float[Array, "N"],
    ) -> GaussianNoise:
        # The expected information makes each step one of Fisher scoring.
        return GaussianNoise(jnp.sqrt(self._variance(mean)))

    def fault(self, values: np.ndarray) -> str | None:
        if (values < 0).any() or (values != np.round(values)).any():
            return "hold counts, which are whole numbers from 0"
        return None


class Poisson(_Counts):
    """Poisson counts: the variance equals the mean.

    Examples:
        >>> density = Poisson().log_density(jnp.array([2.0]), jnp.array([1.0]))
        >>> round(float(density[0]), 4)
        -1.6931
    """

    def sample(
        self, key: PRNGKeyArray, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        return jax.random.poisson(key, jnp.maximum(mean, 0)).astype(mean.dtype)

    def log_density(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "*batch N"]:
        mean = jnp.maximum(mean, LEAST_MEAN)
        return xlogy(x, mean) - mean - gammaln(x + 1)

    def _variance(self, mean: Array) -> Array:
        return jnp.maximum(mean, LEAST_MEAN)


class NegativeBinomial(_Counts):
    """Overdispersed counts: variance mean + mean^2 / size.

    Args:
        size: Dispersion; the larger, the closer to a Poisson distribution.

    Examples:
        >>> noise = NegativeBinomial(10.0)
        >>> noise.local(jnp.zeros(1), jnp.array([10.0])).variances.round(4).tolist()
        [20.0]
    """

    size: Float[Array, ""]

    def __init__(self, size: float):
        remedy = "10 doubles the variance of a Poisson distribution at a mean of 10."
        self.size = jnp.asarray(check_positive("size", size, remedy))

    def sample(
        self, key: PRNGKeyArray, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        rate_key, count_key = jax.random.split(key)
        size = self.size.astype(mean.dtype)
        rate = jax.random.gamma(rate_key, size, mean.shape, mean.dtype) / size
        counts = jax.random.poisson(count_key, jnp.maximum(mean, 0) * rate)
        return counts.astype(mean.dtype)

    def log_density(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "*batch N"]:
        mean, size = jnp.maximum(mean, LEAST_MEAN), self.size
        share = mean / (mean + size)
        ways = gammaln(x + size) - gammaln(size) - gammaln(x + 1)
        return ways + xlogy(x, share) + size * jnp.log1p(-share)

    def _variance(self, mean: Array) -> Array:
        mean = jnp.maximum(mean, LEAST_MEAN)
        return mean + mean**2 / self.size


class Binomial(_Counts):
    """Binomial counts; the mean is the number of trials times the probability.

    Args:
        trials: Number of trials, or one per coordinate.

    Examples:
        >>> noise = Binomial(4)
        >>> noise.local(jnp.zeros(1), jnp.array([2.0])).variances.round(4).tolist()
        [1.0]
    """

    trials: Float[Array, "..."]

    def __init__(self, trials: Any):
        self.trials = jnp.asarray(check_variances("trials", trials))

    def _probability(self, mean: Array) -> Array:
        return jnp.clip(mean / self.trials, LEAST_MEAN, 1 - LEAST_MEAN)

    def sample(
        self, key: PRNGKeyArray, mean: Float[Array, "*batch N"]
    ) -> Float[Array, "*batch N"]:
        share = jnp.clip(mean / self.trials, 0, 1)
        trials = jnp.broadcast_to(self.trials, mean.shape).astype(mean.dtype)
        return jax.random.binomial(key, trials, share, dtype=mean.dtype)

    def log_density(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "*batch N"]:
        share, rest = self._probability(mean), self.trials - x
        ways = gammaln(self.trials + 1) - gammaln(x + 1) - gammaln(rest + 1)
        return ways + xlogy(x, share) + xlog1py(rest, -share)

    def _variance(self, mean: Array) -> Array:
        share = self._probability(mean)
        return self.trials * share * (1 - share)

    def fault(self, values: np.ndarray) -> str | None:
        if (values > np.asarray(self.trials)).any():
            return f"be at most `trials`, {np.max(self.trials):g}"
        return super().fault(values)


class UserDensity(AbstractIndependentNoise):
    """A custom log-density of observations; it can be fitted but not sampled.

    Attributes:
        function: Log-density as a function of an observation and its mean, for arrays
            of any shape.

    Examples:
        >>> laplace = UserDensity(lambda y, mean: -jnp.abs(y - mean) - jnp.log(2.0))
        >>> density = laplace.log_density(jnp.array([3.0]), jnp.array([1.0]))
        >>> round(float(density[0]), 4)
        -2.6931
    """

    function: Callable[[Array, Array], Array] = eqx.field(static=True)

    def sample(
        self,
        key: PRNGKeyArray,  # noqa: ARG002
        mean: Float[Array, "*batch N"],  # noqa: ARG002
    ) -> Float[Array, "*batch N"]:
        raise ValueError(
            "`noise` must be a distribution that can be sampled, got UserDensity. "
            "Write a subclass of AbstractIndependentNoise with `sample`."
        )

    def log_density(
        self, x: Float[Array, "*#batch N"], mean: Float[Array, "*#batch N"]
    ) -> Float[Array, "*batch N"]:
        return self.function(x, mean)
