"""Uncertainty of the coefficients, and of states given the coefficients."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..compiling import compiled
from ..engines import AbstractEngine, information
from ..fits.record import Fit
from ..model import Arranged, StateSpaceModel


def fit_covariance(fit: Fit) -> Float[np.ndarray, "n n"]:
    """Covariance of the estimated coefficients, in row-major order."""
    return coefficient_covariance(
        fit.data, fit.inferred.means, fit.estimated, fit.task.linear_map
    )


def coefficient_covariance(
    data: Arranged,
    means: Float[np.ndarray, "T_plus_1 Nx"],
    support: Bool[np.ndarray, "Nx M"],
    ties: Float[np.ndarray, "all P"] | None = None,
) -> Float[np.ndarray, "n n"]:
    """Covariance of the coefficients on a support, in row-major order.

    It is the inverse of the information matrix, with the noise variances and the other
    coefficients fixed.

    Args:
        data: The fitted model and the rows.
        means: Smoothed means of x_0..x_T.
        support: Which coefficients were estimated.
        ties: Matrix from parameters to coefficients, under linear constraints.
    """
    if not support.any():
        return np.zeros((0, 0))
    if ties is not None:
        on = support.ravel()
        # Keep parameters that affect only these coefficients.
        ties = ties[:, ~np.any((ties != 0) & ~on[:, None], axis=0)]
        everything = np.broadcast_to(np.arange(support.shape[1]), support.shape)
        matrix = np.asarray(_information_at(data, means, everything))
        return ties[on] @ _inverse(ties.T @ matrix @ ties) @ ties[on].T
    # Columns of the terms of each equation, padded with others.
    width = support.sum(axis=1).max()
    active = np.argsort(~support, axis=1, kind="stable")[:, :width]
    used = np.take_along_axis(support, active, axis=1).ravel()
    # Terms of an equation are in the order of their columns.
    return _inverse(
        np.asarray(_information_at(data, means, active))[np.ix_(used, used)]
    )


def _information_at(data: Arranged, means: np.ndarray, active: np.ndarray) -> Array:
    arrays = (jnp.asarray(part) for part in (data.ys, means, active))
    return _information(data.model, *arrays)


def _inverse(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """Pseudo-inverse of a matrix that may be singular, scaled to unit diagonal."""
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
    rows, columns = np.nonzero(support)
    ys = jnp.asarray(data.ys, data.model.initial_mean.dtype)
    if engine.stochastic or not len(rows):
        return np.zeros((len(ys), len(support), len(rows)))
    places = jnp.asarray(rows), jnp.asarray(columns)
    return np.asarray(_slopes(key, engine, data.model, ys, *places))


@compiled
def _slopes(
    key: PRNGKeyArray,
    engine: AbstractEngine,
    model: StateSpaceModel,
    ys: Array,
    rows: Int[Array, "n"],
    columns: Int[Array, "n"],
) -> Float[Array, "T Nx n"]:
    def means(change: Array) -> Array:
        moved = model.coefficients.at[rows, columns].add(change)
        return engine.filter(key, model.with_coefficients(moved), ys).means

    # Differences: the loop over a flow's steps has derivatives in reverse mode only.
    here = model.coefficients[rows, columns]
    sizes = jnp.finfo(ys.dtype).eps ** (1 / 3) * jnp.abs(here)
    sizes = jnp.where(sizes > 0, sizes, jnp.finfo(ys.dtype).eps ** (1 / 3))

    def slope(number: Array) -> Array:
        change = sizes * (jnp.arange(len(sizes)) == number)
        return (means(change) - means(-change)) / (2 * sizes[number])

    return jnp.moveaxis(jax.lax.map(slope, jnp.arange(len(sizes))), 0, 2)


@compiled
def _information(
    model: StateSpaceModel, ys: Array, means: Array, active: Int[Array, "Nx A"]
) -> Float[Array, "n n"]:
    return information(model, ys, means, active).coefficients
