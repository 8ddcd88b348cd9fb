"""Beam search over the terms of a regression, and smoothing without equations."""

from itertools import combinations

import numpy as np
import pytest

from graphgrad.solvers.adaptive.beam import Regressors, beam_search
from graphgrad.solvers.adaptive.smoothing import smoothed_series


@pytest.mark.parametrize("seed", range(4))
def test_the_best_support_is_that_of_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    terms = rng.normal(size=(40, 9)) @ (np.eye(9) + 0.5 * rng.normal(size=(9, 9)))
    y = terms[:, :3] @ rng.normal(size=3) + 0.3 * rng.normal(size=40)
    penalty, allowed = np.linspace(4.0, 8.0, 9), np.arange(9) != 8

    def cost(support):
        support = list(support)
        fit = terms[:, support] @ np.linalg.lstsq(terms[:, support], y, rcond=None)[0]
        return 40 * np.log(np.mean((y - fit) ** 2)) + penalty[support].sum()

    every = [t for n in range(9) for t in combinations(range(8), n)]
    # Wide enough to keep all supports of a size.
    found, amounts = beam_search(Regressors.of(terms), y, penalty, allowed, width=100)
    assert tuple(found) == min(every, key=cost)
    expected = np.linalg.lstsq(terms[:, found], y, rcond=None)[0]
    np.testing.assert_allclose(amounts, expected, rtol=1e-8)


def test_terms_that_only_explain_together_are_found():
    """Adding one at a time takes a third term, which looks better than each."""
    rng = np.random.default_rng(0)
    first, noise, other = rng.normal(size=(3, 60))
    second = 0.1 * rng.normal(size=60) - first
    y = first + second
    terms = np.column_stack([first, second, y + 0.1 * noise, rng.normal(size=(60, 80))])
    penalty, allowed = np.full(83, 12.0), np.ones(83, bool)
    regressors = Regressors.of(terms)
    assert beam_search(regressors, y + 1e-3 * other, penalty, allowed)[0] == [0, 1]


def test_nothing_is_found_where_nothing_is():
    terms = np.zeros((20, 3))
    found, amounts = beam_search(
        Regressors.of(terms), np.ones(20), np.ones(3), np.ones(3, bool)
    )
    assert (found, len(amounts)) == ([], 0)


def test_series_are_smoothed_each_by_itself():
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.5, 1.5, 200))
    exact = np.column_stack([np.sin(t / 5), np.full(200, 3.0)])
    exact[100:] -= 5.0
    data = exact + 0.1 * rng.normal(size=exact.shape)
    fresh = np.isin(np.arange(200), [0, 100, 198])
    lengths = np.append(1.0, np.diff(t))
    found = smoothed_series(data, lengths, fresh)
    error = np.sqrt(np.mean((found[:198] - exact[:198]) ** 2, axis=0))
    assert (error < 0.05).all()
    # Too few rows to smooth; and a line is left as it is.
    np.testing.assert_array_equal(found[198:], data[198:])
    line = np.column_stack([t[:100], -2 * t[:100]])
    np.testing.assert_allclose(
        smoothed_series(line, lengths[:100], fresh[:100]), line, atol=1e-6
    )
