"""Exact answers to test against."""

import jax
import jax.numpy as jnp
import numpy as np

import graphgrad as gg
from graphgrad.model import AbstractNoise


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
        observation=observe,
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


def exact_smoother(model, ys):
    """Log-likelihood, means, covariance blocks and sum of E[x_t x_{t-1}'].

    From the joint density of all states and observations as one quadratic form, so
    that no recursion is shared with the engines. NaN says not observed.
    """
    ys, T, n = np.asarray(ys), len(ys), model.n_states
    C = np.asarray(model.coefficients)
    constant, F = C[:, 0], C[:, 1:]
    H = np.eye(n) if model.observation.matrix is None else model.observation.matrix
    H = np.asarray(H)
    P0, Q, R = (
        np.asarray(part.covariance)
        for part in (
            model.initial_noise,
            model.transition.noise,
            model.observation.noise,
        )
    )
    # Every residual is normal: A x - b of covariance V, for x all states in a row.
    rows, targets, blocks = [], [], []

    def add(pairs, target, covariance):
        row = np.zeros((len(target), (T + 1) * n))
        for t, matrix in pairs:
            row[:, t * n : (t + 1) * n] = matrix
        rows.append(row)
        targets.append(target)
        blocks.append(covariance)

    add([(0, np.eye(n))], np.asarray(model.initial_mean), P0)
    for t in range(1, T + 1):
        add([(t, np.eye(n)), (t - 1, -F)], constant, Q)
        seen = ~np.isnan(ys[t - 1])
        add([(t, H[seen])], ys[t - 1][seen], R[np.ix_(seen, seen)])
    A, b = np.concatenate(rows), np.concatenate(targets)
    weigh = np.zeros((len(b), len(b)))
    start, log_normaliser = 0, 0.0
    for V in blocks:
        stop = start + len(V)
        weigh[start:stop, start:stop] = np.linalg.inv(V)
        log_normaliser -= 0.5 * np.linalg.slogdet(2 * np.pi * V)[1]
        start = stop
    covariance = np.linalg.inv(A.T @ weigh @ A)
    mean = covariance @ A.T @ weigh @ b
    residual = A @ mean - b
    # p(y) = p(x, y) / p(x | y) at any x, so at the mean.
    log_likelihood = (
        log_normaliser
        - 0.5 * residual @ weigh @ residual
        + 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    )
    means = mean.reshape(T + 1, n)
    joint = covariance.reshape(T + 1, n, T + 1, n)
    covariances = np.stack([joint[t, :, t] for t in range(T + 1)])
    lagged = sum(
        joint[t, :, t - 1] + np.outer(means[t], means[t - 1]) for t in range(1, T + 1)
    )
    return log_likelihood, means, covariances, lagged


class Laplace(AbstractNoise):
    """A noise that is not Gaussian."""

    scale: jax.Array

    def sample(self, key, mean):
        return mean + self.scale * jax.random.laplace(key, mean.shape, mean.dtype)

    def log_prob(self, x, mean):
        size = jnp.abs(x - mean) / self.scale + jnp.log(2 * self.scale)
        return -jnp.sum(size, axis=-1)
