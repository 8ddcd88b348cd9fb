"""TrueMLE: maximum likelihood of Kuramoto's eta and K, the form being known."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.systems import EulerMean, KuramotoRate
from helpers.oracles import extended_kalman


def _problem(n_states, steps):
    system = gg.systems.kuramoto(jax.random.key(0), n_states=n_states)
    simulation = system.simulate(jax.random.key(1), steps=steps, scheme="euler")
    model = system.model(initial=simulation.states[0], dynamics="map")

    def build(rate):
        return model.with_mean(EulerMean(rate, system.dt))

    assert isinstance(system.rate, KuramotoRate)
    truth = KuramotoRate(jnp.asarray(system.rate.eta), jnp.asarray(0.8))
    return build, truth, simulation.observations


@pytest.mark.slow
def test_true_mle_recovers_eta_and_coupling_within_their_standard_errors(x64):
    """Errors in units of the standard errors; the oracle is extended Kalman."""
    build, truth, ys = _problem(n_states=8, steps=60)
    start = KuramotoRate(jnp.zeros(8), jnp.array(0.0))
    settings = gg.GradientSteps(
        400,
        learning_rate=5e-3,
        gradient="score",
        particle_filter=gg.ParticleFilter(
            50, proposal="locally optimal", resampling="systematic"
        ),
    )
    solution = gg.true_mle(
        jax.random.key(2),
        ys,
        build,
        start,
        settings=settings,
        batching=gg.FixedNumber(2),
    )
    flat_truth, unravel = jax.flatten_util.ravel_pytree(truth)
    estimate, _ = jax.flatten_util.ravel_pytree(solution.coefficients)

    def log_likelihood(flat):
        return extended_kalman(build(unravel(flat)), ys)[0]

    information = -jax.hessian(log_likelihood)(flat_truth)
    covariance = np.linalg.inv(np.asarray(information))
    errors = np.asarray(estimate - flat_truth)
    z = errors / np.sqrt(np.diag(covariance))
    assert solution.outcome is gg.Outcome.completed
    # The squared length of the error in the metric of the information is chi^2 with
    # 9 degrees of freedom; its 99.9 % quantile is 27.9.
    assert errors @ np.asarray(information) @ errors < 27.9
    assert np.abs(z).max() < 4
