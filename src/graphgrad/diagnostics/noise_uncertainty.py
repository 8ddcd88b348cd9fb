"""Uncertainty of learnt noise variances, from the likelihood of the data."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..fits.record import Fit
from ..fits.rows import rounded_up
from ..model import Arranged, GaussianNoise, LinearGaussian, StateSpaceModel
from ..solvers.adaptive.unknowns import Unknowns, build
from .uncertainty import fit_covariance, run_filter

NOISES = ("state_noise", "observation_noise")

NEAR = 0.5
"""Change of a log-variance from which the curvature of the likelihood is computed.

Also the largest standard error of one whose distribution is normal.
"""

MOST_ROWS = 1000
"""Rows from which on the variances are taken as known: the likelihood takes long."""

GRID = np.arange(-10.0, 4.0)
"""Other log-variances are drawn on this grid about the first guess or the estimate."""


class NoiseDraws(NamedTuple):
    """Noise variances of each member.

    Attributes:
        state: Of the process noise.
        observed: Of the measurement noise.
        learnt: Of `NOISES`, those that were learnt; others stay as in the model.
    """

    state: Float[np.ndarray, "members Nx"]
    observed: Float[np.ndarray, "members Ny"]
    learnt: tuple[str, ...]

    def typical(self, data: Arranged) -> Arranged:
        """Data and the model, with the mean of the drawn variances."""
        if not self.learnt:
            return data
        parts = self.state.mean(axis=0), self.observed.mean(axis=0)
        state, observed = jax.device_put(parts)
        model = with_variances(data.model, state, observed, self.learnt)
        return data._replace(model=model)


def with_variances(
    model: StateSpaceModel,
    state: Float[jax.Array, "Nx"],
    observed: Float[jax.Array, "Ny"],
    learnt: tuple[str, ...],
) -> StateSpaceModel:
    """The model with other variances of the noises that were learnt."""
    start = model.initial_mean
    unknowns = Unknowns(model.coefficients, state, observed, start, start)
    return build(model, model.coefficients, unknowns, learnt)


def fixed_noise(fit: Fit, members: int) -> NoiseDraws:
    """The noise variances of the fit for each member."""
    state, observed = (np.tile(part, (members, 1)) for part in fit.variances)
    return NoiseDraws(state, observed, ())


def noise_draws(key: PRNGKeyArray, fit: Fit, members: int) -> NoiseDraws:
    """Draw learnt variances, each from its likelihood given the other variances.

    The prior is flat in the standard deviation. Where the criterion found no process
    noise necessary, it may still be there: the data bound it. Noises that are given,
    not Gaussian, inferred by a stochastic engine, or learnt from more than `MOST_ROWS`
    rows are those of the fit for every member.

    Args:
        key: Random key.
        fit: The fit.
        members: Number of draws.
    """
    kinds = fit.model.transition.noise, fit.model.observation.noise
    normal = all(isinstance(kind, GaussianNoise) for kind in kinds)
    linear = isinstance(fit.model.observation, LinearGaussian)
    learnt = tuple(name for name in NOISES if name in fit.task.prepared.learn)
    short = len(fit.data.ys) <= MOST_ROWS
    fixed = fixed_noise(fit, members)
    if not (learnt and normal and linear) or fit.engine.stochastic:
        return fixed
    if not short:
        return fixed if fit.noise_free else fixed._replace(learnt=learnt)
    estimates = np.log(np.concatenate([kind.variances for kind in kinds]))  # pyright: ignore
    n_states = fit.model.n_states
    places = np.arange(len(estimates))
    known = [name in learnt for name in NOISES]
    places = places[np.where(places < n_states, *known)]
    # Delayed states have no noise but what keeps the filter sound.
    places = places[~np.isin(places, fit.layout.copies[0])]
    height = _log_likelihood(fit, learnt)
    drawn = np.tile(estimates, (members, 1))
    first = fit.task.prepared.data.model.transition.noise
    for place, each in zip(
        places.tolist(), jax.random.split(key, len(places)), strict=True
    ):

        def at(value: float, place: int = place) -> float:
            return height(
                np.where(np.arange(len(estimates)) == place, value, estimates)
            )

        centre, spread = float(estimates[place]), np.inf
        if fit.noise_free and place < n_states:
            centre = float(np.log(first.variances[place]))  # pyright: ignore
        else:
            around = at(centre - NEAR) + at(centre + NEAR) - 2 * at(centre)
            spread = NEAR / np.sqrt(-around) if around < 0 else np.inf
        drawn[:, place] = _draw(each, members, at, centre, float(spread))
    state, observed = np.split(np.exp(drawn), [n_states], axis=1)
    return NoiseDraws(state, observed, learnt)


def _draw(
    key: PRNGKeyArray,
    members: int,
    at: Callable[[float], float],
    centre: float,
    spread: float,
) -> Float[np.ndarray, "members"]:
    """Draws of a log-variance: normal if the likelihood is, else from a grid."""
    if spread <= NEAR:
        return centre + spread * np.asarray(jax.random.normal(key, (members,)))
    grid = centre + GRID
    heights = np.array([at(value) for value in grid]) + grid / 2
    heights = np.where(np.isfinite(heights), heights, -np.inf)
    shares = np.exp(heights - heights.max())
    ends = np.concatenate([[0.0], np.cumsum(shares / shares.sum())])
    edges = np.concatenate([grid - 0.5, grid[-1:] + 0.5])
    return np.interp(np.asarray(jax.random.uniform(key, (members,))), ends, edges)


def _log_likelihood(fit: Fit, learnt: tuple[str, ...]) -> Callable[..., float]:
    """Log-likelihood of the variances, the coefficients integrated out.

    By Laplace: it is that at the estimates plus half the log-determinant of their
    covariance, which grows with the noise. Without it, equations that follow the noise
    of the data would rule the noise out.
    """
    model, ys = rounded_up(fit.data)
    first = int(fit.begins_anywhere)
    rows = np.concatenate([part[first:] for part in fit.data.rows])
    units = np.sqrt(np.diag(fit_covariance(fit)))

    def height(logarithms: np.ndarray) -> float:
        parts = np.split(np.exp(logarithms), [model.n_states])
        state, observed = jax.device_put(parts)
        there = with_variances(model, state, observed, learnt)
        found = run_filter(jax.random.key(0), fit.engine, there, ys)
        data = fit.data._replace(model=there.with_schedule(fit.data.model.schedule))
        covariance = fit_covariance(fit, data) / np.outer(units, units)
        sizes = np.linalg.eigvalsh(covariance)
        sizes = sizes[sizes > 1e-10 * sizes.max(initial=0)]  # some may be tied
        return float(np.asarray(found.increments)[rows].sum() + np.log(sizes).sum() / 2)

    return height
