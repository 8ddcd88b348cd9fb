"""Draws of which terms enter an equation, and with what coefficients.

A spike and a slab: a coefficient is zero, or Gaussian with a given standard deviation.
Given the noise, the coefficients can be integrated out, so that whether each term
enters is drawn in turn from its exact odds, read off its tableau.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..engines.linalg import inverse_root
from ..solvers.adaptive.subset import inverse_on
from ..solvers.adaptive.tableau import Tableau, enter, in_units, toggle
from ..solvers.trees import where_each


def edges_of(
    present: Bool[Array, "draws Nx M"], incidence: Any
) -> Float[Array, "Nx Nv"]:
    """In what share of draws the one variable (column) acts on the other (row)."""
    acts = present[:, :, None, :] & (jnp.asarray(incidence) != 0)
    return jnp.mean(jnp.any(acts, axis=-1), axis=0)


class Limits(NamedTuple):
    """Lowest and highest values of the coefficients of an equation, or of several.

    The slab of a coefficient is its normal distribution within the limits, so that
    limits do not change how likely a term is before the data are seen.

    Attributes:
        low: Lowest values.
        high: Highest values.
        slab: Standard deviations without limits; zero for those that may not enter.
    """

    low: Float[Array, "*Nx M"]
    high: Float[Array, "*Nx M"]
    slab: Float[Array, "*Nx M"]

    def log_weight(
        self, support: Bool[Array, "M"], values: Float[Array, "M"]
    ) -> Float[Array, ""]:
        """Log-density beside that without limits; minus infinity outside them."""
        scale = jnp.where(self.slab > 0, self.slab, 1)
        share = ndtr(self.high / scale) - ndtr(self.low / scale)
        share = jnp.maximum(share, jnp.finfo(share.dtype).tiny)
        within = ~support | ((values >= self.low) & (values <= self.high))
        weight = -jnp.sum(jnp.where(support, jnp.log(share), 0))
        return jnp.where(jnp.all(within), weight, -jnp.inf)


def draw_within(
    key: PRNGKeyArray,
    precision: Float[Array, "M M"],
    linear: Float[Array, "M"],
    before: tuple[Bool[Array, "M"], Float[Array, "M"]],
    limits: Limits,
    log_odds: Float[Array, ""],
    tries: int,
) -> tuple[Bool[Array, "M"], Float[Array, "M"]]:
    """New terms and coefficients of one equation, within limits.

    Draws without limits leave their distribution as it is and are reversible (terms are
    visited in a random order), so that each is a proposal of a Metropolis step.

    Args:
        key: Random key.
        precision: As for `draw_equation`.
        linear: As for `draw_equation`.
        before: Terms and coefficients now.
        limits: Of the coefficients.
        log_odds: As for `draw_equation`.
        tries: Number of proposals.
    """

    def propose(number: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        draw_key, accept_key = jax.random.split(jax.random.fold_in(key, number))
        new = draw_equation(
            draw_key, precision, linear, state[0], limits.slab, log_odds
        )
        gain = limits.log_weight(*new) - limits.log_weight(*state)
        uniform = jax.random.uniform(accept_key, (), linear.dtype)
        return where_each(jnp.log(uniform) < gain, new, state)

    return jax.lax.fori_loop(0, tries, propose, before)


def draw_equation(
    key: PRNGKeyArray,
    precision: Float[Array, "M M"],
    linear: Float[Array, "M"],
    support: Bool[Array, "M"],
    slab: Float[Array, "M"],
    log_odds: Float[Array, ""],
) -> tuple[Bool[Array, "M"], Float[Array, "M"]]:
    """New terms and coefficients of one equation, given the trajectory and the noise.

    Args:
        key: Random key.
        precision: Sums of products of terms, over the noise variance.
        linear: Sums of products of terms with what they explain, over it.
        support: Terms that enter now.
        slab: Standard deviation of each coefficient that is not zero; zero for those
            that may not enter.
        log_odds: Of any term to enter, before the data are seen.
    """
    M = len(linear)
    order_key, choice_key, value_key = jax.random.split(key, 3)
    allowed = slab > 0
    prior = 1 / jnp.where(allowed, slab, 1) ** 2
    matrix = precision + jnp.diag(prior)
    (scaled, pulls), unit = in_units(matrix, linear)
    inverse = inverse_on(matrix, support) * unit[:, None] * unit
    table = enter(scaled, pulls, support, inverse)
    uniforms = jax.random.uniform(choice_key, (M,), linear.dtype)

    def visit(carry: tuple[Tableau, Array], inputs: tuple[Array, Array]):
        table, support = carry
        j, uniform = inputs
        inside = support[j]
        # What is left of the information on a term when the others have explained
        # what they can, and its pull: as if the term were outside.
        here, side = table.diagonal[j], table.side[j]
        left = jnp.where(inside, -1 / here, here)
        pull = jnp.where(inside, side * left, side)
        odds = log_odds + 0.5 * (
            pull**2 / left + jnp.log(prior[j]) - jnp.log(left * unit[j] ** 2)
        )
        enters = allowed[j] & (jnp.log(uniform) < jax.nn.log_sigmoid(odds))
        table = where_each(enters != inside, toggle(table, scaled, j), table)
        return (table, support.at[j].set(enters)), None

    order = jax.random.permutation(order_key, M)
    (_, support), _ = jax.lax.scan(visit, (table, support), (order, uniforms))
    used = support[:, None] & support
    block = jnp.where(used, scaled, jnp.eye(M, dtype=unit.dtype))
    whiten = inverse_root(block)
    pulled = whiten @ jnp.where(support, pulls, 0)
    drawn = jax.random.normal(value_key, (M,), linear.dtype)
    values = whiten.T @ (pulled + drawn)
    return support, jnp.where(support, values / unit, 0)
