"""Delays that a regression finds."""

import numpy as np
import pytest

from graphgrad.estimator.delays import found_delays


def series(T=300, seed=0, missing=0.0):
    """x[t] = 0.6 x[t-1] - 0.5 x[t-3] + 0.8 u[t-2] + 0.4 y[t-1] x[t-2], and y white."""
    rng = np.random.default_rng(seed)
    u, y, x = rng.normal(size=T), rng.normal(size=T), np.zeros(T)
    for t in range(3, T):
        x[t] = 0.6 * x[t - 1] - 0.5 * x[t - 3] + 0.8 * u[t - 2]
        x[t] += 0.4 * y[t - 1] * x[t - 2] + 0.3 * rng.normal()
    x[rng.uniform(size=T) < missing] = np.nan
    return {"x": x, "y": y, "u": u}


@pytest.mark.parametrize("seed", range(3))
def test_delays_of_states_and_inputs(seed):
    # The row before is the present: x[t-3] is two steps before it.
    assert found_delays([series(seed=seed)], ["x", "y"], 8) == {"x": 2, "u": 2}


def test_units_and_origin_do_not_matter():
    rows = series()
    other = {"x": 1e6 * rows["x"] + 3e7, "y": 1e-7 * rows["y"], "u": rows["u"] - 273.15}
    assert found_delays([other], ["x", "y"], 8) == found_delays([rows], ["x", "y"], 8)


def test_a_panel_with_missing_rows():
    panel = [series(150, seed, missing=0.03) for seed in range(4)]
    found = found_delays(panel, ["x", "y"], 4)
    assert found["x"] == 2
    assert found["u"] >= 2


def test_products_only_if_asked_for():
    """x[t] = y[t-1] x[t-2] has no linear trace of x."""
    rng = np.random.default_rng(0)
    y, x = rng.choice([-1.0, 1.0], size=400), np.ones(400)
    for t in range(2, 400):
        x[t] = 0.9 * y[t - 1] * x[t - 2] + 0.3 * rng.normal()
    rows = [{"x": x, "y": y}]
    assert found_delays(rows, ["x", "y"], 3).get("x") == 1
    assert "x" not in found_delays(rows, ["x", "y"], 3, products=False)


def test_seasons_are_never_delayed():
    t = np.arange(200)
    season = np.sin(2 * np.pi * t / 12)
    x = season + 0.1 * np.random.default_rng(0).normal(size=200)
    rows = [{"x": x, "season": season}]
    assert found_delays(rows, ["x"], 6, present=["season"]) == {}


def test_too_few_rows_have_no_delays():
    assert found_delays([{"x": np.arange(9.0)}], ["x"], 3) == {}
