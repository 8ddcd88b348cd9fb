"""The L1 penalty, Eq. (13), and soft thresholding, Eq. (15)."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .base import AbstractSubgradientPenalty, as_weight


class L1(AbstractSubgradientPenalty):
    """R(C) = sum of |C_ij|: sparse, with shrinkage. Eq. (13).

    Attributes:
        weight: Regularisation strength lambda, zero or positive.

    Examples:
        >>> import jax.numpy as jnp
        >>> L1(0.5).prox(jnp.array([[2.0, -0.5, -3.0]]), step=2.0).tolist()
        [[1.0, 0.0, -2.0]]
    """

    weight: Float[Array, ""] = eqx.field(converter=as_weight)

    @classmethod
    def of(cls, weight: Any, incidence: Any) -> "L1":  # noqa: ARG003
        return cls(weight)

    def value(self, C: Float[Array, "Nx M"]) -> Float[Array, ""]:
        return self.scale(C) * jnp.sum(jnp.abs(C))

    def prox(
        self, C: Float[Array, "Nx M"], step: float | Float[Array, ""]
    ) -> Float[Array, "Nx M"]:
        # The operator T of Eq. (15); its zeros are written, so that none is -0.
        size = jnp.maximum(jnp.abs(C) - self.scale(C, step), 0)
        return jnp.where(size == 0, 0, jnp.sign(C) * size)

    def subgradient(self, C: Float[Array, "Nx M"]) -> Float[Array, "Nx M"]:
        # sgn(0) = 0, as in the paper's comparison of prox and subgradient.
        return self.scale(C) * jnp.sign(C)
