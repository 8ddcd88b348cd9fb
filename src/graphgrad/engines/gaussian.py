"""Extended and unscented Kalman filters and smoothers, iterated.

The filter and smoother are those of an affine model. The kinds differ in how the mean
is linearised about a mean and a covariance: by its derivative (extended) or by
regression over sigma points (unscented). Iterated, the linearisation is repeated about
the smoothed distribution, which for the extended kind is the Gauss-Newton method for
the most likely trajectory and makes the likelihood a Laplace approximation (Bell, 1994;
García-Fernández, Svensson and Särkkä, 2017). Noise and observations that are not
Gaussian are replaced, about the trajectory, by Gaussian ones with the same score
(Durbin and Koopman, Time Series Analysis by State Space Methods, 2012, chapter 10).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..checks import check_at_least, check_choice
from ..model import GaussianNoise, Schedule, StateSpaceModel, Transition
from .linalg import inverse_root, root, symmetric
from .sweep import AbstractEngine, FilteredDistributions, ObservedRow, Sweep


class Affine(NamedTuple):
    """f(x) = F (x - m) + f, with its approximation error and the process noise.

    Attributes:
        centre: m.
        value: f.
        slope: F.
        error: Covariance of the approximation error.
        noise: Covariance of the process noise; None if it is not Gaussian.
    """

    centre: Array
    value: Array
    slope: Array
    error: Array
    noise: Array | None


def extended(transition: Transition, m: Array, P: Array) -> Affine:
    """First-order Taylor expansion about the mean."""
    found = transition.expand(m)
    none = jnp.zeros_like(P)
    return Affine(m, found.value, found.slope, none, found.covariance)


def unscented(transition: Transition, m: Array, P: Array) -> Affine:
    """Linear regression over the cubature points of N(m, P)."""
    L = root(P)
    values = transition.mean(m + cubature(m) @ L.T)
    value = jnp.mean(values, axis=0)
    cross = cubature(m).T @ (values - value) / len(values)  # of L^-1 (x - m) and f
    away = values - value - cubature(m) @ cross
    slope = jax.scipy.linalg.solve_triangular(L, cross, lower=True, trans=1).T
    noise = transition.expand(m).covariance
    return Affine(m, value, slope, away.T @ away / len(values), noise)


LINEARISATIONS: dict[str, Callable[[Transition, Array, Array], Affine]] = {
    "extended": extended,
    "unscented": unscented,
}


def cubature(m: Float[Array, "Nx"]) -> Float[Array, "P Nx"]:
    """Points of equal weight with the moments of N(0, I) up to the third."""
    n = len(m)
    points = math.sqrt(n) * jnp.eye(n, dtype=m.dtype)
    return jnp.concatenate([points, -points])


class GaussianSmoother(AbstractEngine):
    """Extended or unscented Kalman smoother: deterministic, exact for linear models.

    Attributes:
        linearisation: `"extended"` or `"unscented"`.
        iterations: Smoother passes over the data; after the first, the model is
            linearised about the smoothed distribution of the previous pass. A sweep of
            the extended kind that is given a trajectory linearises about that.

    Examples:
        >>> import graphgrad as gg, jax
        >>> model = gg.systems.lorenz63(dt=0.02).model()
        >>> _, ys, _ = gg.simulate(jax.random.key(0), model, steps=50)
        >>> sweep = GaussianSmoother().sweep(jax.random.key(1), model, ys)
        >>> sweep.means().shape
        (51, 3)
    """

    linearisation: str = eqx.field(static=True)
    iterations: int = eqx.field(static=True)

    def __init__(self, linearisation: str = "extended", *, iterations: int = 1):
        self.linearisation = check_choice(
            "linearisation", linearisation, LINEARISATIONS
        )
        self.iterations = check_at_least(
            "iterations", iterations, 1, "1 does not iterate."
        )

    @property
    def stochastic(self) -> bool:
        return False

    @property
    def differentiable(self) -> bool:
        return True

    def sweep(
        self,
        key: PRNGKeyArray,  # noqa: ARG002
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"] | None = None,
        unsure: Bool[Array, "T_plus_1"] | None = None,
    ) -> Sweep:
        # Each sweep of a solver linearises about the trajectory of the previous one,
        # which amounts to iterating at no cost.
        filtered = self._filter(model, ys, self._about(previous), unsure)
        smoothed = _smooth(filtered)
        for _ in range(self.iterations - 1):
            about = smoothed.means, smoothed.covariances[:-1]
            filtered = self._filter(model, ys, about)
            smoothed = _smooth(filtered)
        before, after, spread = jax.vmap(_pair_points)(
            smoothed.means[:-1],
            smoothed.covariances[:-1],
            smoothed.means[1:],
            smoothed.covariances[1:],
            smoothed.gains,
        )
        return Sweep(
            log_likelihood=jnp.sum(filtered.increments),
            filtered=filtered.means[1:],
            before=before,
            after=after,
            weights=jnp.full(before.shape[:2], 1 / before.shape[1], before.dtype),
            spread=spread,
            variances=filtered.variances[:, None],
            path=smoothed.means,
        )

    def filter(
        self,
        key: PRNGKeyArray,  # noqa: ARG002
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
    ) -> FilteredDistributions:
        found = self._filter(model, ys, None)
        return FilteredDistributions(
            found.means[1:], found.covariances[1:], found.increments
        )

    def log_likelihood(
        self,
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"],
    ) -> Float[Array, ""]:
        return jnp.sum(self._filter(model, ys, self._about(previous)).increments)

    def _about(self, states: Array | None) -> tuple[Array, Array] | None:
        """Points of linearisation; a Taylor expansion needs no covariance."""
        if states is None or self.linearisation != "extended":
            return None
        return states, jnp.zeros((len(states) - 1, *2 * states.shape[1:]), states.dtype)

    def _filter(
        self,
        model: StateSpaceModel,
        ys: Array,
        about: tuple[Array, Array] | None,
        unsure: Array | None = None,
    ) -> "_Filtered":
        initial = model.initial_noise
        if not isinstance(initial, GaussianNoise):
            raise ValueError(
                "`initial_noise` must be Gaussian for the gaussian engine, got "
                f"{type(initial).__name__}. Use the particle engine."
            )
        linearise = LINEARISATIONS[self.linearisation]
        eye = jnp.eye(model.n_states, dtype=model.initial_mean.dtype)

        def approximate(moment: Schedule | None, m: Array, P: Array) -> Affine:
            return linearise(model.at(moment).transition, m, P)

        def step(carry: tuple[Array, Array], inputs):
            m, P = carry
            y, affine, x, relinearise, moment = inputs
            now = model.at(moment)
            if affine is None:
                affine = approximate(moment, m, P)
            elif relinearise is not None:
                affine = jax.lax.cond(
                    relinearise[0], approximate, lambda *_: affine, moment, m, P
                )
            F = affine.slope
            predicted = affine.value + F @ (m - affine.centre)
            # Where the distributions of this step are approximated by Gaussian ones.
            value = predicted if x is None else affine.value
            if x is None:
                x = predicted
            elif relinearise is not None:
                x = jnp.where(relinearise[1], predicted, x)
            observed, excess = ObservedRow.at(now.observation, y, x)
            Q = affine.noise
            if Q is None:
                noise = now.transition.noise_at(affine.centre)
                local = noise.local(x, value)
                excess += noise.log_prob(x, value) - local.log_prob(x, value)
                Q = local.covariance
            H, R = observed.matrix, observed.covariance
            Pp = symmetric(F @ P @ F.T + affine.error + Q)
            innovation = observed.y - H @ predicted
            whiten = inverse_root(H @ Pp @ H.T + R)
            gain = Pp @ H.T @ whiten.T @ whiten
            z = whiten @ innovation
            increment = observed.log_density(z, whiten)
            if about is not None:
                increment += excess
            m_next = predicted + gain @ innovation
            # Joseph's form: symmetric and positive definite under rounding.
            shrink = eye - gain @ H
            P_next = symmetric(shrink @ Pp @ shrink.T + gain @ R @ gain.T)
            kept = (m_next, P_next, predicted, Pp, F, jnp.diag(Q), increment)
            return (m_next, P_next), kept

        start = (model.initial_mean, initial.covariance)
        known = after = relinearise = None
        if about is not None:
            # About a given trajectory: all steps in parallel.
            states, spreads = about
            if unsure is not None:
                states = jnp.where(unsure[:, None], start[0], states)
                relinearise = jnp.stack([unsure[:-1], unsure[1:]], axis=1)
            known = jax.vmap(approximate)(model.schedule, states[:-1], spreads)
            after = states[1:]
        _, (means, covariances, *rest) = jax.lax.scan(
            step, start, (ys, known, after, relinearise, model.schedule)
        )
        return _Filtered(
            jnp.concatenate([start[0][None], means]),
            jnp.concatenate([start[1][None], covariances]),
            *rest,
        )


def along(model: StateSpaceModel, states: Float[Array, "T Nx"]) -> Float[Array, "T Nx"]:
    """One-step predictions of the next state, from each state."""
    if model.schedule is None:
        return model.transition.mean(states)
    return jax.vmap(lambda moment, x: model.at(moment).transition.mean(x))(
        model.schedule, states
    )


def one_step_ahead(
    model: StateSpaceModel, filtered: Float[Array, "T Nx"]
) -> Float[Array, "T Ny"]:
    """One-step predictions of each row, from the filtered state of the previous one."""
    before = jnp.concatenate([model.initial_mean[None], filtered[:-1]])
    return model.observation.mean(along(model, before))


class _Filtered(NamedTuple):
    """Filtered distributions of x_0..x_T, and predicted ones of x_1..x_T."""

    means: Array
    covariances: Array
    predicted: Array
    predicted_covariances: Array
    slopes: Array
    variances: Array
    increments: Array


class _Smoothed(NamedTuple):
    """Smoothed distributions of x_0..x_T, and the gains from x_t to x_{t-1}."""

    means: Array
    covariances: Array
    gains: Array


def _smooth(filtered: _Filtered) -> _Smoothed:
    """The Rauch-Tung-Striebel smoother."""

    def step(carry: tuple[Array, Array], inputs):
        m_next, P_next = carry
        m, P, predicted, Pp, F = inputs
        whiten = inverse_root(Pp)
        gain = P @ F.T @ whiten.T @ whiten
        m = m + gain @ (m_next - predicted)
        P = symmetric(P + gain @ (P_next - Pp) @ gain.T)
        return (m, P), (m, P, gain)

    last = filtered.means[-1], filtered.covariances[-1]
    _, (means, covariances, gains) = jax.lax.scan(
        step,
        last,
        (
            filtered.means[:-1],
            filtered.covariances[:-1],
            filtered.predicted,
            filtered.predicted_covariances,
            filtered.slopes,
        ),
        reverse=True,
    )
    return _Smoothed(
        jnp.concatenate([means, last[0][None]]),
        jnp.concatenate([covariances, last[1][None]]),
        gains,
    )


def _pair_points(
    m: Array, P: Array, m_next: Array, P_next: Array, gain: Array
) -> tuple[Array, Array, Array]:
    """Points of x_{t-1}, means of x_t given each, and the covariance about them."""
    L = root(P)
    cross = P_next @ gain.T  # of x_t and x_{t-1}
    follow = jax.scipy.linalg.solve_triangular(L, cross.T, lower=True).T
    points = cubature(m)
    spread = symmetric(P_next - follow @ follow.T)
    return m + points @ L.T, m_next + points @ follow.T, spread
