"""Differentiable resampling of particles and weights.

- stop gradient: ancestors are drawn by weight; the new weights are equal and keep the
  derivative of the log-weights (Alg. 2, lines 6 and 7).
- soft: ancestors are drawn from a mixture of the weights and uniform ones; the new
  weights correct for that, and the derivative is that of the correction (Karkus, Hsu
  and Lee, Particle filter networks with application to visual localization, 2018).
- optimal transport: nothing is drawn; particles move so that equal weights represent
  the same distribution, smoothly in all parameters (Corenflos et al., 2021; see
  `transport`).
"""

from abc import abstractmethod
from collections.abc import MutableMapping
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .. import registries
from ..checks import check_at_least, check_choice, check_positive
from .resampling import RESAMPLING
from .transport import transported


class Resampled(NamedTuple):
    """Resampled particles, their log-weights, and their ancestors."""

    parents: Float[Array, "K Nx"]
    log_weights: Float[Array, "K"]
    ancestors: Int[Array, "K"]


class AbstractResampling(eqx.Module):
    """Interface of resampling methods."""

    @abstractmethod
    def __call__(
        self,
        key: PRNGKeyArray,
        x: Float[Array, "K Nx"],
        log_weights: Float[Array, "K"],
        *,
        detach: bool = False,
    ) -> Resampled:
        """Resample.

        Args:
            key: Random key.
            x: Particles.
            log_weights: Their log-weights, normalised.
            detach: Whether the distribution of the draws is held fixed when the result
                is differentiated.
        """

    @property
    @abstractmethod
    def keeps_ancestors(self) -> bool:
        """Whether each particle has one ancestor; if not, all ancestors are -1."""


class StopGradientResampling(AbstractResampling):
    """Resampling to equal weights that keep the derivative of the log-weights: Alg. 2.

    Attributes:
        scheme: How ancestors are drawn, by its name in `RESAMPLING`.
    """

    scheme: str = eqx.field(static=True)

    def __init__(self, scheme: str = "multinomial"):
        self.scheme = check_choice("scheme", scheme, RESAMPLING)

    def __call__(
        self,
        key: PRNGKeyArray,
        x: Float[Array, "K Nx"],
        log_weights: Float[Array, "K"],
        *,
        detach: bool = False,  # noqa: ARG002
    ) -> Resampled:
        stopped = jax.lax.stop_gradient(log_weights)
        ancestors = RESAMPLING[self.scheme](key, stopped)  # line 6
        # Alg. 2, line 7: value 1/K, derivative of the log-weight.
        fresh = -jnp.log(len(x)) + log_weights[ancestors] - stopped[ancestors]
        return Resampled(x[ancestors], fresh, ancestors)

    @property
    def keeps_ancestors(self) -> bool:
        return True


class SoftResampling(AbstractResampling):
    """Ancestors drawn from alpha w + (1 - alpha) / K, weighted by w over that.

    The estimate of the likelihood is unbiased, as with `StopGradientResampling`. Its
    derivative is not, because it omits the dependence of the draws on the parameters:
    the larger alpha, the more is omitted, and with 1 the weights have no derivative.
    Particles of zero weight are excluded, and K counts the others.

    Attributes:
        alpha: Share of the weights in the mixture, above 0 and at most 1.
        scheme: How ancestors are drawn, by its name in `RESAMPLING`.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> x, weights = jnp.array([[0.0], [1.0]]), jnp.array([0.9, 0.1])
        >>> kind = SoftResampling(alpha=0.5, scheme="systematic")
        >>> after = kind(jax.random.key(0), x, jnp.log(weights))
        >>> after.parents.tolist(), jnp.exp(after.log_weights).round(3).tolist()
        ([[0.0], [1.0]], [0.643..., 0.167...])
    """

    alpha: float = eqx.field(static=True)
    scheme: str = eqx.field(static=True)

    def __init__(self, alpha: float = 0.5, *, scheme: str = "multinomial"):
        remedy = "1 draws by the weights alone; try 0.5."
        self.alpha = check_positive("alpha", alpha, remedy)
        if self.alpha > 1:
            raise ValueError(f"`alpha` must be at most 1, got {alpha!r}. {remedy}")
        self.scheme = check_choice("scheme", scheme, RESAMPLING)

    def __call__(
        self,
        key: PRNGKeyArray,
        x: Float[Array, "K Nx"],
        log_weights: Float[Array, "K"],
        *,
        detach: bool = False,
    ) -> Resampled:
        mixture = self._log_mixture(log_weights)
        if detach:
            mixture = jax.lax.stop_gradient(mixture)
        ancestors = RESAMPLING[self.scheme](key, mixture)
        fresh = -jnp.log(len(x)) + log_weights[ancestors] - mixture[ancestors]
        return Resampled(x[ancestors], fresh, ancestors)

    @property
    def keeps_ancestors(self) -> bool:
        return True

    def _log_mixture(self, log_weights: Float[Array, "K"]) -> Float[Array, "K"]:
        if self.alpha == 1:
            return log_weights
        # A child of a particle of zero weight has zero weight as well.
        living = jnp.exp(log_weights) > 0
        log_equal = jnp.log1p(-self.alpha) - jnp.log(jnp.maximum(jnp.sum(living), 1))
        own = jnp.log(self.alpha) + jnp.where(living, log_weights, 0)
        return jnp.where(living, jnp.logaddexp(own, log_equal), -jnp.inf)


