"""The nuclear norm, sum of singular values: low-rank penalty of Sec. III-B."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .base import AbstractPenalty, as_weight


class Nuclear(AbstractPenalty):
    """R(C) = sum of the singular values of C: low rank.

    It does not set single coefficients to zero.

    Attributes:
        weight: Regularisation strength lambda, zero or positive.

    Examples:
        >>> import jax.numpy as jnp
        >>> Nuclear(1.0).prox(jnp.diag(jnp.array([3.0, 0.5])), step=1.0).tolist()
        [[2.0, 0.0], [0.0, 0.0]]
    """

    weight: Float[Array, ""] = eqx.field(converter=as_weight)

    @classmethod
    def of(cls, weight: Any, incidence: Any) -> "Nuclear":  # noqa: ARG003
        return cls(weight)

    def value(self, C: Float[Array, "Nx M"]) -> Float[Array, ""]:
        return self.scale(C) * jnp.sum(jnp.linalg.svdvals(C))

    def prox(
        self, C: Float[Array, "Nx M"], step: float | Float[Array, ""]
    ) -> Float[Array, "Nx M"]:
        threshold = self.scale(C, step)
        left, sizes, right = jnp.linalg.svd(C, full_matrices=False)
        # Accelerators multiply float32 in lower precision by default.
        shrunk = jnp.matmul(
            left * jnp.maximum(sizes - threshold, 0), right, precision="highest"
        )
        # Without a threshold the zeros of C stay zeros, which a product of the
        # factors would not give.
        return jnp.where(threshold == 0, C, shrunk)
