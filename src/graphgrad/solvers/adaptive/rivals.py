"""Supports near the best one: all that drop and add a few terms of one equation.

At the maximum on the best support, gradient and information over all active terms are a
quadratic model of the log-likelihood. On it every support that drops at most two terms
of an equation and adds at most two is evaluated in closed form, the other equations
adapting to it: unlike single changes and swaps, this finds one term in place of two.
Branch and bound (`certificate`) tells whether any support of an equation is better.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from .certificate import supports_below
from .plan import Plan
from .proposal import Maximum
from .quadratic_model import FEW_COEFFICIENTS

WINDOW = 10.0
"""Rise of the criterion, by the quadratic model, up to which a support is a rival."""

MOST_RIVALS = 10
"""Most rivals of a support."""

SMALLEST = 1e-3
"""Fall of the criterion that counts."""

DROPPED, ADDED = 6, 8
"""Terms of an equation whose drops, and additions, are combined."""


class Rival(NamedTuple):
    """A support near the best one.

    Attributes:
        rise: Of the criterion, by the quadratic model.
        support: The parameters that are not zero.
        parameters: Their values.
    """

    rise: float
    support: Bool[np.ndarray, "R K"]
    parameters: Float[np.ndarray, "R K"]


class Near(NamedTuple):
    """The rivals of a support.

    Attributes:
        rivals: Those of the lowest criterion first.
        rows: The equation in which each differs.
        complete: For each equation, whether all of its supports that the quadratic
            model promises to be better are among them.
    """

    rivals: list[Rival]
    rows: list[int]
    complete: Bool[np.ndarray, "R"]


def rivals(maximum: Maximum, plan: Plan) -> Near:
    """The rivals of a support."""
    equations = list(_equations(maximum, plan))
    found: dict[tuple, tuple[Rival, int]] = {}
    for equation in equations:
        near = _near(equation.block, equation.inside, equation.usable, equation.penalty)
        found |= equation.as_rivals(near, maximum)
    complete = np.zeros(len(equations), bool)
    if plan.base.size <= FEW_COEFFICIENTS:
        # Others that change more terms count if they are better than these.
        rise = min((each.rise for each, _ in found.values()), default=WINDOW)
        for equation in equations:
            others, complete[equation.row] = equation.better(max(rise, 0.0))
            found = equation.as_rivals(others, maximum) | found
    near = sorted(found.values(), key=lambda each: each[0].rise)
    for rival, row in near[MOST_RIVALS:]:
        complete[row] &= rival.rise > -SMALLEST
    near = near[:MOST_RIVALS]
    return Near([each for each, _ in near], [row for _, row in near], complete)


class _Equation(NamedTuple):
    """One equation's terms in play, the others adapting.

    Attributes:
        row: Its number.
        columns: Of its terms.
        block: The quadratic in their parameters.
        inside: Which terms it has.
        usable: Which it may have.
        penalty: Of each term.
        low: Lowest values.
        high: Highest ones.
    """

    row: int
    columns: Int[np.ndarray, "k"]
    block: "_Block"
    inside: Bool[np.ndarray, "k"]
    usable: Bool[np.ndarray, "k"]
    penalty: Float[np.ndarray, "k"]
    low: Float[np.ndarray, "k"]
    high: Float[np.ndarray, "k"]

    def better(
        self, rise: float
    ) -> tuple[list[tuple[float, list[int], np.ndarray]], bool]:
        """Supports of which the criterion rises by less, and whether these are all."""
        present = tuple(np.flatnonzero(self.inside & self.usable).tolist())
        now = self._costs([present])[0][0]
        below = supports_below(
            _regular(self.block.metric),
            self.block.linear,
            self.penalty,
            self.usable,
            now + rise,
            MOST_RIVALS + 1,
        )
        supports = [terms for terms in below.supports if terms != present]
        costs, amounts = self._costs(supports)
        return [
            (float(cost - now), list(terms), values)
            for cost, terms, values in zip(costs, supports, amounts, strict=True)
        ], below.complete

    def _costs(self, supports: list[tuple[int, ...]]) -> tuple[np.ndarray, list]:
        """The criterion on each support, but for a constant, and the parameters."""
        quadratic, amounts = self.block.costs(supports)
        paid = [float(self.penalty[list(terms)].sum()) for terms in supports]
        return quadratic + np.array(paid), amounts

    def as_rivals(
        self, near: Iterable[tuple[float, list[int], np.ndarray]], maximum: Maximum
    ) -> dict[tuple, tuple[Rival, int]]:
        """Supports within the bounds as rivals, by row and terms."""
        found, row = {}, self.row
        for rise, terms, amounts in near:
            low, high = self.low[terms], self.high[terms]
            if not ((amounts >= low) & (amounts <= high)).all():
                continue
            support = np.array(maximum.support)
            parameters = np.array(maximum.unknowns.parameters)
            support[row], parameters[row] = False, 0.0
            support[row, self.columns[terms]] = True
            parameters[row, self.columns[terms]] = amounts
            found[row, *terms] = Rival(rise, support, parameters), row
        return found


def _equations(maximum: Maximum, plan: Plan) -> Iterator[_Equation]:
    """Each equation, on the quadratic model at a maximum."""
    active = np.asarray(maximum.active)
    here, penalty, low, high, free, inside = (
        np.take_along_axis(np.asarray(values), active, axis=1)
        for values in (
            maximum.unknowns.parameters,
            maximum.penalties,
            plan.low,
            plan.high,
            plan.free,
            maximum.support,
        )
    )
    metric = np.asarray(maximum.metric, float)
    values = int(np.isfinite(np.asarray(plan.ys)).sum())
    gradient = credible_gradient(metric, np.asarray(maximum.gradient), values)
    linear = gradient + metric @ here.ravel()
    rows, size = active.shape
    for row in range(rows):
        mine = np.zeros((rows, size), bool)
        mine[row] = True
        others = np.flatnonzero((inside & ~mine).ravel() & (np.diag(metric) > 0))
        block = _Block.of(metric, linear, np.flatnonzero(mine.ravel()), others)
        usable = free[row] & (np.diag(block.metric) > 0)
        yield _Equation(
            row,
            active[row],
            block,
            inside[row],
            usable,
            penalty[row],
            low[row],
            high[row],
        )


def credible_gradient(
    metric: Float[np.ndarray, "k k"], gradient: Float[np.ndarray, "k"], values: int
) -> Float[np.ndarray, "k"]:
    """The gradient, without what no information is behind.

    With wrong terms the gradient also has parts in directions in which the data tell
    next to nothing, such as the difference of terms that are nearly collinear. The
    quadratic model promises hundreds for these, which no support keeps, and the
    supports that do nearly as well would not be among the rivals. So the gradient is
    the one that leads to the step of a metric to which the information of one value is
    added.

    Args:
        metric: Information on the parameters; zeros for those that are not free.
        gradient: Of the log-likelihood.
        values: Number of observed values.

    Examples:
        >>> metric = np.array([[1.0, 1 - 1e-6], [1 - 1e-6, 1.0]])
        >>> credible_gradient(metric, np.array([5.0, 5.0]), 10_000).round(3)
        array([5., 5.])
        >>> credible_gradient(metric, np.array([0.1, -0.1]), 10_000).round(3)
        array([ 0.001, -0.001])
    """
    size = np.diag(metric)
    one = np.where(size > 0, size / max(values, 1), 1.0)
    return metric @ np.linalg.solve(metric + np.diag(one), gradient)


class _Block(NamedTuple):
    """The quadratic x'Ix - 2b'x in the terms of one equation, the others adapting."""

    metric: Float[np.ndarray, "k k"]
    linear: Float[np.ndarray, "k"]

    @classmethod
    def of(
        cls,
        metric: np.ndarray,
        linear: np.ndarray,
        mine: np.ndarray,
        others: np.ndarray,
    ) -> "_Block":
        own, linear_own = metric[np.ix_(mine, mine)], linear[mine]
        if not len(others):
            return cls(own, linear_own)
        cross = metric[np.ix_(mine, others)]
        rest = _regular(metric[np.ix_(others, others)])
        adapted = np.linalg.solve(rest, np.column_stack([cross.T, linear[others]]))
        return cls(own - cross @ adapted[:, :-1], linear_own - cross @ adapted[:, -1])

    def costs(self, supports: Sequence[tuple[int, ...]]) -> tuple[np.ndarray, list]:
        """The quadratic at its minimum on each support, and the minimisers."""
        costs, amounts = np.zeros(len(supports)), [np.zeros(0)] * len(supports)
        sizes = np.array([len(terms) for terms in supports])
        for size in np.unique(sizes[sizes > 0]):
            places = np.flatnonzero(sizes == size).tolist()
            terms = np.array([supports[i] for i in places])
            blocks = _regular(self.metric[terms[:, :, None], terms[:, None, :]])
            sides = self.linear[terms]
            solved = np.linalg.solve(blocks, sides[..., None])[..., 0]
            costs[places] = -np.sum(sides * solved, axis=1)
            for i, values in zip(places, solved, strict=True):
                amounts[i] = values
        return costs, amounts


def _near(
    block: _Block,
    inside: Bool[np.ndarray, "k"],
    usable: Bool[np.ndarray, "k"],
    penalty: Float[np.ndarray, "k"],
) -> Iterator[tuple[float, list[int], np.ndarray]]:
    """Supports of an equation whose criterion is near that of the present one."""
    present = np.flatnonzero(inside & usable).tolist()
    drops = _cheapest_drops(block, present, penalty)
    without = [
        tuple(term for term in present if term not in left)
        for number in range(3)
        for left in combinations(drops, number)
    ]
    absent = np.flatnonzero(~inside & usable)
    entering = _best_additions(block, without, absent, penalty)
    supports = [
        tuple(sorted((*kept, *more)))
        for kept in without
        for number in range(3)
        for more in combinations(entering, number)
    ]
    supports = list(dict.fromkeys(supports))
    quadratic, amounts = block.costs(supports)
    costs = quadratic + [float(penalty[list(terms)].sum()) for terms in supports]
    now = costs[supports.index(tuple(present))]
    for i in np.flatnonzero(costs < now + WINDOW):
        if supports[i] != tuple(present):
            yield float(costs[i] - now), list(supports[i]), amounts[i]


def _cheapest_drops(
    block: _Block, present: list[int], penalty: np.ndarray
) -> list[int]:
    """The terms that cost least to drop."""
    if len(present) <= DROPPED:
        return present
    fewer = [tuple(t for t in present if t != left) for left in present]
    rises = block.costs(fewer)[0] - penalty[present]
    return [present[i] for i in np.argsort(rises)[:DROPPED]]


def _best_additions(
    block: _Block,
    without: Sequence[tuple[int, ...]],
    absent: np.ndarray,
    penalty: np.ndarray,
) -> list[int]:
    """The terms that do best beside what is left after some were dropped."""
    if len(absent) <= ADDED:
        return absent.tolist()
    best = np.full(len(absent), np.inf)
    for terms in without:
        kept = np.array(terms, int)
        cost, pull = 0.0, block.linear[absent]
        rest = np.diag(block.metric)[absent]
        size = rest
        if len(kept):
            cross = block.metric[np.ix_(absent, kept)]
            inverse = np.linalg.inv(_regular(block.metric[np.ix_(kept, kept)]))
            pull = pull - cross @ (inverse @ block.linear[kept])
            rest = rest - np.sum(cross @ inverse * cross, axis=1)
            cost = float(penalty[kept].sum())
            cost -= float(block.linear[kept] @ inverse @ block.linear[kept])
        there = rest > 1e-9 * size
        gain = np.where(there, pull**2 / np.where(there, rest, 1), -np.inf)
        best = np.minimum(best, cost - gain + penalty[absent])
    return absent[np.argsort(best)[:ADDED]].tolist()


def _regular(blocks: Float[np.ndarray, "*n k k"]) -> Float[np.ndarray, "*n k k"]:
    """Matrices with a share of 1e-11 of their diagonals added."""
    diagonal = np.diagonal(blocks, axis1=-2, axis2=-1)
    return blocks + 1e-11 * diagonal[..., None] * np.eye(blocks.shape[-1])
