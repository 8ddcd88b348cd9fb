"""The best few terms of a quadratic: adding, dropping and swapping them.

For a quadratic x'Ix - 2b'x plus a penalty for each nonzero, all single additions, drops
and swaps are evaluated in closed form from one tableau. The best change is made
until none pays.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...engines.linalg import inverse_root
from ..trees import where_each
from .tableau import Tableau, empty, enter, in_units, toggle, units


class Subset(NamedTuple):
    """The support found.

    Attributes:
        support: The terms.
        coefficients: The minimiser on them.
        cost: The quadratic there, and the penalty of the terms.
        margin: By how much the best change of the support costs more.
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
    penalty: Float[Array, "#n"],
    max_changes: Int[Array, ""] | int = 100,
    signs: Float[Array, "n"] | None = None,
) -> Subset:
    """A support that no addition, drop or swap improves.

    Args:
        information: I, positive semidefinite.
        linear: b.
        start: Support to start from.
        inverse: Of the information on it, by `inverse_on`.
        penalty: Penalty of each term.
        max_changes: Most changes to make.
        signs: 1 or -1 where a term may enter with that sign only, else 0. A later
            change may turn it; whoever uses the result must look.

    Examples:
        >>> import jax.numpy as jnp
        >>> I, start = jnp.eye(3), jnp.array([False, True, False])
        >>> found = best_subset(I, jnp.array([3.0, 0.5, -2.0]), start,
        ...                     inverse_on(I, start), jnp.ones(3))
        >>> found.support.tolist(), found.coefficients.tolist()
        ([True, False, True], [3.0, 0.0, -2.0])
    """
    quadratic, unit = in_units(information, linear)
    table = enter(*quadratic, start, inverse * unit[:, None] * unit)
    found = _search(table, quadratic[0], penalty, max_changes, _free(signs, unit))[1]
    return found._replace(coefficients=found.coefficients / unit)


def best_addition(
    information: Float[Array, "n n"],
    linear: Float[Array, "n"],
    support: Bool[Array, "n"],
    inverse: Float[Array, "n n"],
    signs: Float[Array, "n"],
) -> Float[Array, ""]:
    """By how much the one term that would gain most lowers the quadratic.

    Args:
        information: I, positive semidefinite.
        linear: b.
        support: The terms that are there.
        inverse: Of the information on them, by `inverse_on`.
        signs: As for `best_subset`.
    """
    quadratic, unit = in_units(information, linear)
    table = enter(*quadratic, support, inverse * unit[:, None] * unit)
    least = float(100 * jnp.finfo(linear.dtype).eps)
    usable = ~support & (table.diagonal > least) & (signs * table.side >= 0)
    gains = table.side**2 / jnp.where(usable, table.diagonal, 1)
    return jnp.max(jnp.where(usable, gains, 0))


def subset_path(
    information: Float[Array, "n n"],
    linear: Float[Array, "n"],
    penalties: Float[Array, "L #n"],
    max_changes: Int[Array, ""] | int = 100,
    signs: Float[Array, "n"] | None = None,
    most: int | None = None,
) -> Subset:
    """The best subsets at falling penalties, each from the one before.

    Args:
        information: I, positive semidefinite.
        linear: b.
        penalties: Penalties of each term.
        max_changes: Most changes to make at each penalty.
        signs: As for `best_subset`.
        most: Terms that a subset may have; the fewer, the faster. All if None.
    """
    quadratic, unit = in_units(information, linear)

    def next_subset(table: Tableau, penalty: Array) -> tuple[Tableau, Subset]:
        return _search(table, quadratic[0], penalty, max_changes, _free(signs, unit))

    n = len(linear)
    start = empty(*quadratic, n if most is None else min(n, most))
    found = jax.lax.scan(next_subset, start, penalties)[1]
    return found._replace(coefficients=found.coefficients / unit)


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


def _search(
    table: Tableau,
    information: Array,
    penalty: Array,
    max_changes: Array | int,
    signs: Array,
) -> tuple[Tableau, Subset]:
    """Make the best change until none lowers the cost."""

    def change(carry):
        table, chosen, changes = carry
        table = toggle(table, information, chosen.first)
        found = _best_change(table, penalty, signs)
        # A swap is two of them: what goes in comes next, whatever it costs.
        follow = found._replace(
            first=chosen.second,
            swap=jnp.array(False),
            cost=jnp.full_like(found.cost, -jnp.inf),
        )
        following = where_each(chosen.swap, follow, found)
        return table, following, changes + ~chosen.swap

    def improves(carry):
        _, best, changes = carry
        return (best.cost < -1e-3) & (changes < max_changes)

    first = _best_change(table, penalty, signs)
    table, best, _ = jax.lax.while_loop(
        improves, change, (table, first, jnp.zeros((), int))
    )
    support = table.support
    coefficients = jnp.where(support, table.side, 0)
    cost = table.least + jnp.sum(jnp.where(support, penalty, 0))
    return table, Subset(support, coefficients, cost, best.cost)


class _Change(NamedTuple):
    """What to toggle first, what to add then if it is a swap, at what cost."""

    first: Array
    second: Array
    swap: Array
    cost: Array


def _best_change(table: Tableau, penalty: Array, signs: Array) -> _Change:
    """The change of the support that costs least, or gains most."""
    diagonal, side, support = table.diagonal, table.side, table.support
    # What is left of a term's information, relative to what it had, when others explain
    # it: below this, it is one of them again.
    least = float(100 * jnp.finfo(side.dtype).eps)
    free = table.terms == len(side)
    penalty = jnp.broadcast_to(penalty, side.shape)
    usable = jnp.any(free) & (diagonal > least) & (signs * side >= 0) | support
    change = jnp.where(support, -penalty, penalty)
    single = jnp.where(
        usable, change - side**2 / jnp.where(usable, diagonal, 1), jnp.inf
    )
    j = jnp.argmin(single)
    # Swaps, row out and column in, from the tableau as it will be without the row.
    out, gone = -1 / table.inside(diagonal, fill=-1), table.inside(side)
    saved = table.inside(penalty)

    def swaps(
        column: Array, rest: Array, pull: Array, sign: Array, penalty: Array
    ) -> Array:
        """Costs of putting one term in, for each that goes out."""
        rest, pull = rest + column**2 * out, pull + column * (gone * out)
        usable = ~free & (rest > least) & (sign * pull >= 0)
        gain = pull**2 / jnp.where(usable, rest, 1)
        return jnp.where(usable, gone**2 * out - gain + penalty - saved, jnp.inf)

    # Two rounds, as the place of the least of so many numbers takes long to find.
    each = jax.vmap(swaps, in_axes=(1, 0, 0, 0, 0), out_axes=1)
    costs = jnp.min(each(table.rows, diagonal, side, signs, penalty), axis=0)
    costs = jnp.where(support, jnp.inf, costs)
    enters = jnp.argmin(costs)
    double = costs[enters]
    given = tuple(values[enters] for values in (diagonal, side, signs, penalty))
    leaves = table.terms[jnp.argmin(swaps(table.rows[:, enters], *given))]
    swap = double < single[j]
    return _Change(
        first=jnp.where(swap, leaves, j),
        second=enters,
        swap=swap,
        cost=jnp.where(swap, double, single[j]),
    )