class TransportResampling(AbstractResampling):
    """Particles moved by an entropic optimal transport plan P to K P' x.

    Nothing is drawn: with a fixed key the filter's log-likelihood is a smooth function
    of the parameters, and its derivative is exact. The estimate of the likelihood is
    biased. Means are preserved, but the spread shrinks, also for particles of equal
    weight; a smaller `epsilon` shrinks it less and needs more iterations. The cost per
    iteration is K^2. There are no ancestors.

    Attributes:
        epsilon: Entropic regularisation, relative to Nx times the largest variance of
            a coordinate over the particles.
        iterations: Number of Sinkhorn iterations.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> x, weights = jnp.array([[0.0], [1.0]]), jnp.array([0.75, 0.25])
        >>> kind = TransportResampling(epsilon=0.05)
        >>> after = kind(jax.random.key(0), x, jnp.log(weights))
        >>> after.parents.round(2).tolist(), jnp.exp(after.log_weights).tolist()
        ([[0.0], [0.5]], [0.5, 0.5])
    """

    epsilon: float = eqx.field(static=True)
    iterations: int = eqx.field(static=True)

    def __init__(self, epsilon: float = 0.1, *, iterations: int = 20):
        self.epsilon = check_positive(
            "epsilon", epsilon, "Try 0.1; it is relative to the spread of particles."
        )
        self.iterations = check_at_least("iterations", iterations, 1, "Try 20.")

    def __call__(
        self,
        key: PRNGKeyArray,  # noqa: ARG002
        x: Float[Array, "K Nx"],
        log_weights: Float[Array, "K"],
        *,
        detach: bool = False,  # noqa: ARG002
    ) -> Resampled:
        K = len(x)
        parents = transported(
            x, log_weights, epsilon=self.epsilon, iterations=self.iterations
        )
        equal = jnp.full(K, -jnp.log(K), log_weights.dtype)
        return Resampled(parents, equal, jnp.full(K, -1, jnp.int32))

    @property
    def keeps_ancestors(self) -> bool:
        return False


DIFFERENTIABLE: MutableMapping[str, type[AbstractResampling]] = (
    registries.DIFFERENTIABLE
)
"""Resampling methods with their own derivative, by name."""


def resampling_kind(resampling: str | AbstractResampling) -> AbstractResampling:
    """Resampling by name; the name of a scheme means `StopGradientResampling`.

    Examples:
        >>> resampling_kind("systematic")
        StopGradientResampling(scheme='systematic')
        >>> resampling_kind("soft")
        SoftResampling(alpha=0.5, scheme='multinomial')
    """
    if isinstance(resampling, AbstractResampling):
        return resampling
    check_choice("resampling", resampling, (*RESAMPLING, *DIFFERENTIABLE))
    if resampling in RESAMPLING:
        return StopGradientResampling(resampling)
    return DIFFERENTIABLE[resampling]()


def check_ancestors(
    name: str, value: object, resampling: AbstractResampling, remedy: str
) -> None:
    """Raise if an option needs ancestors and the resampling has none."""
    if not resampling.keeps_ancestors:
        raise ValueError(
            f"`resampling` must give each particle one ancestor for `{name}={value!r}`"
            f", got {resampling}, whose particles have many. {remedy}, or a resampling "
            "such as 'systematic'."
        )
