"""What every penalty can do: the term lambda R(C) of the objective, Sec. III-D."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class AbstractPenalty(eqx.Module):
    """What simple means: lambda R(C) for coefficients C of shape `(Nx, M)`.

    The weight is an array, so that `jax.vmap` runs over many of them at once. Results
    have the precision of C.

    Attributes:
        weight: lambda, zero or positive.
    """

    weight: eqx.AbstractVar[Float[Array, ""]]

    @classmethod
    @abstractmethod
    def of(cls, weight: Any, incidence: Any) -> "AbstractPenalty":
        """The penalty of a weight, for terms that states enter as `incidence` says."""

    @abstractmethod
    def value(self, C: Float[Array, "Nx M"]) -> Float[Array, ""]:
        """The penalty itself, lambda R(C)."""

    @abstractmethod
    def prox(
        self, C: Float[Array, "Nx M"], step: float | Float[Array, ""]
    ) -> Float[Array, "Nx M"]:
        """The Z that minimises |Z - C|^2 / 2 + step lambda R(Z)."""

    def scale(
        self, C: Float[Array, "Nx M"], step: float | Float[Array, ""] = 1.0
    ) -> Float[Array, ""]:
        """The product step lambda in the precision of C, whatever theirs is."""
        return jnp.asarray(self.weight * step, C.dtype)


class AbstractSubgradientPenalty(AbstractPenalty):
    """A penalty that subgradient descent can use too.

    Solvers ask for this class and name the penalties that are not of it.
    """

    @abstractmethod
    def subgradient(self, C: Float[Array, "Nx M"]) -> Float[Array, "Nx M"]:
        """One subgradient of lambda R at C."""


def as_weight(weight: Any) -> Float[Array, ""]:
    """A number, or an array or tracer of one, as the leaf that a penalty stores."""
    return jnp.asarray(weight, dtype=float)
