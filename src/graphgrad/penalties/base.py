"""The interface of penalties: the term lambda R(C) of the objective, Sec. III-D."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class AbstractPenalty(eqx.Module):
    """A regulariser lambda R(C) of coefficients C of shape `(Nx, M)`.

    The weight is an array, so that `jax.vmap` can run over many weights. Results have
    the precision of C.

    Attributes:
        weight: Regularisation strength lambda, zero or positive.
    """

    weight: eqx.AbstractVar[Float[Array, ""]]

    @classmethod
    @abstractmethod
    def of(cls, weight: Any, incidence: Any) -> "AbstractPenalty":
        """Build the penalty from its weight and the library's `incidence`."""

    @abstractmethod
    def value(self, C: Float[Array, "Nx M"]) -> Float[Array, ""]:
        """Value of the penalty, lambda R(C)."""

    @abstractmethod
    def prox(
        self, C: Float[Array, "Nx M"], step: float | Float[Array, ""]
    ) -> Float[Array, "Nx M"]:
        """Proximal operator: the Z that minimises |Z - C|^2 / 2 + step lambda R(Z)."""

    def scale(
        self, C: Float[Array, "Nx M"], step: float | Float[Array, ""] = 1.0
    ) -> Float[Array, ""]:
        """The product step lambda in the precision of C."""
        return jnp.asarray(self.weight * step, C.dtype)


class AbstractSubgradientPenalty(AbstractPenalty):
    """A penalty with a subgradient.

    Solvers by subgradient descent require this class and reject other penalties.
    """

    @abstractmethod
    def subgradient(self, C: Float[Array, "Nx M"]) -> Float[Array, "Nx M"]:
        """One subgradient of lambda R at C."""


def as_weight(weight: Any) -> Float[Array, ""]:
    """Convert a number, scalar array or tracer to the array that a penalty stores."""
    return jnp.asarray(weight, dtype=float)
