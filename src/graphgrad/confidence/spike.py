"""Draws of which terms enter an equation, and with what coefficients.

A spike and a slab: a coefficient is zero, or Gaussian with a given standard deviation.
Given the noise, the coefficients can be integrated out, so that whether each term
enters is drawn in turn from its exact odds, read off its tableau.
"""

from typing import Any

import jax
import jax.numpy as jnp
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
