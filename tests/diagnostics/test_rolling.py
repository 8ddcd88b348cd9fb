"""Forecasts of several steps on the rows of a fit, and what they decide."""

import equinox as eqx
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.diagnostics.doubts import free_run_doubt
from graphgrad.diagnostics.rolling import rolling_errors
from graphgrad.estimator import fitting
from graphgrad.solution import Outcome
from helpers.stubs import least_squares


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(fitting, "adaptive", least_squares)


def logistic(rows=80):
    x = np.full((rows, 1), 0.3)
    for t in range(rows - 1):
        x[t + 1] = 3.9 * x[t] * (1 - x[t])
    return x


def autoregression(rows=120, seed=0):
    rng, x = np.random.default_rng(seed), np.zeros((rows, 1))
    for t in range(2, rows):
        x[t] = 1.5 * x[t - 1] - 0.9 * x[t - 2] + rng.normal()
    return x


def test_errors_are_those_of_the_equations_run_from_each_row():
    x = autoregression()
    fit = gg.GraphGrad(1, lags=1, dynamics="map").fit(x)._fit
    c, a, b = fit.coefficients[0]
    before, now = x[10:-3, 0], x[11:-2, 0]  # runs from row 11 on
    expected = []
    for h in (1, 2):
        before, now = now, c + a * now + b * before
        truth = x[11 + h : len(x) - 2 + h, 0]
        expected.append(np.sqrt(np.mean((now - truth) ** 2)) / x.std())
    found = rolling_errors(fit, 2, 11)
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_runs_that_diverge_are_far_away_and_a_doubt():
    fit = gg.GraphGrad(dynamics="map").fit(logistic())._fit
    right = rolling_errors(fit, 5, 5)
    assert right is not None
    assert right[0] < 0.1
    assert free_run_doubt(fit) is None
    # A little more growth, and all runs leave the unit interval.
    more = eqx.tree_at(lambda s: s.coefficients, fit.solution, 1.2 * fit.coefficients)
    wrong = fit._replace(solution=more)
    errors, doubt = rolling_errors(wrong, 5, 5), free_run_doubt(wrong)
    assert errors is not None
    assert errors[-1] > 3
    assert doubt is not None
    assert doubt.check == "divergence"
    assert doubt.decisive


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "degree"), [(autoregression(), 1), (logistic(), 2)])
def test_linear_maps_are_preferred_where_they_forecast_as_well(rows, degree):
    fit = gg.GraphGrad(lags="auto", dynamics="map").fit(rows)._fit
    assert fit.task.settings["degree"] == degree
    assert "linear map" in fit.notes[-1]


def test_a_linear_map_is_preferred_to_a_fit_that_failed(monkeypatch):
    def failing(key, ys, model, **options):
        found = least_squares(key, ys, model, **options)
        curved = model.library.incidence.sum(axis=0).max() > 1
        failed = Outcome.worse_than_persistence
        return found.with_outcome(failed) if curved else found

    monkeypatch.setattr(fitting, "adaptive", failing)
    fit = gg.GraphGrad(lags="auto", dynamics="map").fit(logistic())._fit
    assert fit.task.settings["degree"] == 1
