"""The adjoint of the Kalman filter against automatic differentiation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.engines.gaussian import GaussianSmoother
from graphgrad.engines.information import information
from graphgrad.engines.sweep import AbstractEngine


def _case(dynamics: str):
    """A model of parameters, their values, gappy data and a trajectory."""
    system = gg.systems.lorenz63(dt=0.02)
    model = system.model(dynamics=dynamics)
    ys = np.array(system.simulate(jax.random.key(0), steps=40).observations)
    ys[5:9] = np.nan
    ys[20, 1] = np.nan
    start = np.asarray(model.initial_mean)[None]
    trajectory = np.concatenate([start, np.where(np.isnan(ys), 1.0, ys)])

    def build(values):
        C, logs = values
        moved = model.with_coefficients(C)
        factors = jnp.exp(logs / 2)
        noises = (
            moved.transition.noise.times(factors[:3]),  # pyright: ignore
            moved.observation.noise.times(factors[3:]),
        )
        return eqx.tree_at(
            lambda m: (m.transition.noise, m.observation.noise), moved, noises
        )

    values = model.coefficients, jnp.zeros(6, model.coefficients.dtype)
    return build, values, jnp.asarray(ys), jnp.asarray(trajectory)


@pytest.mark.slow
@pytest.mark.parametrize("dynamics", ["map", "difference", "flow"])
def test_score_is_the_derivative_of_the_log_likelihood(dynamics):
    with jax.enable_x64(True):
        build, values, ys, trajectory = _case(dynamics)
        engine, key = GaussianSmoother(), jax.random.key(1)

        @jax.jit
        def both(values):
            rest = key, build, values, ys, trajectory
            return engine.scored_sweep(*rest), AbstractEngine.scored_sweep(
                engine, *rest
            )

        (sweep, score), (expected, derivative) = both(values)
        np.testing.assert_allclose(
            sweep.log_likelihood, expected.log_likelihood, rtol=1e-12
        )
        for one, other in zip(score, derivative, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_information_on_variances_is_the_curvature_on_average():
    """Of data from the model: -d2 log L / d(log variance)2, over many series."""
    with jax.enable_x64(True):
        library = gg.Polynomial(n_states=1, degree=1)
        model = gg.state_space_model(
            library,
            coefficients=[[0.0, 0.9]],
            state_noise=0.3,
            observation_noise=0.5,
            dynamics="map",
        )
        engine = GaussianSmoother()

        def both(key):
            ys = gg.simulate(key, model, steps=200).observations
            trajectory = jnp.zeros((201, 1))

            def value(logs):
                factors = jnp.exp(logs / 2)
                moved = eqx.tree_at(
                    lambda m: (m.transition.noise, m.observation.noise),
                    model,
                    (
                        model.transition.noise.times(factors[:1]),  # pyright: ignore
                        model.observation.noise.times(factors[1:]),
                    ),
                )
                return engine.log_likelihood(moved, ys, trajectory)

            known = information(
                model,
                ys,
                trajectory,
                jnp.array([[1]]),
                noise=("state_noise", "observation_noise"),
            ).noise
            assert known is not None
            return known, -jax.hessian(value)(jnp.zeros(2))

        keys = jax.random.split(jax.random.key(3), 60)
        known, curvature = jax.jit(jax.vmap(both))(keys)
        ratio = np.diag(known.mean(0)) / np.diag(curvature.mean(0))
        np.testing.assert_allclose(ratio, 1, atol=0.12)
