"""The best few terms of a quadratic: adding, dropping and exchanging them.

For a quadratic x'Ix - 2b'x plus a price for each nonzero, all single additions, drops
and exchanges are evaluated in closed form from one tableau, the sweep operator's
(Goodnight, A tutorial on the SWEEP operator, Am. Stat. 33, 1979): for terms outside
the support it holds residual and remaining information, for those inside coefficients
and minus their covariance. The cheapest change is made until none pays.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..engines.linalg import inverse_root
from .steps import where_each


class Subset(NamedTuple):
    """The support found.

    Attributes:
        support: The terms.
        coefficients: The minimiser on them.
        cost: The quadratic there, and the price of the terms.
        margin: By how much the cheapest change of the support costs more.
    """

    support: Bool[Array, "n"]
    coefficients: Float[Array, "n"]
    cost: Float[Array, ""]
    margin: Float[Array, ""]


def best_subset(
    information: Float[Array, "n n"],
    linear: Float[Array, "n"],
    start: Bool[Array, "n"],
    inverse: Float[Array, "n n"],
    price: Float[Array, ""],
    max_changes: Int[Array, ""] | int = 100,
    signs: Float[Array, "n"] | None = None,
) -> Subset:
    """A support that no addition, drop or exchange improves.

    Args:
        information: I, positive semidefinite.
        linear: b.
        start: Support to start from.
        inverse: Of the information on it, by `inverse_on`.
        price: Price of each term.
        max_changes: Most changes to make.
        signs: 1 or -1 where a term may enter with that sign only, else 0. A later
            change may turn it; whoever uses the result must look.

    Examples:
        >>> import jax.numpy as jnp
        >>> I, start = jnp.eye(3), jnp.array([False, True, False])
        >>> found = best_subset(I, jnp.array([3.0, 0.5, -2.0]), start,
        ...                     inverse_on(I, start), jnp.array(1.0))
        >>> found.support.tolist(), found.coefficients.tolist()
        ([True, False, True], [3.0, 0.0, -2.0])
    """
    unit = units(information)
    table = enter(tableau(information, linear), start, inverse * unit[:, None] * unit)
    return _search(table, start, price, unit, max_changes, _free(signs, unit))[1]


def price_path(
    information: Float[Array, "n n"],
    linear: Float[Array, "n"],
    prices: Float[Array, "L"],
    max_changes: Int[Array, ""] | int = 100,
    signs: Float[Array, "n"] | None = None,
) -> Subset:
    """The best subsets at falling prices, each from the one before."""
    unit, table = units(information), tableau(information, linear)

    def cheaper(carry: tuple[Array, Array], price: Array):
        table, found = _search(*carry, price, unit, max_changes, _free(signs, unit))
        return (table, found.support), found

    empty = jnp.zeros(len(linear), bool)
    return jax.lax.scan(cheaper, (table, empty), prices)[1]


def inverse_on(
    information: Float[Array, "n n"], support: Bool[Array, "n"]
) -> Float[Array, "n n"]:
    """Inverse of the block of a matrix on a support, zeros elsewhere."""
    unit = units(information)
    used = support[:, None] & support
    ridge = 100 * jnp.finfo(information.dtype).eps
    block = jnp.where(used, information / unit[:, None] / unit, 0)
    block += jnp.diag(jnp.where(support, ridge, 1).astype(block.dtype))
    whiten = inverse_root(block)
    return jnp.where(used, whiten.T @ whiten, 0) / unit[:, None] / unit


def _free(signs: Array | None, unit: Array) -> Array:
    return jnp.zeros_like(unit) if signs is None else signs


def units(information: Array) -> Array:
    """Units in which all terms have the same information."""
    diagonal = jnp.diag(information)
    return jnp.sqrt(jnp.where(diagonal > 0, diagonal, 1))


def tableau(information: Array, linear: Array) -> Array:
    """The tableau of the empty support."""
    unit, n = units(information), len(linear)
    table = jnp.zeros((n + 1, n + 1), information.dtype)
    table = table.at[:n, :n].set(information / unit[:, None] / unit)
    return table.at[:n, n].set(linear / unit).at[n, :n].set(linear / unit)


def _search(
    table: Array,
    support: Array,
    price: Array,
    unit: Array,
    max_changes: Array | int,
    signs: Array,
) -> tuple[Array, Subset]:
    """Make the cheapest change until none pays."""
    n = len(support)
    # What is left of a term's information, relative to what it had, when others explain
    # it: below this, it is one of them again.
    least = float(100 * jnp.finfo(table.dtype).eps)

    def change(carry):
        table, support, chosen, changes = carry
        table = toggle(table, chosen.first, inside=support[chosen.first])
        support = support.at[chosen.first].set(~support[chosen.first])
        found = _cheapest(table, support, price, signs, least)
        # An exchange is two of them: what goes in comes next, whatever it costs.
        follow = found._replace(
            first=chosen.second,
            exchange=jnp.array(False),
            cost=jnp.full_like(found.cost, -jnp.inf),
        )
        following = where_each(chosen.exchange, follow, found)
        return table, support, following, changes + ~chosen.exchange

    def pays(carry):
        cheapest, changes = carry[2:]
        return (cheapest.cost < -1e-3) & (changes < max_changes)

    first = _cheapest(table, support, price, signs, least)
    table, support, cheapest, _ = jax.lax.while_loop(
        pays, change, (table, support, first, jnp.zeros((), int))
    )
    coefficients = jnp.where(support, table[:n, n] / unit, 0)
    cost = table[n, n] + price * jnp.sum(support)
    return table, Subset(support, coefficients, cost, cheapest.cost)


class _Change(NamedTuple):
    """What to toggle first, what to add then if it is an exchange, at what cost."""

    first: Array
    second: Array
    exchange: Array
    cost: Array


def _cheapest(
    table: Array, support: Array, price: Array, signs: Array, least: float
) -> _Change:
    """The change of the support that costs least, or gains most."""
    n = len(support)
    diagonal, side = jnp.diag(table)[:n], table[:n, n]
    usable = support | ((diagonal > least) & (signs * side >= 0))
    paid = jnp.where(support, -price, price)
    single = jnp.where(usable, paid - side**2 / jnp.where(usable, diagonal, 1), jnp.inf)
    j = jnp.argmin(single)
    # Exchanges, row in and column out, from the tableau as it will be without the
    # column.
    out = -1 / jnp.where(support, diagonal, -1)  # a variance is minus the diagonal

    def exchanges(row: Array, rest: Array, pull: Array, sign: Array) -> Array:
        """Costs of putting one term in, for each that goes out."""
        rest, pull = rest + row**2 * out, pull + row * (side * out)
        usable = support & (rest > least) & (sign * pull >= 0)
        gain = pull**2 / jnp.where(usable, rest, 1)
        return jnp.where(usable, side**2 * out - gain, jnp.inf)

    given = (table[:n, :n], diagonal, side, signs)
    # Two rounds, as the place of the least of n^2 numbers takes long to find.
    costs = jnp.min(jax.vmap(exchanges)(*given), axis=1)
    costs = jnp.where(support, jnp.inf, costs)
    enters = jnp.argmin(costs)
    double = costs[enters]
    leaves = jnp.argmin(exchanges(*(part[enters] for part in given)))
    exchange = double < single[j]
    return _Change(
        first=jnp.where(exchange, leaves, j),
        second=enters,
        exchange=exchange,
        cost=jnp.where(exchange, double, single[j]),
    )


def enter(table: Array, support: Array, inverse: Array) -> Array:
    """Put all of a support in at once: as by toggles one by one, in matrix products."""
    inside = jnp.append(support, False)
    inverse = jnp.pad(inverse, ((0, 1), (0, 1)))
    entered = inverse @ table
    rest = table - table @ entered
    return jnp.where(
        inside[:, None] & inside,
        -inverse,
        jnp.where(inside[:, None], entered, jnp.where(inside, entered.T, rest)),
    )


def toggle(table: Array, j: Array, *, inside: Array) -> Array:
    """Put one index in or out of the support."""
    row = table[j]
    pivot = row[j]
    here = jnp.arange(len(row)) == j
    line = jnp.where(here, -1 / pivot, jnp.where(inside, -row, row) / pivot)
    # In one pass and as symmetric as before: a large table takes its time.
    scaled = row / jnp.sqrt(jnp.abs(pivot))
    swept = table - scaled[:, None] * (jnp.sign(pivot) * scaled)
    return jnp.where(here[:, None], line, jnp.where(here, line[:, None], swept))
