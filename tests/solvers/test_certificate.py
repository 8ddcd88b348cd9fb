"""Branch and bound over supports, against all of them."""

from itertools import combinations

import numpy as np
import pytest

from graphgrad.solvers.adaptive import certificate
from graphgrad.solvers.adaptive.certificate import supports_below
from graphgrad.solvers.adaptive.rivals import _Block, _Equation

K = 9
PENALTY = np.linspace(1.0, 5.0, K)


def quadratic(seed):
    """Information of correlated terms, and the linear part of some true ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, K)) @ (np.eye(K) + 0.5 * rng.normal(size=(K, K)))
    y = X[:, :4] @ rng.normal(size=4) + rng.normal(size=30)
    return X.T @ X, X.T @ y


def costs(information, linear):
    """The quadratic and the penalties of every support."""

    def cost(terms):
        t = list(terms)
        inverse = np.linalg.inv(information[np.ix_(t, t)])
        return PENALTY[t].sum() - linear[t] @ inverse @ linear[t]

    return {t: cost(t) for n in range(K + 1) for t in combinations(range(K), n)}


@pytest.mark.parametrize("seed", range(6))
def test_supports_below_a_limit_are_those_of_exhaustive_search(seed):
    information, linear = quadratic(seed)
    every = costs(information, linear)
    least = min(every.values())
    for above in (-0.1, 0.1, 4.0, 15.0):
        below = supports_below(
            information, linear, PENALTY, np.ones(K, bool), least + above, most=1000
        )
        assert below.complete
        expected = sorted(
            (t for t in every if every[t] < least + above), key=every.__getitem__
        )
        assert below.supports == expected
        best = supports_below(
            information, linear, PENALTY, np.ones(K, bool), least + above, most=5
        )
        assert best.complete
        assert best.supports == expected[:5]


def test_terms_that_are_not_usable_stay_out():
    information, linear = quadratic(0)
    usable = np.arange(K) != 1
    information[1, 1] = 0.0
    below = supports_below(information, linear, PENALTY, usable, 0.0, most=5)
    assert below.complete
    assert below.supports
    assert all(1 not in terms for terms in below.supports)


def test_a_search_that_is_given_up_says_so(monkeypatch):
    information, linear = quadratic(1)
    every = np.ones(K, bool)
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert not supports_below(
        indefinite, linear[:2], PENALTY[:2], every[:2], 0
    ).complete
    monkeypatch.setattr(certificate, "MOST_NODES", 2)
    given_up = supports_below(information, linear, PENALTY / 9, every, 0.0, most=1000)
    assert not given_up.complete


def test_a_support_that_differs_in_many_terms_is_found():
    """None with two drops and two additions is as good."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, K))
    y = X[:, :3] @ [2.0, -2.0, 2.0]
    block = _Block(X.T @ X, X.T @ y)
    inside, every = np.isin(np.arange(K), [4, 5, 6]), np.ones(K, bool)
    bounds = np.full(K, np.inf)
    equation = _Equation(
        0, np.arange(K), block, inside, every, np.full(K, 8.0), -bounds, bounds
    )
    (best, *_), complete = equation.better(-100.0)
    assert complete
    assert best[1] == [0, 1, 2]
    assert best[0] < -100.0
