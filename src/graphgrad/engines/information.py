"""Fisher information on the coefficients, by sensitivities of the innovations.

Linearised about a trajectory, the model is linear with Gaussian noise, and the
log-likelihood is a sum over the Kalman filter's innovations. Their derivatives with
respect to coefficients obey the filter's own recursion, so that, noise held fixed,
whitened innovations are a linear regression on whitened sensitivities Z: the
information is Z'Z (Gauss-Newton). That of the noise variances is
1/2 tr(S^-1 dS S^-1 dS) (Harvey, Forecasting, Structural Time Series Models and the
Kalman Filter, 1989, Sec. 3.4).

Unlike the E-step statistics of the completed data, it counts only what was observed,
and steps in its metric converge in few iterations where EM takes hundreds.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..model import GaussianNoise, StateSpaceModel
from ..model.transition import by_equation, squares
from .linalg import inverse_root
from .sweep import ObservedRow


class Information(NamedTuple):
    """Fisher information of the data on the parameters.

    Attributes:
        coefficients: Of the active coefficients, row by row.
        noise: Of the logarithms of the variances of process and then measurement
            noise, zeros for those not requested; None if none was.
    """

    coefficients: Float[Array, "n n"]
    noise: Float[Array, "m m"] | None


def information(
    model: StateSpaceModel,
    ys: Float[Array, "T Ny"],
    states: Float[Array, "T_plus_1 Nx"],
    active: Int[Array, "Nx A"],
    *,
    noise: tuple[str, ...] = (),
) -> Information:
    """Fisher information of the model linearised about a trajectory.

    Args:
        model: The model.
        ys: Observations.
        states: x_0..x_T to linearise about, the smoothed means of a sweep.
        active: For each equation, the columns of its active terms.
        noise: Also compute the information on variances of `"state_noise"` (process
            noise), `"observation_noise"` (measurement noise), or both.
    """
    dtype, (Nx, A) = states.dtype, active.shape
    Ny = ys.shape[1]
    eye = jnp.eye(Nx, dtype=dtype)
    initial = model.initial_noise
    assert isinstance(initial, GaussianNoise)
    # Variances: first those of the process noise.
    n_process = Nx if "state_noise" in noise else 0
    numbers = [*range(n_process)]
    numbers += range(Nx, Nx + Ny) if "observation_noise" in noise else ()

    def local(moment, before: Array, after: Array):
        """Expansion of the transition about a state, with the sources of noise."""
        transition = model.at(moment).transition
        found = transition.expand(before, active)
        scale = transition.noise
        if isinstance(scale, GaussianNoise) and not scale.diagonal:
            # By the variances alone, without the covariances.
            assert found.covariance is not None
            own = jax.vmap(jnp.diag)(eye * jnp.diag(found.covariance))
            found = found._replace(sources=own)
        if found.sources is None:
            noise = transition.noise_at(before).local(after, found.value)
            sources = squares(noise.factor)
            found = found._replace(sources=sources, covariance=noise.covariance)
        return found

    parts = jax.vmap(local)(model.schedule, states[:-1], states[1:])

    def step(carry, inputs):
        m, P, dm, dP = carry  # moments of x_{t-1} and their derivatives
        y, before, after, moment, part = inputs
        observed, _ = ObservedRow.at(model.at(moment).observation, y, after)
        H, F = observed.matrix, part.slope
        predicted = part.value + F @ (m - before)
        Pp = F @ P @ F.T + part.covariance
        # Each term enters its own equation, and in a flow through it the others.
        turned = by_equation(part.turning @ (m - before), active)
        dm_predicted = F @ dm + part.sensitivity + turned
        whiten = inverse_root(H @ Pp @ H.T + observed.covariance)
        gain = Pp @ H.T @ whiten.T @ whiten
        shrink = eye - gain @ H
        Z = whiten @ (H @ dm_predicted)
        W = None
        if numbers:  # with respect to the logarithms of the variances
            dPp = _between(F, dP)
            dPp = dPp.at[:n_process].add(part.sources[:n_process])
            W, dP = _between(whiten @ H, dPp), _between(shrink, dPp)
            if "observation_noise" in noise:
                dR = jnp.where(observed.kept, jnp.diag(observed.covariance), 0)
                W = W.at[n_process:].add(_squares(whiten, dR))
                dP = dP.at[n_process:].add(_squares(gain, dR))
        m = predicted + gain @ (observed.y - H @ predicted)
        P = shrink @ Pp @ shrink.T + gain @ observed.covariance @ gain.T
        return (m, P, shrink @ dm_predicted, dP), (Z, W)

    start = (
        model.initial_mean,
        initial.covariance,
        jnp.zeros((Nx, Nx * A), dtype),
        jnp.zeros((len(numbers), Nx, Nx), dtype) if numbers else None,
    )
    _, (Z, W) = jax.lax.scan(
        step, start, (ys, states[:-1], states[1:], model.schedule, parts)
    )
    Z = Z.reshape(-1, Nx * A)
    if W is None:
        return Information(Z.T @ Z, None)
    every = jnp.zeros((Nx + Ny, Nx + Ny), dtype)
    known = 0.5 * jnp.einsum("tiab,tjab->ij", W, W)
    return Information(Z.T @ Z, every.at[np.ix_(numbers, numbers)].set(known))


def _between(A: Float[Array, "a n"], X: Float[Array, "m n n"]) -> Array:
    """A X A' for many symmetric X, as two large products."""
    m, n, _ = X.shape
    once = (A @ X.transpose(1, 0, 2).reshape(n, m * n)).reshape(-1, m, n)
    twice = A @ once.transpose(2, 1, 0).reshape(n, -1)  # of the transposes
    return twice.reshape(-1, m, len(A)).transpose(1, 0, 2)


def _squares(A: Float[Array, "a n"], d: Float[Array, "n"]) -> Float[Array, "n a a"]:
    """Products d a a', one for each column a of A."""
    return jnp.einsum("ak,bk,k->kab", A, A, d)
