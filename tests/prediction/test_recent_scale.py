"""Bands follow noise that changes in time."""

import numpy as np
import pytest

import graphgrad as gg
from graphgrad.estimator import fitting
from graphgrad.prediction import forecast
from graphgrad.prediction.recent_scale import ROWS, running_scales
from helpers.stubs import least_squares


def test_running_scales_forget():
    calm = running_scales(np.full((10 * ROWS, 1), 0.5))
    np.testing.assert_allclose(calm[-1], 0.25, rtol=1e-3)
    # After as many rows as it is worth, seven eighths of a change have arrived.
    assert 0.8 < (1 - calm[ROWS, 0]) / 0.75 < 0.9
    # Its variance over chance is that of a mean of as many squares: 2 / ROWS.
    rows = np.random.default_rng(0).normal(size=(600, 2000))
    assert running_scales(rows)[-1].var() == pytest.approx(2 / ROWS, rel=0.15)


@pytest.mark.slow
def test_bands_after_restless_rows_are_wider(monkeypatch):
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    # Without the average with other methods, which have scales of their own.
    monkeypatch.setattr(forecast, "rivals_of", lambda *_: None)
    rng, x = np.random.default_rng(0), np.zeros((180, 1))
    for t in range(1, 180):
        x[t] = 0.8 * x[t - 1] + rng.normal() * (4 if 120 <= t < 150 else 1)
    model = gg.GraphGrad(1, dynamics="map").fit(x[:120])
    found = model.evaluate(x, horizon=1, origins=[120, 150], members=2000)
    calm, restless = np.diff(found.bands, axis=-1).ravel()
    assert 2 < restless / calm < 4
    # Noise that is given stays.
    given = {"state_noise": 1.0, "observation_noise": 1e-4}
    model = gg.GraphGrad(1, dynamics="map", **given).fit(x[:120])
    found = model.evaluate(x, horizon=1, origins=[120, 150], members=2000)
    calm, restless = np.diff(found.bands, axis=-1).ravel()
    assert restless == pytest.approx(calm, rel=0.1)
