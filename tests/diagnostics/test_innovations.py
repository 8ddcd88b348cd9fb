"""Variances of one-step predictions in NumPy against filters written out by hand."""

from typing import Any

import numpy as np
import pytest

import graphgrad as gg
from graphgrad.diagnostics.innovations import (
    NEGLIGIBLE,
    predicted_variances,
    standardised,
)
from graphgrad.estimator import fitting
from helpers.stubs import least_squares

Q, R = 0.4, 0.3


@pytest.fixture(autouse=True)
def _stub(monkeypatch):
    monkeypatch.setattr(fitting, "adaptive", least_squares)


def rows(seed=0):
    rng, x = np.random.default_rng(seed), np.zeros(40)
    for t in range(1, len(x)):
        x[t] = 0.5 + 0.6 * x[t - 1] - 0.1 * x[t - 1] ** 2 + 0.5 * rng.normal()
    return x


def fitted(y, times=None, **options) -> Any:
    model = gg.GraphGrad(states=["x"], state_noise=Q, observation_noise=R, **options)
    return model.fit(y[:, None], times=times)._fit


def variances(fit):
    found = predicted_variances(fit)
    assert found is not None
    return found


def by_hand(fit, y, slopes, noises):
    start = float(fit.data.model.initial_noise.variances[0])
    variance, found = start, []
    for value, slope, noise in zip(y, slopes, noises, strict=True):
        variance = slope**2 * variance + noise
        found.append(variance + R)
        if np.isfinite(value):
            variance = variance * R / (variance + R)
    return np.array(found)[:, None]


def test_variances_of_a_map_follow_its_slope_and_missing_values():
    y = rows()
    y[[7, 8, 20]] = np.nan
    fit = fitted(y, dynamics="map", degree=2)
    _, b, c = fit.coefficients[0]
    before = np.concatenate(
        [fit.data.model.initial_mean, fit.solution.filtered[:-1, 0]]
    )
    expected = by_hand(fit, y, b + 2 * c * before, np.full(40, Q))
    np.testing.assert_allclose(variances(fit), expected, rtol=1e-5)


def test_variances_of_a_flow_are_those_of_ornstein_and_uhlenbeck():
    rng = np.random.default_rng(1)
    length = rng.choice([0.1, 0.2, 0.3], 40)
    y = rows()
    fit = fitted(y, np.cumsum(length), dynamics="flow", degree=1, dt=0.2)
    rate, pace = fit.coefficients[0, 1], np.asarray(fit.data.model.schedule.pace)
    assert rate < -1
    kept = np.exp(0.2 * pace * rate)
    expected = by_hand(fit, y, kept, Q * (kept**2 - 1) / (2 * rate))
    # Simpson's rule, over intervals in which two thirds are forgotten at most.
    np.testing.assert_allclose(variances(fit), expected, rtol=2e-3)


def test_residuals_are_errors_over_their_deviations_and_rounding_is_none():
    fit = fitted(rows(), dynamics="map", degree=1)
    errors = np.random.default_rng(0).normal(size=(40, 1))
    found, none = (standardised(fit, [share * errors]) for share in (1, NEGLIGIBLE / 3))
    assert found is not None
    assert none is not None
    np.testing.assert_allclose(found[0], errors / np.sqrt(variances(fit)))
    assert np.isnan(none[0]).all()


def test_other_noise_has_no_such_residuals():
    model = gg.GraphGrad(
        states=["x"], degree=1, dynamics="map", state_noise=gg.StudentT(1.0, df=3)
    )
    assert predicted_variances(model.fit(rows()[:, None])._fit) is None
