"""Branch and bound over the supports of an equation, on a quadratic x'Ix - 2b'x.

All supports whose quadratic, with the penalties of their terms, is below a limit. A
node is a set of terms that are in, and of others that may be. With all of these in, and
nothing paid for them, the quadratic is a lower bound (Furnival and Wilson, Regressions
by leaps and bounds, Technometrics 16, 1974). What that leaves below the limit is what
further terms may cost: a term without which the bound is above the limit is in, one
that costs more is out. Where at most two more can be paid, all are evaluated in closed
form.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

MOST_NODES = 200
"""Nodes after which a search is given up."""


class Below(NamedTuple):
    """Supports below a limit.

    Attributes:
        supports: Their terms, the best first.
        complete: Whether there are no others, or none that are better than these.
    """

    supports: list[tuple[int, ...]]
    complete: bool


class _Node(NamedTuple):
    """Terms that are in, and others that may be."""

    inside: Bool[np.ndarray, "k"]
    undecided: Bool[np.ndarray, "k"]


def supports_below(
    information: Float[np.ndarray, "k k"],
    linear: Float[np.ndarray, "k"],
    penalty: Float[np.ndarray, "k"],
    usable: Bool[np.ndarray, "k"],
    limit: float,
    most: int = 10,
) -> Below:
    """The supports whose quadratic and penalties are below a limit.

    Args:
        information: I, positive definite on the terms that are usable.
        linear: b.
        penalty: Of each term, zero or more.
        usable: Which terms may enter.
        limit: The limit.
        most: Most supports; of more, the best.

    Examples:
        >>> I, b, penalty = np.eye(3), np.array([3.0, 0.5, -2.0]), np.ones(3)
        >>> supports_below(I, b, penalty, np.ones(3, bool), -10.5)
        Below(supports=[(0, 2)], complete=True)
    """
    unit = np.sqrt(np.where(usable, np.diag(information), 1))
    matrix, side = information / unit[:, None] / unit, linear / unit
    allowed = matrix[np.ix_(usable, usable)]
    if len(allowed) and np.linalg.eigvalsh(allowed)[0] <= 0:
        return Below([], False)
    problem = _Problem(matrix, side, penalty, limit)
    found: list[tuple[float, tuple[int, ...]]] = []
    nodes = [_Node(np.zeros(len(side), bool), np.array(usable))]
    for _ in range(MOST_NODES):
        if not nodes:
            break
        node, slack, rises = _reduced(nodes.pop(), problem)
        if slack <= 0:
            continue
        if 3 * np.min(penalty[node.undecided], initial=np.inf) < slack:
            nodes += _children(node, problem, slack, rises)
            continue
        found = sorted([*found, *_closed(node, problem)])
        if len(found) > most:
            found = found[:most]
            problem = problem._replace(limit=found[-1][0])
    return Below([terms for _, terms in found], not nodes)


class _Problem(NamedTuple):
    """The quadratic, the penalties and the limit."""

    matrix: Float[np.ndarray, "k k"]
    side: Float[np.ndarray, "k"]
    penalty: Float[np.ndarray, "k"]
    limit: float


def _reduced(
    node: _Node, problem: _Problem
) -> tuple[_Node, float, Float[np.ndarray, "k"]]:
    """A node of which all that is certain is decided.

    Also what is left for the penalties of further terms, and by how much the quadratic
    rises without each.
    """
    inside, undecided = node
    rises = np.zeros(len(inside))
    while True:
        there = np.flatnonzero(inside | undecided)
        inverse = np.linalg.inv(problem.matrix[np.ix_(there, there)])
        amounts = inverse @ problem.side[there]
        rises[there] = amounts**2 / np.diag(inverse)
        bound = -float(problem.side[there] @ amounts)
        slack = problem.limit - bound - float(problem.penalty[inside].sum())
        needed = undecided & (rises >= slack)
        while slack > 0 and needed.any():
            slack -= float(problem.penalty[needed].sum())
            inside, undecided = inside | needed, undecided & ~needed
            needed = undecided & (rises >= slack)
        dear = undecided & (problem.penalty >= slack)
        if slack <= 0 or not dear.any():
            return _Node(inside, undecided), slack, rises
        undecided = undecided & ~dear


def _children(
    node: _Node, problem: _Problem, slack: float, rises: Float[np.ndarray, "k"]
) -> Iterator[_Node]:
    """For each undecided term the node without it and with those before it."""
    inside, undecided = node.inside.copy(), node.undecided.copy()
    order = np.flatnonzero(undecided)
    for term in order[np.argsort(-rises[order])]:
        undecided[term] = False
        if rises[term] < slack:
            yield _Node(inside.copy(), undecided.copy())
        inside[term] = True
        slack -= float(problem.penalty[term])
        if slack <= 0:
            return
    yield _Node(inside, undecided)


def _closed(node: _Node, problem: _Problem) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Supports below the limit with up to two of the undecided terms."""
    matrix, side, penalty, limit = problem
    kept, more = np.flatnonzero(node.inside), np.flatnonzero(node.undecided)
    cross = matrix[np.ix_(more, kept)]
    entered = np.linalg.solve(
        matrix[np.ix_(kept, kept)], np.column_stack([cross.T, side[kept]])
    )
    cost = penalty[kept].sum() - side[kept] @ entered[:, -1]
    rest = matrix[np.ix_(more, more)] - cross @ entered[:, :-1]
    pull, size = side[more] - cross @ entered[:, -1], np.diag(rest)
    own = tuple(kept.tolist())
    if cost < limit:
        yield float(cost), own
    costs = cost - pull**2 / size + penalty[more]
    for i in np.flatnonzero(costs < limit):
        yield float(costs[i]), tuple(sorted((*own, int(more[i]))))
    first, second = np.triu_indices(len(more), 1)
    across = rest[first, second]
    gain = pull[first] ** 2 * size[second] + pull[second] ** 2 * size[first]
    gain -= 2 * pull[first] * pull[second] * across
    gain /= size[first] * size[second] - across**2
    costs = cost - gain + penalty[more[first]] + penalty[more[second]]
    for i in np.flatnonzero(costs < limit):
        pair = int(more[first[i]]), int(more[second[i]])
        yield float(costs[i]), tuple(sorted((*own, *pair)))
