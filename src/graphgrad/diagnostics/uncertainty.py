"""Uncertainty of the coefficients, and of states given the coefficients."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..compiling import compiled
from ..engines import AbstractEngine, FilteredDistributions, information
from ..fits.record import Fit
from ..fits.rows import rounded_up
from ..model import Arranged, StateSpaceModel


def fit_covariance(fit: Fit, data: Arranged | None = None) -> Float[np.ndarray, "n n"]:
    """Covariance of the estimated coefficients, in row-major order.

    Args:
        fit: The fit.
        data: Its rows, if with a model of other noise.
    """
    return coefficient_covariance(
        fit.data if data is None else data,
        fit.inferred.means,
        fit.estimated,
        fit.task.linear_map,
    )


def coefficient_covariance(
    data: Arranged,
    means: Float[np.ndarray, "T_plus_1 Nx"],
    support: Bool[np.ndarray, "Nx M"],
    ties: Float[np.ndarray, "all P"] | None = None,
    *,
    width: int = 0,
) -> Float[np.ndarray, "n n"]:
    """Covariance of the coefficients on a support, in row-major order.

    It is the inverse of the information matrix, with the noise variances and the other
    coefficients fixed.

    Args:
        data: The fitted model and the rows.
        means: Smoothed means of x_0..x_T.
        support: Which coefficients were estimated.
        ties: Matrix from parameters to coefficients, under linear constraints.
        width: Terms of each equation of which information is taken, at least: one
            program for supports of several sizes.
    """
    if not support.any():
        return np.zeros((0, 0))
    if ties is not None:
        on = support.ravel()
        # Keep parameters that affect only these coefficients.
        kept = ~np.any((ties != 0) & ~on[:, None], axis=0)
        everything = np.broadcast_to(np.arange(support.shape[1]), support.shape)
        matrix = np.asarray(_information_at(data, means, everything, ties))
        ties = ties[:, kept][on]
        return ties @ _inverse(matrix[np.ix_(kept, kept)]) @ ties.T
    # Columns of the terms of each equation, padded with others.
    width = max(width, int(support.sum(axis=1).max()))
    active = np.argsort(~support, axis=1, kind="stable")[:, :width]
    used = np.take_along_axis(support, active, axis=1).ravel()
    # Terms of an equation are in the order of their columns.
    return _inverse(
        np.asarray(_information_at(data, means, active))[np.ix_(used, used)]
    )


def _information_at(
    data: Arranged,
    means: np.ndarray,
    active: np.ndarray,
    ties: np.ndarray | None = None,
) -> Array:
    model, ys = rounded_up(data)
    more = len(ys) + 1 - len(means)  # about which nothing is known there
    means = np.concatenate([means, np.repeat(means[:1], more, axis=0)])
    linear_map = None if ties is None else jnp.asarray(ties)
    return _information(model, ys, jnp.asarray(means), jnp.asarray(active), linear_map)


def _inverse(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """Pseudo-inverse of a matrix that may be singular, scaled to unit diagonal."""
    if not np.isfinite(matrix).all():
        raise ValueError(
            "`y` must have columns with noise of their own, got some after which the "
            "uncertainty of the coefficients is not finite. Leave out columns that are "
            "sums or differences of others, or give `observation_noise`."
        )
    unit = np.sqrt(np.where(np.diag(matrix) > 0, np.diag(matrix), 1))
    units = np.outer(unit, unit)
    return np.linalg.pinv(matrix / units, hermitian=True) / units


def normal_draws(
    key: PRNGKeyArray, members: int, covariance: Float[np.ndarray, "n n"]
) -> Float[np.ndarray, "members n"]:
    """Normal draws of mean zero, for a covariance that may be semidefinite.

    By the symmetric root of the correlations, so that draws in other units are the same
    draws.
    """
    sizes = np.sqrt(np.diag(covariance))
    unit = np.where(sizes > 0, sizes, 1)
    values, vectors = np.linalg.eigh(covariance / unit / unit[:, None])
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return np.asarray(jax.random.normal(key, (members, len(root)))) @ root * sizes


def state_slopes(
    key: PRNGKeyArray,
    engine: AbstractEngine,
    data: Arranged,
    support: Bool[np.ndarray, "Nx M"],
) -> Float[np.ndarray, "T Nx n"]:
    """Derivatives of the filtered means by the coefficients on a support.

    Zero for stochastic engines, which have no such derivative.
    """
    places = np.argwhere(support)
    slopes = np.zeros((len(data.ys), len(support), len(places)))
    if engine.stochastic:
        return slopes
    model, ys = rounded_up(data)
    coefficients = np.asarray(model.coefficients)
    eps = np.finfo(coefficients.dtype).eps ** (1 / 3)

    def means(row: int, column: int, change: float) -> np.ndarray:
        moved = coefficients.copy()
        moved[row, column] += change
        there = model.with_coefficients(jax.device_put(moved))
        return np.asarray(run_filter(key, engine, there, ys).means)[: len(slopes)]

    # Differences: the loop over a flow's steps has derivatives in reverse mode only.
    for number, (row, column) in enumerate(places.tolist()):
        size = eps * (abs(coefficients[row, column]) or 1.0)
        away = means(row, column, size) - means(row, column, -size)
        slopes[:, :, number] = away / (2 * size)
    return slopes


@compiled
def run_filter(
    key: PRNGKeyArray, engine: AbstractEngine, model: StateSpaceModel, ys: Array
) -> FilteredDistributions:
    """The filter of an engine, as one program for all that needs it."""
    return engine.filter(key, model, ys)


@compiled
def _information(
    model: StateSpaceModel,
    ys: Array,
    means: Array,
    active: Int[Array, "Nx A"],
    ties: Float[Array, "all P"] | None,
) -> Float[Array, "n n"]:
    return information(model, ys, means, active, linear_map=ties).coefficients
