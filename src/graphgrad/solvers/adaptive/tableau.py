"""The sweep operator's tableau, of which only the rows of the support are kept.

Of a quadratic x'Ix - 2b'x and a support, the tableau (Goodnight, A tutorial on the
SWEEP operator, Am. Stat. 33, 1979) holds residual and remaining information for terms
outside the support, and coefficients and minus their covariance for those inside. A
term goes in or out by a change of rank one. The row of a term outside follows from
those inside, so that a change costs as much as the support has terms, not all.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Tableau(NamedTuple):
    """The tableau of a support.

    Attributes:
        rows: Rows of the terms inside, zeros in places that are free.
        terms: Which term each row is of; n where the place is free.
        diagonal: Of all terms.
        side: Coefficients inside, what is left of b outside.
        least: The quadratic at its least on the support.
    """

    rows: Float[Array, "places n"]
    terms: Int[Array, "places"]
    diagonal: Float[Array, "n"]
    side: Float[Array, "n"]
    least: Float[Array, ""]

    @property
    def support(self) -> Bool[Array, "n"]:
        """The terms inside."""
        outside = jnp.zeros(len(self.side), bool)
        return outside.at[self.terms].set(True, mode="drop")

    def inside(self, values: Float[Array, "n"], fill: float = 0) -> Array:
        """What belongs to the terms of the rows; `fill` in places that are free."""
        return values.at[self.terms].get(mode="fill", fill_value=fill)


def units(information: Float[Array, "n n"]) -> Float[Array, "n"]:
    """Units in which all terms have the same information."""
    diagonal = jnp.diag(information)
    return jnp.sqrt(jnp.where(diagonal > 0, diagonal, 1))


def in_units(
    information: Float[Array, "n n"], linear: Float[Array, "n"]
) -> tuple[tuple[Float[Array, "n n"], Float[Array, "n"]], Float[Array, "n"]]:
    """The quadratic I, b in such units, and these."""
    unit = units(information)
    return (information / unit[:, None] / unit, linear / unit), unit


def empty(
    information: Float[Array, "n n"], linear: Float[Array, "n"], places: int
) -> Tableau:
    """The tableau of the empty support, with room for so many terms."""
    n = len(linear)
    return Tableau(
        rows=jnp.zeros((places, n), linear.dtype),
        terms=jnp.full(places, n),
        diagonal=jnp.diag(information),
        side=linear,
        least=jnp.zeros((), linear.dtype),
    )


def enter(
    information: Float[Array, "n n"],
    linear: Float[Array, "n"],
    support: Bool[Array, "n"],
    inverse: Float[Array, "n n"],
) -> Tableau:
    """The tableau of a support: as by toggles one by one, in a matrix product.

    Args:
        information: I.
        linear: b.
        support: The terms inside.
        inverse: Of the information on it, zeros elsewhere.
    """
    n = len(linear)
    entered = inverse @ information
    amounts = inverse @ linear
    remains = jnp.diag(information) - jnp.sum(information * entered, axis=0)
    return Tableau(
        rows=jnp.where(support, -inverse, entered),
        terms=jnp.where(support, jnp.arange(n), n),
        diagonal=jnp.where(support, -jnp.diag(inverse), remains),
        side=jnp.where(support, amounts, linear - linear @ entered),
        least=-linear @ amounts,
    )


def toggle(
    table: Tableau, information: Float[Array, "n n"], j: Int[Array, ""]
) -> Tableau:
    """Put one term in, for which there must be a free place, or out.

    Args:
        table: The tableau.
        information: I, that it was made with.
        j: The term.
    """
    rows, terms = table.rows, table.terms
    n = rows.shape[1]
    mine = terms == j
    inside = jnp.any(mine)
    place = jnp.argmax(jnp.where(inside, mine, terms == n))
    fresh = information[j] - table.inside(information[j]) @ rows
    fresh = fresh.at[terms].set(rows[:, j], mode="drop")
    row = jnp.where(inside, rows[place], fresh)
    pivot, here = row[j], jnp.arange(n) == j
    turned = jnp.where(inside, -1, 1) / pivot
    line = jnp.where(here, -1 / pivot, row * turned)
    rows = rows - table.inside(row)[:, None] * (row / pivot)
    rows = jnp.where(here, table.inside(line)[:, None], rows)
    side = table.side[j]
    return Tableau(
        rows=rows.at[place].set(jnp.where(inside, 0, line)),
        terms=terms.at[place].set(jnp.where(inside, n, j)),
        diagonal=jnp.where(here, -1 / pivot, table.diagonal - row**2 / pivot),
        side=jnp.where(here, side * turned, table.side - row * (side / pivot)),
        least=table.least - side**2 / pivot,
    )
