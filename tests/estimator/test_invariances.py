"""What must not matter around the solver: order of states, zero of time, precision.

The stub solver regresses rows on terms: all else is reading, layout and results.
"""

import numpy as np
import pandas as pd
import pytest

import graphgrad as gg
from graphgrad.estimator import fitting
from helpers.stubs import least_squares

NAMES = ["prey", "fox"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fits by a stub."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)


@pytest.fixture(scope="module")
def rows():
    """Numbers that single precision has exactly."""
    t = 0.25 * np.arange(40)
    noise = np.random.default_rng(0).standard_normal((40, 2))
    y = np.stack([np.cos(t), np.sin(t)], axis=1) + 0.05 * noise
    return y.astype(np.float32).astype(float)


def _fit(y, **given):
    times = given.pop("times", None)
    return gg.GraphGrad(degree=2, **given).fit(y, times=times)


def _by_name(model):
    """Coefficients by target and the variables of a term."""
    return {
        (state, frozenset(term.split())): value
        for state, row in zip(model.state_names_, model.coef_, strict=True)
        for term, value in zip(model.terms_, row, strict=True)
    }


def test_the_order_of_columns_does_not_matter(rows):
    frame = pd.DataFrame(rows, columns=NAMES)
    one, other = _fit(frame, dt=0.25), _fit(frame[NAMES[::-1]], dt=0.25)
    first, second = _by_name(one), _by_name(other)
    assert first.keys() == second.keys()
    for place, value in first.items():
        assert second[place] == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert (one.adjacency_ == other.adjacency_[::-1, ::-1]).all()


@pytest.mark.parametrize("zero", [1024.0, -4096.0])
def test_the_zero_of_time_does_not_matter(rows, zero):
    t = 0.25 * np.arange(40)
    one, other = _fit(rows, times=t), _fit(rows, times=t + zero)
    assert one.dt_ == other.dt_
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.state_means_, other.state_means_)


def test_the_first_date_does_not_matter(rows):
    frames = [
        pd.DataFrame(rows, columns=NAMES, index=pd.date_range(first, periods=40))
        for first in ("1990-03-01", "2021-07-05")
    ]
    one, other = map(_fit, frames)
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_single_precision_and_a_list_of_one_do_not_matter(rows):
    one = _fit(rows, dt=0.25)
    for other in (rows.astype(np.float32), np.asfortranarray(rows), [rows]):
        np.testing.assert_array_equal(one.coef_, _fit(other, dt=0.25).coef_)
