"""No penalty: maximum likelihood, the paper's pMLE."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .base import AbstractSubgradientPenalty, as_weight


class Unpenalised(AbstractSubgradientPenalty):
    """R(C) = 0 for any weight: maximum likelihood.

    Attributes:
        weight: lambda; unused, kept for a common interface.

    Examples:
        >>> import jax.numpy as jnp
        >>> Unpenalised().prox(jnp.array([[2.0, -0.5]]), step=1.0).tolist()
        [[2.0, -0.5]]
    """

    weight: Float[Array, ""] = eqx.field(converter=as_weight, default=0.0)

    @classmethod
    def of(cls, weight: Any, incidence: Any) -> "Unpenalised":  # noqa: ARG003
        return cls(weight)

    def value(self, C: Float[Array, "Nx M"]) -> Float[Array, ""]:
        return jnp.zeros((), C.dtype)

    def prox(
        self,
        C: Float[Array, "Nx M"],
        step: float | Float[Array, ""],  # noqa: ARG002
    ) -> Float[Array, "Nx M"]:
        return C

    def subgradient(self, C: Float[Array, "Nx M"]) -> Float[Array, "Nx M"]:
        return jnp.zeros_like(C)
