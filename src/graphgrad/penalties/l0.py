"""The L0 penalty, number of nonzero coefficients, and hard thresholding: Sec. III-B."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .base import AbstractPenalty, as_weight


class L0(AbstractPenalty):
    """R(C) = number of nonzero C_ij: sparse, without shrinkage.

    It is not convex, and its prox is discontinuous: a coefficient is kept if its square
    over 2 exceeds step lambda, and is zero otherwise.

    Attributes:
        weight: Regularisation strength lambda, zero or positive.

    Examples:
        >>> import jax.numpy as jnp
        >>> L0(0.5).prox(jnp.array([[2.0, -0.5, -3.0]]), step=2.0).tolist()
        [[2.0, 0.0, -3.0]]
    """

    weight: Float[Array, ""] = eqx.field(converter=as_weight)

    @classmethod
    def of(cls, weight: Any, incidence: Any) -> "L0":  # noqa: ARG003
        return cls(weight)

    def value(self, C: Float[Array, "Nx M"]) -> Float[Array, ""]:
        return self.scale(C) * jnp.sum(C != 0, dtype=C.dtype)

    def prox(
        self, C: Float[Array, "Nx M"], step: float | Float[Array, ""]
    ) -> Float[Array, "Nx M"]:
        # The direction of the comparison matters: NaN must stay NaN.
        return jnp.where(jnp.abs(C) <= jnp.sqrt(2 * self.scale(C, step)), 0, C)
