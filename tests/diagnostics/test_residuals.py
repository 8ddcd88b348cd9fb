"""Standardised residuals against a Kalman filter written out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.diagnostics.residuals import one_step_residuals

DRIFT, PROCESS, MEASURED = 1.3, 2.0, 0.3


@pytest.mark.parametrize("unit", [1.0, 1 / 86_400])
def test_residuals_of_a_flow_are_those_of_kalman(unit, x64):
    """Process noise of a flow is per unit of time, in any unit."""
    times = np.array([0.0, 0.1, 0.2, 0.35, 0.4, 0.5])
    ys = np.random.default_rng(0).normal(size=(6, 1))
    model = gg.state_space_model(
        gg.Polynomial(1, 1),
        dynamics="flow",
        dt=0.1 * unit,
        state_noise=PROCESS / unit,
        observation_noise=MEASURED,
        initial_mean=np.zeros(1),
        initial_noise=1.0,
    ).with_coefficients(jnp.array([[0.0, -DRIFT / unit]]))
    data = gg.arrange(model, ys, times=times * unit, dt=0.1 * unit)
    found = one_step_residuals(
        jax.random.key(0), gg.GaussianSmoother(), data, given_first=True
    )[0]
    mean, variance, expected = 0.0, 1.0, []
    # The first row is one usual interval after the initial state.
    for y, length in zip(ys[:, 0], np.diff(times, prepend=-0.1), strict=True):
        kept = np.exp(-DRIFT * length)
        mean, variance = kept * mean, kept**2 * variance
        variance += PROCESS * (1 - kept**2) / (2 * DRIFT)
        expected.append((y - mean) / np.sqrt(variance + MEASURED))
        gain = variance / (variance + MEASURED)
        mean, variance = mean + gain * (y - mean), (1 - gain) * variance
    np.testing.assert_allclose(found[1:, 0], expected[1:], rtol=1e-4)
