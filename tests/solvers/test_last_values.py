"""Last values in maps: what they cost, and maps that have nothing else."""

import numpy as np
import pytest

import graphgrad as gg


def test_last_values_of_maps_are_known():
    ys = np.cumsum(np.random.default_rng(0).normal(size=(60, 2)), axis=0)
    for dynamics, expected in (("map", np.log(120)), ("difference", np.nan)):
        found = gg.GraphGrad(degree=1, dynamics=dynamics).fit(ys).solution_
        assert isinstance(found, gg.Solution)
        prices = np.asarray(found.term_prices)[:, 1:]
        same = np.isclose(prices, expected, rtol=1e-6)
        assert (same == (np.eye(2, dtype=bool) & (dynamics == "map"))).all()


@pytest.mark.slow
def test_a_random_walk_is_nothing_left_and_an_autoregression_is_not():
    steps = np.random.default_rng(5).normal(size=(150, 2))
    walk = gg.GraphGrad(dynamics="map").fit(np.cumsum(steps, axis=0))
    assert walk.outcome_ == "nothing_left"
    y = np.zeros((150, 2))
    for t in range(1, 150):
        y[t] = 0.7 * y[t - 1] + steps[t]
    model = gg.GraphGrad(dynamics="map").fit(y)
    assert model.outcome_ in ("converged", "undecided")
