"""Map and difference: means with one evaluation of the terms per step. Eq. (7)."""

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..library import AbstractLibrary
from .mean import AbstractLibraryMean, Expansion, Schedule, by_equation, squares


class _AbstractStep(AbstractLibraryMean):
    """A mean with one evaluation of the terms per step."""

    library: AbstractLibrary
    coefficients: Float[Array, "Nx M"]
    moment: Schedule | None = None

    @classmethod
    def of(
        cls,
        library: AbstractLibrary,
        coefficients: Float[Array, "Nx M"],
        *,
        dt: Any,  # noqa: ARG003
        substeps: Any,  # noqa: ARG003
    ) -> "_AbstractStep":
        return cls(library, coefficients)

    def __call__(self, x: Float[Array, "*batch Nx"]) -> Float[Array, "*batch Nx"]:
        terms, rest = self.design(x)
        return rest + terms @ self.coefficients.T

    def noise_length(self) -> Float[Array, ""]:
        one = jnp.ones((), self.coefficients.dtype)
        return one if self.moment is None else self.moment.pace

    def expand(
        self,
        x: Float[Array, "Nx"],
        factor: Float[Array, "Nx m"] | None,
        active: Int[Array, "Nx A"] | None = None,
    ) -> Expansion:
        terms, rest = self.design(x)
        C, length = self.coefficients, self.noise_length()
        slope = self.library.derivative(C, self.variables(x))[:, : len(x)]
        slope = length * slope + self._kept() * jnp.eye(len(x), dtype=x.dtype)
        if self.moment is not None:
            slope = jnp.where(self.moment.fresh, 0, slope)
        return Expansion(
            value=rest + C @ terms,
            slope=slope,
            sources=None if factor is None else length * squares(factor),
            covariance=None if factor is None else length * factor @ factor.T,
            sensitivity=None if active is None else by_equation(terms, active),
        )

    @abstractmethod
    def _kept(self) -> Float[Array, ""]:
        """Share of the state that stays, whatever the coefficients are."""

    def design(
        self, x: Float[Array, "*batch Nx"]
    ) -> tuple[Float[Array, "*batch M"], Float[Array, "*batch Nx"]]:
        terms = self.library(self.variables(x))
        return self.starting(self.noise_length() * terms, self._kept() * x)

    def turned(
        self,
        x: Float[Array, "Nx"],
        away: Float[Array, "Nx"],
        found: Expansion,  # noqa: ARG002
    ) -> Float[Array, "M"]:
        return jax.jvp(lambda x: self.design(x)[0], (x,), (away,))[1]


class MapMean(_AbstractStep):
    """f(x) = C phi(x), Eq. (7); over a step of length s, x + s (C phi(x) - x).

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: C, of shape `(Nx, M)`.
        moment: The schedule of this step, if there is one.
    """

    @property
    def dynamics(self) -> str:
        return "map"

    def _kept(self) -> Float[Array, ""]:
        return 1 - self.noise_length()


class DifferenceMean(_AbstractStep):
    """f(x) = x + A phi(x); over a step of length s, x + s A phi(x).

    Attributes:
        library: The terms phi, of the states and then the inputs.
        coefficients: A, of shape `(Nx, M)`.
        moment: The schedule of this step, if there is one.
    """

    @property
    def dynamics(self) -> str:
        return "difference"

    def _kept(self) -> Float[Array, ""]:
        return jnp.ones((), self.coefficients.dtype)
