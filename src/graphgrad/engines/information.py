"""How much the data say about each coefficient: sensitivities of the innovations.

About a path, the model is linear with Gaussian noise, or nearly, and the log-likelihood
of the data is a sum over the Kalman filter's innovations. Their derivatives with
respect to coefficients obey the filter's own recursion, so that, noise held fixed,
whitened innovations are a linear regression on whitened sensitivities Z: the
information is Z'Z (Gauss-Newton). That of the noise variances is
1/2 tr(S^-1 dS S^-1 dS) (Harvey, Forecasting, Structural Time Series Models and the
Kalman Filter, 1989, Sec. 3.4).

Unlike the statistics of the completed data, which are what an EM step uses, it counts
only what was observed, and a step in its metric takes few iterations where EM takes
hundreds.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..model import GaussianNoise, LibraryMean, StateSpaceModel
from .linalg import inverse_root
from .sweep import Seen


class Information(NamedTuple):
    """Information of the data on parameters.

    Attributes:
        coefficients: Of the active coefficients, row by row.
        noise: Of the logarithms of the state and then the observation noise variances;
            None unless asked for.
    """

    coefficients: Float[Array, "n n"]
    noise: Float[Array, "m m"] | None


def information(
    model: StateSpaceModel,
    ys: Float[Array, "T Ny"],
    path: Float[Array, "T_plus_1 Nx"],
    active: Int[Array, "Nx A"],
    *,
    noise: bool = False,
) -> Information:
    """Information about a path.

    Args:
        model: The model.
        ys: Observations.
        path: x_0..x_T to linearise about, the smoothed means of a sweep.
        active: For each equation, the columns of its active terms.
        noise: Also give the information on noise variances.
    """
    C, Nx, A = model.coefficients, *active.shape
    Ny = ys.shape[1]
    eye = jnp.eye(Nx, dtype=C.dtype)
    initial = model.initial_noise
    assert isinstance(initial, GaussianNoise)

    def local(moment, before: Array, after: Array):
        """Terms, their slopes, what is beside them, and the local state noise."""
        now = model.at(moment)
        mean = now.transition.mean
        assert isinstance(mean, LibraryMean)
        value, slope = mean.terms(before), jax.jacfwd(mean.terms)(before)
        rest, keep = mean.rest(before), jax.jacfwd(mean.rest)(before)
        noise = now.transition.noise.local(after, rest + C @ value)
        return value, slope, rest, keep, noise.covariance

    parts = jax.vmap(local)(model.schedule, path[:-1], path[1:])

    def step(carry, inputs):
        m, P, dm, dP = carry  # the law of x_{t-1} and its derivatives
        y, before, after, moment, (value, slope, rest, keep, Q) = inputs
        seen, _ = Seen.at(model.at(moment).observation, y, after)
        H = seen.matrix
        terms = value + slope @ (m - before)
        F = keep + C @ slope
        predicted = rest + keep @ (m - before) + C @ terms
        Pp = F @ P @ F.T + Q
        own = eye[:, :, None] * terms[active]  # each term acts on its own equation
        dm_predicted = F @ dm + own.reshape(Nx, Nx * A)
        whiten = inverse_root(H @ Pp @ H.T + seen.covariance)
        gain = Pp @ H.T @ whiten.T @ whiten
        shrink = eye - gain @ H
        Z = whiten @ (H @ dm_predicted)
        W = None
        if noise:
            # With respect to the logarithms of the variances, one after the other.
            dPp = _between(F, dP)
            dPp = dPp.at[:Nx].add(jax.vmap(jnp.diag)(eye * jnp.diag(Q)))
            dR = jnp.where(seen.kept, jnp.diag(seen.covariance), 0)
            W = _between(whiten @ H, dPp).at[Nx:].add(_squares(whiten, dR))
            dP = _between(shrink, dPp).at[Nx:].add(_squares(gain, dR))
        m = predicted + gain @ (seen.y - H @ predicted)
        P = shrink @ Pp @ shrink.T + gain @ seen.covariance @ gain.T
        return (m, P, shrink @ dm_predicted, dP), (Z, W)

    start = (
        model.initial_mean,
        initial.covariance,
        jnp.zeros((Nx, Nx * A), C.dtype),
        jnp.zeros((Nx + Ny, Nx, Nx), C.dtype) if noise else None,
    )
    _, (Z, W) = jax.lax.scan(
        step, start, (ys, path[:-1], path[1:], model.schedule, parts)
    )
    Z = Z.reshape(-1, Nx * A)
    return Information(
        Z.T @ Z, None if W is None else 0.5 * jnp.einsum("tiab,tjab->ij", W, W)
    )


def _between(A: Float[Array, "a n"], X: Float[Array, "m n n"]) -> Array:
    """A X A' for many symmetric X, as two large products."""
    m, n, _ = X.shape
    once = (A @ X.transpose(1, 0, 2).reshape(n, m * n)).reshape(-1, m, n)
    twice = A @ once.transpose(2, 1, 0).reshape(n, -1)  # of the transposes
    return twice.reshape(-1, m, len(A)).transpose(1, 0, 2)


def _squares(A: Float[Array, "a n"], d: Float[Array, "n"]) -> Float[Array, "n a a"]:
    """Products d a a', one for each column a of A."""
    return jnp.einsum("ak,bk,k->kab", A, A, d)
