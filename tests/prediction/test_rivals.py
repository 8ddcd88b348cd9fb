"""Forecasts averaged with autoregressions: medians, widths, and where they are not."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.estimator import fitting
from graphgrad.prediction.forecast import MODEL, SOURCES, forecast
from graphgrad.prediction.rivals import NORMAL_BAND, rivals_of
from graphgrad.solution import Doubt, Outcome, Solution
from helpers.stubs import least_squares

EQUATIONS = tuple(source for source in SOURCES if source != MODEL)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(fitting, "adaptive", least_squares)


def autoregression(rows, seed=0):
    rng, x = np.random.default_rng(seed), np.zeros((rows, 1))
    for t in range(2, rows):
        x[t] = 1.5 * x[t - 1] - 0.9 * x[t - 2] + rng.normal()
    return x


def logistic(rows=80):
    x = np.full((rows, 1), 0.3)
    for t in range(rows - 1):
        x[t + 1] = 3.9 * x[t] * (1 - x[t])
    return x


def test_right_equations_and_given_noise_have_no_rivals():
    curved = gg.GraphGrad(dynamics="map").fit(logistic())._fit
    assert rivals_of(curved, 5) is None
    assert isinstance(curved.solution, Solution)
    undecided = curved.solution.with_outcome(Outcome.undecided)
    assert rivals_of(curved._replace(solution=undecided), 5) is None
    failed = curved.solution.with_outcome(Outcome.worse_than_persistence)
    assert rivals_of(curved._replace(solution=failed), 5) is not None
    x = autoregression(120)
    assert rivals_of(gg.GraphGrad(1, dynamics="map").fit(x)._fit, 5) is not None
    for known in ({"state_noise": 1.0}, {"constraints": [gg.known("x1", "1", 0.0)]}):
        assert (
            rivals_of(gg.GraphGrad(1, dynamics="map", **known).fit(x)._fit, 5) is None
        )
    assert rivals_of(gg.GraphGrad(1, dynamics="map").fit(x[:25])._fit, 5) is None


def test_weights_are_by_the_errors_at_each_step():
    # Of a map with one row before, and of autoregressions that find both.
    found = rivals_of(gg.GraphGrad(1, dynamics="map").fit(autoregression(120))._fit, 5)
    assert found is not None
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    by_name = dict(zip(found.names, found.weights[:, 1:].T, strict=True))
    assert found.weights[0, 0] < 0.05
    assert by_name["an autoregression"][0] > 0.5
    assert by_name["persistence"].max() < 0.05
    assert 1 < found.spreads[0, 0] < found.spreads[1, 0] < found.spreads[2, 0]
    assert "at step 1 " in found.sentence


@pytest.mark.slow
def test_medians_and_widths_are_averages():
    x = autoregression(120)
    x[60] = np.nan
    model = gg.GraphGrad(1, lags=1, dynamics="map").fit(x)
    pure = model.forecast(30, members=400, sources=EQUATIONS)
    both = model.forecast(30, members=400)
    assert pure.rivals is None
    rivals = both.rivals
    assert rivals is not None
    rows = np.minimum(np.arange(30), len(rivals.weights) - 1)
    weights = rivals.weights[rows]
    assert 0 < weights[:, 0].min() < 0.9
    theirs = [m.forecasts(x[80:], [40], 30)[0] for m in rivals.models]
    expected = weights[:, :1] * pure.observations.median
    expected += sum(
        w[:, None] * m for w, m in zip(weights[:, 1:].T, theirs, strict=True)
    )
    np.testing.assert_allclose(both.observations.median, expected)
    shift = both.observations.median - pure.observations.median
    np.testing.assert_allclose(both.states.median - pure.states.median, shift)
    # Members are moved and stretched, which keeps their order.
    one, other = pure.observations.members[:, 3, 0], both.observations.members[:, 3, 0]
    assert (np.argsort(one) == np.argsort(other)).all()
    width = [np.diff(f.observations.band(NORMAL_BAND))[:, 0, 0] for f in (pure, both)]
    last = len(rivals.weights) - 1
    np.testing.assert_allclose(
        (width[1] / width[0])[last:], (width[1] / width[0])[last]
    )
    np.testing.assert_allclose(model.predict(steps=30), expected, atol=0.5)


@pytest.mark.slow
def test_equations_that_diverge_leave_the_forecast_to_rivals():
    fit = gg.GraphGrad(dynamics="map").fit(logistic())._fit
    # A little more growth, and all runs leave the unit interval.
    more = eqx.tree_at(lambda s: s.coefficients, fit.solution, 1.2 * fit.coefficients)
    wrong = fit._replace(solution=more, doubts=(Doubt("divergence", 1.0, ""),))
    wrong = wrong._replace(
        model=wrong.model.with_coefficients(jnp.asarray(more.coefficients))
    )
    with jax.enable_x64(True):
        key = jax.random.key(0)
        ahead = forecast(key, wrong, 12, smoothing_key=key, members=100)
    assert ahead.rivals is not None
    assert ahead.rivals.weights[-1, 0] == 0
    last = ahead.observations.members[:, -1, 0]
    assert 0 < last.mean() < 1
    assert 0.03 < last.std() < 1
    assert ahead.message == ""
