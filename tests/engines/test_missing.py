"""Entries that were not observed: masked by every engine, and not imputed."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.model import filled
from helpers.oracles import exact_smoother, linear_model

KEY = jax.random.key(0)
STEPS = 12


def gappy_case(kind):
    """A linear model, and a series with single gaps, a row and a beginning missing."""
    model = linear_model()
    options: Any = {}
    n = model.n_states
    if kind == "full noise":
        rng = np.random.default_rng(3)
        root = rng.normal(size=(n, n))
        options = {"observation_noise": root @ root.T + np.eye(n)}
    elif kind == "matrix":
        matrix = np.random.default_rng(4).normal(size=(3, n))
        options = {"observation_noise": [0.3, 0.5, 0.2], "observation": matrix}
    if options:
        model = gg.state_space_model(
            model.library,
            model.coefficients,
            state_noise=0.2,
            initial_mean=model.initial_mean,
            initial_noise=0.5,
            **options,
        )
    ys = np.array(gg.simulate(KEY, model, steps=STEPS).observations)
    rng = np.random.default_rng(5)
    ys[rng.uniform(size=ys.shape) < 0.3] = np.nan
    ys[0, 0] = ys[5] = ys[-1, -1] = np.nan
    return model, ys


@pytest.mark.parametrize("kind", ["diagonal", "full noise", "matrix"])
def test_the_gaussian_engine_conditions_on_what_is_there(kind, x64):
    model, ys = gappy_case(kind)
    value, means, *_ = exact_smoother(model, ys)
    sweep = jax.jit(gg.GaussianSmoother().sweep)(KEY, model, jnp.asarray(ys))
    np.testing.assert_allclose(sweep.log_likelihood, value, rtol=1e-9)
    np.testing.assert_allclose(sweep.means(), means, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["diagonal", "full noise", "matrix"])
def test_particles_and_members_agree_with_conditioning(kind, x64):
    """Held for the keys 0 to 9 at these tolerances."""
    model, ys = gappy_case(kind)
    value, means, *_ = exact_smoother(model, ys)
    for engine, near in (
        (gg.ParticleSmoother(4000, smoothing="backward", paths=400), 0.15),
        (gg.ParticleSmoother(4000, proposal="bootstrap"), 0.3),
        (gg.EnsembleSmoother(2000), 0.15),
    ):
        sweep = jax.jit(engine.sweep)(KEY, model, jnp.asarray(ys))
        np.testing.assert_allclose(sweep.log_likelihood, value, atol=2 * near)
        np.testing.assert_allclose(sweep.means(), means, atol=near)


@pytest.mark.slow
def test_equations_are_found_with_a_third_of_the_data_missing():
    """Lorenz 63, T = 200: entries at random, and a gap of 20 steps."""
    system = gg.systems.lorenz63(dt=0.02)
    path = system.simulate(jax.random.key(1), steps=200, scheme="euler")
    ys = np.array(path.observations)
    ys[np.random.default_rng(0).uniform(size=ys.shape) < 0.3] = np.nan
    ys[90:110] = np.nan
    found = gg.adaptive(KEY, ys, system.model(dynamics="map"))
    assert (found.support() == (system.coefficients(dynamics="map") != 0)).all()
    assert np.isfinite(np.asarray(found.states)).all()
    # The states in the gap are smoothed, and less certain.
    spread = np.sqrt(np.diagonal(np.asarray(found.state_covariances), 0, 1, 2))
    assert spread[95:106].mean() > spread.mean()
    miss = np.abs(np.asarray(found.states) - path.states)
    assert np.mean(miss[91:111] < 2 * spread[91:111]) > 0.8


def test_gaps_are_bridged_by_straight_lines():
    nan = np.nan
    ys = jnp.array([[nan, 1.0], [2.0, nan], [nan, nan], [nan, 7.0], [8.0, nan]])
    expected = [[2.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 7.0]]
    np.testing.assert_allclose(filled(ys), expected, rtol=1e-6)


def test_bad_series_are_named():
    model = linear_model()
    ys = np.zeros((8, model.n_states))
    ys[:, 1] = np.nan
    with pytest.raises(ValueError, match="an observation in every column, got none in"):
        gg.adaptive(KEY, ys, model)
    ys[:, 1] = np.inf
    with pytest.raises(ValueError, match=r"`ys` must be finite, got inf at index"):
        gg.adaptive(KEY, ys, model)
