"""Rows after the end change nothing, and other lengths compile nothing."""

import jax
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.solvers.adaptive import padding
from helpers.compilations import compilations


@pytest.mark.slow
@pytest.mark.parametrize("dynamics", ["map", "flow"])
def test_padding_changes_nothing(monkeypatch, dynamics):
    system = gg.systems.lotka_volterra()
    draw = system.simulate(jax.random.key(2), steps=70, scheme="flow")
    ys, model = draw.observations, system.model(dynamics=dynamics)
    learn = ("state_noise", "observation_noise")

    def fit():
        return gg.adaptive(jax.random.key(1), ys, model, learn=learn)

    with jax.enable_x64(True):
        ys = np.asarray(ys, float)
        model = system.model(dynamics=dynamics)
        longer = fit()
        monkeypatch.setattr(padding, "rounded_length", lambda rows: rows)
        exact = fit()
    assert longer.outcome == exact.outcome
    assert longer.states.shape == exact.states.shape == (71, 2)
    assert longer.filtered.shape == (70, 2)
    for name in ("coefficients", "state_noise", "standard_errors", "states"):
        np.testing.assert_allclose(
            getattr(longer, name), getattr(exact, name), rtol=1e-4, atol=1e-6
        )


@pytest.mark.slow
def test_another_length_compiles_nothing():
    ys = gg.systems.lotka_volterra().simulate(jax.random.key(2), steps=60).observations
    ys = np.asarray(ys)
    gg.GraphGrad(degree=2, dynamics="map").fit(ys)
    found = compilations(lambda: gg.GraphGrad(degree=2, dynamics="map").fit(ys[:55]))
    assert found <= 5  # of single operations
