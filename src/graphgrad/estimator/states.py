"""States inferred with a fitted model."""

from statistics import NormalDist
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..compiling import compiled
from ..engines import AbstractEngine, FilteredLaws, Sweep
from ..model import Arranged, GaussianNoise, LinearGaussian, StateSpaceModel

ITERATIONS = 5
"""Sweeps after the first, each about the path of the one before."""


class StateEstimate(NamedTuple):
    """States at the times of the observations, and how well they are known.

    Attributes:
        mean: One row a time, one column a state.
        covariance: One matrix a time.

    Examples:
        >>> import numpy as np
        >>> estimate = StateEstimate(np.zeros((1, 1)), np.ones((1, 1, 1)))
        >>> estimate.band(0.9).round(2).tolist()
        [[[-1.64, 1.64]]]
    """

    mean: Float[np.ndarray, "T Nx"]
    covariance: Float[np.ndarray, "T Nx Nx"]

    def band(self, level: float = 0.9) -> Float[np.ndarray, "T Nx 2"]:
        """Lower and upper ends between which each state is with this probability."""
        variances = np.einsum("tii->ti", self.covariance)
        return normal_band(self.mean, np.sqrt(np.maximum(variances, 0)), level)


def normal_band(
    mean: Float[np.ndarray, "*shape"], deviation: Float[np.ndarray, "*shape"], level
) -> Float[np.ndarray, "*shape 2"]:
    """Lower and upper ends of the central part of normal laws."""
    reach = NormalDist().inv_cdf(0.5 + check_level(level) / 2) * deviation
    return np.stack([mean - reach, mean + reach], axis=-1)


def check_level(level: float) -> float:
    """A probability strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(
            f"`level` must be between 0 and 1, got {level}. 0.9 means 90 %."
        )
    return float(level)


def smoothed_states(
    key: PRNGKeyArray, engine: AbstractEngine, data: Arranged
) -> list[StateEstimate]:
    """States given all of the data, series by series."""
    ys = jnp.asarray(data.ys, data.model.initial_mean.dtype)
    means, covariances, _ = _smooth(key, engine, data.model, ys)
    return at_rows(data, np.asarray(means)[1:], np.asarray(covariances)[1:])


def filtered_states(
    key: PRNGKeyArray, engine: AbstractEngine, data: Arranged
) -> tuple[list[StateEstimate], list[Float[np.ndarray, "length"]]]:
    """States given the data so far, and log-densities of each row given those before.

    Both series by series. Steps that no row belongs to observe nothing and have density
    one.
    """
    ys = jnp.asarray(data.ys, data.model.initial_mean.dtype)
    laws = _filter(key, engine, data.model, ys)
    increments = np.asarray(laws.increments)
    estimates = at_rows(data, np.asarray(laws.means), np.asarray(laws.covariances))
    return estimates, [increments[rows] for rows in data.rows]


def at_rows(
    data: Arranged,
    means: Float[np.ndarray, "steps Nx"],
    covariances: Float[np.ndarray, "steps Nx Nx"],
) -> list[StateEstimate]:
    """Estimates at the rows of each series."""
    return [StateEstimate(means[rows], covariances[rows]) for rows in data.rows]


def predictive_log_density(
    key: PRNGKeyArray, engine: AbstractEngine, data: Arranged, *, given_first: bool
) -> float:
    """Mean log-density of an observed entry given what came before it.

    Where laws are not Gaussian it is Laplace's approximation for all rows together.

    Args:
        key: Random key.
        engine: How states are inferred.
        data: The model and the rows.
        given_first: Leave out the first row of each series, where that told where the
            series begins.
    """
    model = data.model
    gaussian = isinstance(model.transition.noise, GaussianNoise) and isinstance(
        model.observation, LinearGaussian
    )
    entries = [np.sum(~np.isnan(data.ys[rows]), axis=1) for rows in data.rows]
    if not (gaussian or engine.stochastic):
        ys = jnp.asarray(data.ys, model.initial_mean.dtype)
        total = float(_smooth(key, engine, model, ys)[2])
        return total / max(1, int(sum(map(np.sum, entries))))
    first = 1 if given_first else 0
    _, increments = filtered_states(key, engine, data)
    total = sum(float(np.sum(part[first:])) for part in increments)
    return total / max(1, int(sum(np.sum(part[first:]) for part in entries)))


@compiled
def _smooth(
    key: PRNGKeyArray, engine: AbstractEngine, model: StateSpaceModel, ys: Array
) -> tuple[Array, Array, Array]:
    """Smoothed means and covariances, and the log-likelihood."""
    sweep = engine.sweep(key, model, ys)
    if engine.stochastic:
        return sweep.means(), sweep.covariances(), sweep.log_likelihood

    def again(_: Array, sweep: Sweep) -> Sweep:
        new = engine.sweep(key, model, ys, sweep.path)
        # A path that ran away is not followed.
        sound = jnp.isfinite(new.log_likelihood) & jnp.all(jnp.isfinite(new.path))
        return jax.tree.map(lambda a, b: jnp.where(sound, a, b), new, sweep)

    sweep = jax.lax.fori_loop(0, ITERATIONS, again, sweep)
    return sweep.means(), sweep.covariances(), sweep.log_likelihood


@compiled
def _filter(
    key: PRNGKeyArray, engine: AbstractEngine, model: StateSpaceModel, ys: Array
) -> FilteredLaws:
    return engine.filter(key, model, ys)
