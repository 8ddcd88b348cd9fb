"""Tests of the size of residuals, which have their level and see what they are for."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from graphgrad.diagnostics.changes import (
    change_of_size,
    clustering,
    growth,
    step_of_size,
    sudden_break,
)
from graphgrad.diagnostics.normality import shape_of

TESTS = {
    "clustering": lambda z, _: clustering([z]),
    "growth": growth,
    "step of size": lambda z, _: step_of_size([z]),
    "all": lambda z, level: change_of_size([z], [level]),
}


@pytest.mark.parametrize("name", TESTS)
def test_a_test_of_normal_values_rejects_no_more_often_than_it_says(name):
    # Of 250 to 6000 samples of 60 to 500 values, 2 to 5 % had a p-value below 0.05,
    # and at most 0.1 % one below 0.001. Tests of clustering are conservative.
    rng = np.random.default_rng(0)
    levels = lfilter([1.0], [1.0, -0.8], rng.normal(size=(400, 100)), axis=1)
    p = [TESTS[name](rng.normal(size=100), level).p_value for level in levels]
    # 5 % are 20, and the deviation of that number is 4.4.
    assert 2 <= np.sum(np.array(p) < 0.05) < 36


def changing(kind, rng):
    """Noise of a size that changes, and what was predicted for it."""
    z, level = rng.normal(size=(2, 200))
    if kind == "step of size":
        return z * np.repeat([1.0, 2.0], 100), level
    if kind == "growth":
        return z * np.exp(level / 3), level
    variance = 1.0
    for t in range(1, 200):
        variance = 0.05 + 0.35 * z[t - 1] ** 2 + 0.6 * variance
        z[t] *= np.sqrt(variance)
    return z, level


@pytest.mark.parametrize("kind", ["clustering", "growth", "step of size"])
def test_each_kind_of_change_is_seen(kind):
    # Of 20 samples of other seeds 17 or more, for each kind.
    found = [
        TESTS["all"](*changing(kind, np.random.default_rng(seed))).p_value < 1e-3
        for seed in range(20)
    ]
    assert sum(found) >= 14


def test_what_is_said_of_a_step():
    z = np.where(np.arange(100) < 40, 1.0, 3.0) * np.resize([1, -1.0, 0.9, -0.9], 100)
    found = step_of_size([z])
    assert found.number == pytest.approx(3.0)
    assert found.text == "are 3 times as large after the first 40 of 100 rows"
    # Missing values are rows, too; the end of a series is no more than its beginning.
    z[:10] = np.nan
    assert step_of_size([z[:30], z[30:]]).text == found.text


def test_residuals_that_are_zero_at_first():
    z = np.where(np.arange(100) < 40, 0.0, np.resize([1, -1.0, 0.9, -0.9], 100))
    found = step_of_size([z])
    assert found.number == np.inf
    assert found.text == "are zero in the first 40 of 100 rows, and not later"


def test_clusters_end_with_their_series():
    rng = np.random.default_rng(0)
    z = rng.normal(size=400) * np.repeat(np.resize([1.0, 4.0], 80), 5)
    apart = clustering(list(z.reshape(80, 5)))
    assert apart.number != clustering([z]).number
    # Only lags within five rows are left.
    size = np.abs(z.reshape(80, 5)) - np.abs(z).mean()
    total = sum(
        (1 - (lag - 1) / 5) * np.sum(size[:, lag:] * size[:, :-lag])
        for lag in range(1, 5)
    )
    before = np.zeros_like(size)
    for lag in range(1, 5):
        before[:, lag:] += (1 - (lag - 1) / 5) * size[:, :-lag]
    assert apart.number == pytest.approx(
        total / np.sqrt(np.sum(size**2) * np.sum(before**2))
    )


@pytest.mark.parametrize("test", TESTS.values())
def test_too_few_values_and_equal_ones_say_nothing(test):
    for z in (np.ones(100), np.zeros(100), np.arange(10.0), np.full(50, np.nan)):
        assert test(z, np.ones(len(z))).p_value == 1.0


def test_a_jump_of_all_columns_is_seen_and_chance_is_not():
    # Of 600 samples of 60 rows 2 % had a p-value below 0.05: the bound is generous.
    p, jump = [], np.array([4.0, 2.5, 1.5])[:, None] * [1, -1]
    for seed in range(100):
        z = np.random.default_rng(seed).normal(size=(100, 2))
        p.append(sudden_break([z]).p_value)
        z[50:53] += jump
        # Columns that depend on each other, some values of which are missing.
        z[:, 1] += 0.8 * z[:, 0]
        z[::9, 0] = np.nan
        p.append(sudden_break([z[:30], z[30:]]).p_value)
    assert np.sum(np.array(p[::2]) < 0.05) <= 7
    assert np.sum(np.array(p[1::2]) < 1e-3) >= 70


def test_a_break_of_one_column_beside_one_that_is_not_tested():
    z = np.full((60, 2), np.nan)
    z[:, 1] = np.random.default_rng(0).normal(size=60)
    z[20, 1] = 9.0
    found = sudden_break([z])
    assert found.number == 21
    assert found.text == "of all columns are far off in row 21"
    assert sudden_break([z[:, :1]]).p_value == 1.0


def test_light_tails_are_not_harmful():
    rounded = np.random.default_rng(0).uniform(-0.5, 0.5, 500)
    found = shape_of(rounded)
    assert found.p_value < 1e-9 < 0.01 < found.p_harmful
    skewed = shape_of(rounded**3 * (rounded > 0))
    assert skewed.p_harmful < 1e-9


def test_rank_correlation_and_step_are_those_of_scipy():
    rng = np.random.default_rng(1)
    residuals, level = rng.normal(size=90).round(1), rng.poisson(2.0, 90).astype(float)
    expected: Any = stats.spearmanr(np.abs(residuals), level)
    found = growth(residuals, level)
    np.testing.assert_allclose(found[:2], expected, rtol=1e-9)
    size = np.abs(residuals) - np.abs(residuals).mean()
    largest = np.abs(np.cumsum(size)).max() / size.std() / np.sqrt(90)
    p_value = step_of_size([residuals]).p_value
    assert p_value == pytest.approx(stats.kstwobign.sf(largest), rel=1e-9)
