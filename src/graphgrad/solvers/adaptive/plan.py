"""What stays the same during a fit, and the parameters that move."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...engines.linalg import inverse_root
from ...model import StateSpaceModel
from ..criterion import AbstractCriterion, Terms, observed_values
from .unknowns import Unknowns, build

VERY_MANY_COEFFICIENTS = 20_000
"""Coefficients from which on steps that hardly matter to the end are left out."""

FEWER_STARTS_FROM = 100_000
"""Coefficients from which on there are fewer starts, in one round, that find less."""


class Plan(NamedTuple):
    """What stays the same during a fit.

    Parameters are departures of coefficients from `base`, one for each coefficient:
    `(Nx, M)`. Where coefficients are tied to one another they are `(1, P)`, one row of
    P amounts, each of which moves several coefficients.

    Attributes:
        ys: The data.
        model: What is known.
        base: Where coefficients that are not looked for stay: zero, the identity for
            rates, or what is known.
        zero: Coefficients that count as zero: none, or the identity for rates.
        low: Lowest values of the parameters, zero or less.
        high: Highest ones, zero or more.
        identity: Parameters of a map that leaves states as they are, as far as it can.
        linear_map: From the parameters to the coefficients, row by row; None where each
            is its own.
        floor: Lowest variances that the state noise may have.
        criterion: By which terms are chosen.
        terms: Which parameters are looked for, and the degrees of their terms.
        multiplier: Of the penalties.
        trajectory: The data as states x_0..x_T.
        interpolated: Where that is a guess across a long gap, or before all data.
        long_gaps: The same, or None where there is no long gap.
        free_noise: Whether the state noise is free, above the floor; else it is known.
        sources: For each state that is another one a step before, the index of that
            one; -1 for other states.
    """

    ys: Float[Array, "T Ny"]
    model: StateSpaceModel
    base: Float[Array, "Nx M"]
    zero: Float[Array, "Nx M"]
    low: Float[Array, "R K"]
    high: Float[Array, "R K"]
    identity: Float[Array, "R K"]
    linear_map: Float[Array, "n P"] | None
    floor: Float[Array, "Nx"]
    criterion: AbstractCriterion
    terms: Terms
    multiplier: Float[Array, ""]
    trajectory: Float[Array, "T_plus_1 Nx"]
    interpolated: Bool[Array, "T_plus_1"]
    long_gaps: Bool[Array, "T_plus_1"] | None
    free_noise: Bool[Array, ""]
    sources: Int[Array, "Nx"]

    @property
    def free(self) -> Bool[Array, "R K"]:
        """Which parameters are looked for."""
        return self.terms.free

    @property
    def very_many(self) -> bool:
        """Whether coefficients are so many that what hardly matters is left out."""
        return self.linear_map is None and self.base.size >= VERY_MANY_COEFFICIENTS

    @property
    def few_starts(self) -> bool:
        """Whether coefficients are so many that there are fewer starts."""
        return self.very_many and self.base.size >= FEWER_STARTS_FROM

    @property
    def exact(self) -> Bool[Array, "Nx"]:
        """States whose equation is known without noise: others a step before."""
        return self.sources >= 0

    def term_penalties(self, support: Bool[Array, "R K"]) -> Float[Array, "R K"]:
        """What each parameter costs in this fit, beside those of a support."""
        n = observed_values(self.ys)
        return self.multiplier * self.criterion.penalties(n, self.terms, support)

    def row_penalties(self, support: Bool[Array, "R K"]) -> Float[Array, "R"]:
        """What a support costs in this fit, by equation."""
        n = observed_values(self.ys)
        return self.multiplier * self.criterion.row_totals(n, self.terms, support)

    @property
    def moves(self) -> Float[Array, ""]:
        """Number of steps that tell of the equations."""
        return self.model.moves(len(self.ys))

    def departures(self, parameters: Float[Array, "*L R K"]) -> Float[Array, "*L Nx M"]:
        """Departures of the coefficients."""
        if self.linear_map is None:
            return parameters
        flat = parameters[..., 0, :] @ self.linear_map.T
        return flat.reshape(*parameters.shape[:-2], *self.base.shape)

    def parameter_gradient(self, slopes: Float[Array, "Nx M"]) -> Float[Array, "R K"]:
        """Slopes in the parameters, from those in the coefficients."""
        return (
            slopes
            if self.linear_map is None
            else slopes.reshape(1, -1) @ self.linear_map
        )

    @property
    def many_tied(self) -> bool:
        """Whether there are far fewer parameters than coefficients."""
        return self.linear_map is not None and 3 * self.free.size <= self.base.size

    def parameters_of(self, coefficients: Float[Array, "Nx M"]) -> Float[Array, "R K"]:
        """The parameters of given coefficients, or the nearest ones where tied."""
        away = coefficients - self.base
        if self.linear_map is None:
            return away
        moved = jnp.any((self.linear_map != 0) & (away.ravel() != 0)[:, None], axis=0)
        gram = self.linear_map.T @ self.linear_map
        ridge = 1e-10 * jnp.diag(jnp.diag(gram))  # transfers in a circle are singular
        whiten = inverse_root(gram + ridge)
        nearest = whiten.T @ (whiten @ (self.linear_map.T @ away.ravel()))
        return jnp.where(moved, nearest, 0)[None]

    def parameter_information(self, matrix: Float[Array, "n n"]) -> Float[Array, "m m"]:
        """Information on the parameters, from that on all coefficients."""
        return (
            matrix
            if self.linear_map is None
            else self.linear_map.T @ matrix @ self.linear_map
        )

    def coefficient_covariance(
        self, matrix: Float[Array, "m m"]
    ) -> Float[Array, "n n"]:
        """Covariance of all coefficients, from that of the parameters."""
        return (
            matrix
            if self.linear_map is None
            else self.linear_map @ matrix @ self.linear_map.T
        )

    def coefficient_variances(self, matrix: Float[Array, "m m"]) -> Float[Array, "n"]:
        """Variances of all coefficients, from the covariance of the parameters."""
        if self.linear_map is None:
            return jnp.diag(matrix)
        return jnp.sum(self.linear_map @ matrix * self.linear_map, axis=1)

    def coefficients(self, parameters: Float[Array, "*L R K"]) -> Array:
        """The coefficients that parameters stand for."""
        return self.base + self.departures(parameters)

    def of_rows(self, rows: Bool[Array, "Nx"]) -> Bool[Array, "R #K"]:
        """Which parameters move coefficients of these equations."""
        if self.linear_map is None:
            return rows[:, None]
        mine = jnp.repeat(rows, self.base.shape[1])
        return jnp.any((self.linear_map != 0) & mine[:, None], axis=0)[None]

    def all_columns(self) -> Int[Array, "R K"]:
        """Columns of all parameters."""
        return jnp.broadcast_to(jnp.arange(self.free.shape[1]), self.free.shape)

    def build(self, unknowns: Unknowns, replace: tuple[str, ...]) -> StateSpaceModel:
        """The model with these coefficients, and with these of the learnable parts."""
        C = self.coefficients(unknowns.parameters)
        return build(self.model, C, unknowns, replace)
