"""Exact answers to test against."""

import jax
import jax.numpy as jnp
import numpy as np

import graphgrad as gg


def kalman_log_likelihood(transition, q, r, mean, cov, ys, observe=None):
    """Log p(y_1:T) of x_t = F x_{t-1} + v, y_t = H x_t + r, in covariance form."""
    H = jnp.eye(len(mean)) if observe is None else observe

    def step(carry, y):
        m, P = carry
        m, P = transition @ m, transition @ P @ transition.T + q
        S = H @ P @ H.T + r
        gain = jnp.linalg.solve(S, H @ P).T
        surprise = y - H @ m
        value = -0.5 * (
            surprise @ jnp.linalg.solve(S, surprise)
            + jnp.linalg.slogdet(S)[1]
            + len(y) * jnp.log(2 * jnp.pi)
        )
        return (m + gain @ surprise, P - gain @ S @ gain.T), value

    return jnp.sum(jax.lax.scan(step, (mean, cov), ys)[1])


def extended_kalman(model, ys, observe=None):
    """Log-likelihood and filtered means of the extended Kalman filter."""
    mean_map = model.transition.mean
    q, r = model.transition.noise.covariance, model.observation.noise.covariance
    H = jnp.eye(model.n_states) if observe is None else observe

    def step(carry, y):
        m, P = carry
        F = jax.jacfwd(mean_map)(m)
        m, P = mean_map(m), F @ P @ F.T + q
        S = H @ P @ H.T + r
        gain = jnp.linalg.solve(S, H @ P).T
        surprise = y - H @ m
        value = -0.5 * (
            surprise @ jnp.linalg.solve(S, surprise)
            + jnp.linalg.slogdet(S)[1]
            + len(y) * jnp.log(2 * jnp.pi)
        )
        m, P = m + gain @ surprise, P - gain @ S @ gain.T
        return (m, P), (value, m)

    start = (model.initial_mean, model.initial_noise.covariance)
    _, (values, means) = jax.lax.scan(step, start, ys)
    return jnp.sum(values), means


def linear_model(*, full=False, observe=None):
    """A stable linear model of two states with everything else general."""
    library = gg.Polynomial(2, 1)
    coefficients = np.array([[0.1, 0.8, 0.3], [0.0, -0.2, 0.7]])
    q = np.array([[0.3, 0.1], [0.1, 0.2]]) if full else np.array([0.3, 0.2])
    n_seen = 2 if observe is None else len(observe)
    return gg.state_space_model(
        library,
        coefficients,
        state_noise=q,
        observation_noise=np.full(n_seen, 0.4),
        initial_mean=[1.0, -1.0],
        initial_noise=0.5,
        observation_matrix=observe,
    )


def linear_log_likelihood(model, coefficients, ys):
    """Exact log-likelihood of `linear_model` with other coefficients."""
    # The constant term as a third state that never moves.
    augmented = jnp.zeros((3, 3)).at[0, 0].set(1).at[1:].set(coefficients)

    def pad(cov):
        return jnp.zeros((3, 3)).at[1:, 1:].set(cov)

    H = model.observation.matrix
    H = jnp.eye(2) if H is None else H
    return kalman_log_likelihood(
        augmented,
        pad(model.transition.noise.covariance),
        model.observation.noise.covariance,
        jnp.concatenate([jnp.ones(1), model.initial_mean]),
        pad(model.initial_noise.covariance),
        ys,
        jnp.concatenate([jnp.zeros((H.shape[0], 1)), H], axis=1),
    )
