"""The ensemble Kalman filter and smoother, for many states.

Members are propagated by the model's mean and corrected by a gain computed from their
covariance, each towards an observation with its own perturbation (Burgers, van Leeuwen
and Evensen, 1998). The backward pass uses the gain of Rauch, Tung and Striebel on the
correction of each member one step later (Raanes, 2016). No derivative of the mean and
no matrix of more than Nx columns is needed.

Sampling error comes from noise whose covariance among few members is inexact.
Therefore the gains use the known covariances, and if there are enough members the noise
is made to have exactly the right mean, covariance, and no correlation with the members
it is added to (second-order exact sampling; Pham, 2001). Filtered and smoothed means of
a linear model are then those of the Kalman smoother for any key.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..checks import check_at_least
from ..model import GaussianNoise, LinearGaussian, StateSpaceModel, checked_series
from .linalg import inverse_root
from .sweep import (
    AbstractEngine,
    FilteredDistributions,
    ObservedRow,
    Sweep,
    drawn_variances,
    needs_gaussian,
)


class EnsembleSmoother(AbstractEngine):
    """Ensemble Kalman smoother: Gaussian noise, no derivatives, many states.

    Use more than twice as many members as states; with fewer the sampling error is
    larger. If the members overflow, the log-likelihood is minus infinity and the
    members keep their previous values.

    Attributes:
        num_members: Number of members.

    Examples:
        >>> import graphgrad as gg, jax
        >>> model = gg.systems.lorenz96(dt=0.01, n_states=10).model()
        >>> _, ys, _ = gg.simulate(jax.random.key(0), model, steps=10)
        >>> sweep = EnsembleSmoother(30).sweep(jax.random.key(1), model, ys)
        >>> sweep.before.shape, sweep.means().shape
        ((10, 30, 10), (11, 10))
    """

    num_members: int = eqx.field(static=True)

    def __init__(self, num_members: int = 100):
        self.num_members = check_at_least(
            "num_members", num_members, 3, "Twice the number of states is good."
        )

    @property
    def stochastic(self) -> bool:
        return True

    def sweep(
        self,
        key: PRNGKeyArray,
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"] | None = None,  # noqa: ARG002
        unsure: Bool[Array, "T_plus_1"] | None = None,  # noqa: ARG002
    ) -> Sweep:
        run = self._forward(key, model, ys)
        T, P, Nx = run.forecasts.shape

        def smooth(later: Array, inputs: tuple[Array, Array, Array]):
            members, forecast, gain = inputs
            members = members + (later - forecast) @ gain.T
            return members, members

        _, smoothed = jax.lax.scan(
            smooth,
            run.members[-1],
            (run.members[:-1], run.forecasts, run.gains),
            reverse=True,
        )
        smoothed = jnp.concatenate([smoothed, run.members[-1:]])
        return Sweep(
            log_likelihood=jnp.sum(run.increments),
            filtered=jnp.mean(run.members[1:], axis=1),
            before=smoothed[:-1],
            after=smoothed[1:],
            weights=jnp.full((T, P), 1 / P, smoothed.dtype),
            spread=jnp.zeros((T, Nx, Nx), smoothed.dtype),
            variances=drawn_variances(model, smoothed[:-1], smoothed[1:]),
            path=smoothed[:, 0],
        )

    def filter(
        self, key: PRNGKeyArray, model: StateSpaceModel, ys: Float[Array, "T Ny"]
    ) -> FilteredDistributions:
        run = self._forward(key, model, ys)
        means = jnp.mean(run.members[1:], axis=1)
        away = run.members[1:] - means[:, None]
        covariances = jnp.einsum("tkn,tkm->tnm", away, away) / self.num_members
        return FilteredDistributions(means, covariances, run.increments)

    def _forward(self, key: PRNGKeyArray, model: StateSpaceModel, ys: Array) -> "_Run":
        needs_gaussian(model, "ensemble")
        initial = model.initial_noise
        assert isinstance(initial, GaussianNoise)
        ys = jnp.asarray(checked_series(ys, model))
        T, P = ys.shape[0], self.num_members
        start_key, loop_key = jax.random.split(key)
        origin = jnp.broadcast_to(model.initial_mean, (P, model.n_states))
        start = origin + _noise(start_key, initial, origin[:, :0])

        def step(members: Array, inputs: tuple[Array, Array, Any]):
            (state_key, observation_key), y, moment = inputs
            now = model.at(moment)
            transition, observation = now.transition, now.observation
            noise = transition.noise_at(jnp.mean(members, axis=0))
            assert isinstance(noise, GaussianNoise)
            assert isinstance(observation, LinearGaussian)
            observed, _ = ObservedRow.at(observation, y, members[0])
            H, R = observed.matrix, observed.covariance
            moved = transition.mean(members)
            predicted = jnp.mean(moved, axis=0)
            away = moved - predicted
            Pp = away.T @ away / P + noise.covariance
            whiten = inverse_root(H @ Pp @ H.T + R)
            gain = Pp @ H.T @ whiten.T @ whiten
            z = whiten @ (observed.y - H @ predicted)
            increment = observed.log_density(z, whiten)
            forecast = moved + _noise(state_key, noise, away)
            drawn = observed.y + _noise(
                observation_key, observation.noise, forecast - predicted
            )
            innovation = jnp.where(observed.kept, drawn - forecast @ H.T, 0)
            analysed = forecast + innovation @ gain.T
            cross = away.T @ (members - jnp.mean(members, axis=0)) / P
            # Depends on the other factor: two at the same time can deadlock.
            inner = inverse_root(Pp + 0 * whiten[0, 0])
            back = cross.T @ inner.T @ inner
            # After an overflow, skip the update of this step.
            results = (increment, forecast, analysed, back)
            sound = jnp.all(jnp.array([jnp.all(jnp.isfinite(r)) for r in results]))
            increment = jnp.where(sound, increment, -jnp.inf)
            forecast = jnp.where(sound, forecast, members)
            analysed = jnp.where(sound, analysed, members)
            back = jnp.where(sound, back, 0)
            return analysed, (analysed, forecast, back, increment)

        _, (analysed, forecasts, gains, increments) = jax.lax.scan(
            step, start, (jax.random.split(loop_key, (T, 2)), ys, model.schedule)
        )
        members = jnp.concatenate([start[None], analysed])
        return _Run(members, forecasts, gains, increments)


class _Run(NamedTuple):
    """Members at times 0..T, and forecasts and gains of times 1..T."""

    members: Float[Array, "T_plus_1 P Nx"]
    forecasts: Float[Array, "T P Nx"]
    gains: Float[Array, "T Nx Nx"]
    increments: Float[Array, "T"]


def _noise(
    key: PRNGKeyArray, noise: GaussianNoise, away: Float[Array, "P M"]
) -> Float[Array, "P N"]:
    """One draw per member: mean zero, and if possible exactly the right covariance.

    Args:
        key: Random key.
        noise: The distribution.
        away: Anomalies, of mean zero, that the draws must be uncorrelated with.
    """
    P, N = away.shape[0], noise.scale.shape[0]
    z = jax.random.normal(key, (P, N), away.dtype)
    if away.shape[1] + N < P:
        # Orthonormalise z against a constant and `away`.
        basis = jnp.concatenate([jnp.ones_like(z[:, :1]), away, z], axis=1)
        q, r = jnp.linalg.qr(basis)
        # These signs make it Gram-Schmidt, which prefers no direction.
        z = (q * jnp.sign(jnp.diag(r)))[:, -N:] * math.sqrt(P)
    else:
        z = (z - jnp.mean(z, axis=0)) * math.sqrt(P / (P - 1))
    return z * noise.scale if noise.diagonal else z @ noise.scale.T
