"""Kalman filter of an affine Gaussian model, and the adjoint of its log-likelihood.

The filter runs forwards. Backwards run the derivatives q of the log-likelihood of later
rows in a filtered mean, and M, where (q q' - M) / 2 is that in its covariance (de Jong,
The diffuse Kalman filter, Ann. Stat. 19, 1991). From these follow both the smoothed
distributions, without a factorisation, and the score: the derivative of the
log-likelihood in all quantities of the model (Koopman and Shephard, Exact score for
time series models in state space form, Biometrika 79, 1992).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .linalg import inverse_root, symmetric
from .sweep import ObservedRow


class AffineRow(NamedTuple):
    """x_t = value + slope (x_{t-1} - centre) + noise, and its observation.

    Attributes:
        centre: State about which the transition is expanded.
        value: Mean of the next state there.
        slope: Its derivative in the state.
        noise: Covariance about the mean.
        variances: Of the process noise, without approximation errors.
        y: The observation, zero where it is missing.
        matrix: Of the observation, zero in the rows of missing entries.
        covariance: Of the measurement noise; of missing entries one.
        excess: Log-density of what is not Gaussian, minus that of its approximation.
    """

    centre: Float[Array, "*T Nx"]
    value: Float[Array, "*T Nx"]
    slope: Float[Array, "*T Nx Nx"]
    noise: Float[Array, "*T Nx Nx"]
    variances: Float[Array, "*T Nx"]
    y: Float[Array, "*T Ny"]
    matrix: Float[Array, "*T Ny Nx"]
    covariance: Float[Array, "*T Ny Ny"]
    excess: Float[Array, "*T"]


class Filtered(NamedTuple):
    """What the filter keeps of each row.

    Attributes:
        mean: Of the state, given the rows so far.
        covariance: The same.
        predicted: Mean of the state, given the rows before.
        predicted_covariance: The same.
        shrink: Derivative of the filtered mean in the predicted one.
        whiten: Inverse root of the covariance of the innovation.
        innovation: The observation minus its prediction.
        increment: Log-density of the row, given those before.
        row: The row.
    """

    mean: Float[Array, "*T Nx"]
    covariance: Float[Array, "*T Nx Nx"]
    predicted: Float[Array, "*T Nx"]
    predicted_covariance: Float[Array, "*T Nx Nx"]
    shrink: Float[Array, "*T Nx Nx"]
    whiten: Float[Array, "*T Ny Ny"]
    innovation: Float[Array, "*T Ny"]
    increment: Float[Array, "*T"]
    row: AffineRow

    @property
    def precision(self) -> Float[Array, "*T Ny Ny"]:
        """Inverse covariance of the innovation."""
        return self.whiten.mT @ self.whiten

    @property
    def gain(self) -> Float[Array, "*T Nx Ny"]:
        """Derivative of the filtered mean in the observation."""
        return self.predicted_covariance @ self.row.matrix.mT @ self.precision


def filter_row(
    mean: Float[Array, "Nx"],
    covariance: Float[Array, "Nx Nx"],
    row: AffineRow,
    y: Float[Array, "Ny"],
) -> Filtered:
    """Predict and update, from the filtered state of the row before."""
    F, H, R = row.slope, row.matrix, row.covariance
    predicted = row.value + F @ (mean - row.centre)
    Pp = symmetric(F @ covariance @ F.T + row.noise)
    innovation = row.y - H @ predicted
    whiten = inverse_root(H @ Pp @ H.T + R)
    gain = Pp @ H.T @ whiten.T @ whiten
    observed = ObservedRow(row.y, H, R, ~jnp.isnan(y))
    # Joseph's form: symmetric and positive definite under rounding.
    shrink = jnp.eye(len(mean), dtype=mean.dtype) - gain @ H
    return Filtered(
        mean=predicted + gain @ innovation,
        covariance=symmetric(shrink @ Pp @ shrink.T + gain @ R @ gain.T),
        predicted=predicted,
        predicted_covariance=Pp,
        shrink=shrink,
        whiten=whiten,
        innovation=innovation,
        increment=observed.log_density(whiten @ innovation, whiten) + row.excess,
        row=row,
    )


def filter_rows(
    start: tuple[Float[Array, "Nx"], Float[Array, "Nx Nx"]],
    rows: AffineRow,
    ys: Float[Array, "T Ny"],
) -> Filtered:
    """The filter of a model whose rows are known."""

    def step(carry: tuple[Array, Array], inputs: tuple[AffineRow, Array]):
        found = filter_row(*carry, *inputs)
        return (found.mean, found.covariance), found

    return jax.lax.scan(step, start, (rows, ys))[1]


class Adjoint(NamedTuple):
    """Derivatives of the log-likelihood of later rows.

    In a mean they are `slope`; in its covariance, half of the outer product of `slope`
    with itself minus `curvature`.

    Attributes:
        slope: In the filtered state of each row, from x_0 on.
        curvature: The same.
        predicted_slope: In the predicted state of each row.
        predicted_curvature: The same.
    """

    slope: Float[Array, "T_plus_1 Nx"]
    curvature: Float[Array, "T_plus_1 Nx Nx"]
    predicted_slope: Float[Array, "T Nx"]
    predicted_curvature: Float[Array, "T Nx Nx"]


def adjoint(
    filtered: Filtered,
    later: tuple[Float[Array, "Nx"], Float[Array, "Nx Nx"]] | None = None,
) -> Adjoint:
    """Run backwards over the rows of the filter.

    Args:
        filtered: Of the filter.
        later: Slope and curvature in the last filtered state, from rows after it; None
            if there are none.
    """
    H, F, A = filtered.row.matrix, filtered.row.slope, filtered.shrink
    seen = filtered.whiten @ H
    z = jnp.einsum("tij,tj->ti", filtered.whiten, filtered.innovation)
    pull = jnp.einsum("tyi,ty->ti", seen, z)
    known = jnp.einsum("tyi,tyj->tij", seen, seen)
    # From one filtered state to the one before, in two products.
    back = A @ F
    pull_back = jnp.einsum("tij,ti->tj", F, pull)
    known_back = F.mT @ known @ F

    def step(later: tuple[Array, Array], inputs: tuple[Array, ...]):
        q, M = later
        back, pull, known = inputs
        return (pull + q @ back, known + back.T @ M @ back), (q, M)

    if later is None:
        later = jnp.zeros_like(pull[0]), jnp.zeros_like(known[0])
    first, (q, M) = jax.lax.scan(
        step, later, (back, pull_back, known_back), reverse=True
    )
    return Adjoint(
        slope=jnp.concatenate([first[0][None], q]),
        curvature=symmetric(jnp.concatenate([first[1][None], M])),
        predicted_slope=pull + jnp.einsum("tij,ti->tj", A, q),
        predicted_curvature=symmetric(known + A.mT @ M @ A),
    )


class Smoothed(NamedTuple):
    """Smoothed distributions of x_0..x_T.

    Attributes:
        means: Of each state.
        covariances: Of each state.
        cross: Covariances of x_t, rows, and x_{t-1}, columns.
    """

    means: Float[Array, "T_plus_1 Nx"]
    covariances: Float[Array, "T_plus_1 Nx Nx"]
    cross: Float[Array, "T Nx Nx"]


def smooth(
    start: tuple[Float[Array, "Nx"], Float[Array, "Nx Nx"]],
    filtered: Filtered,
    adjoint: Adjoint,
) -> Smoothed:
    """Smoothed distributions, from the filtered ones and the adjoint.

    Args:
        start: Mean and covariance of x_0.
        filtered: Of the filter.
        adjoint: Of its log-likelihood.
    """
    means = jnp.concatenate([start[0][None], filtered.mean])
    P = jnp.concatenate([start[1][None], filtered.covariance])
    Pp, N = filtered.predicted_covariance, adjoint.predicted_curvature
    eye = jnp.eye(P.shape[1], dtype=P.dtype)
    return Smoothed(
        means + jnp.einsum("tij,tj->ti", P, adjoint.slope),
        symmetric(P - P @ adjoint.curvature @ P),
        (eye - Pp @ N) @ filtered.row.slope @ P[:-1],
    )


def row_derivatives(
    start: tuple[Float[Array, "Nx"], Float[Array, "Nx Nx"]],
    filtered: Filtered,
    adjoint: Adjoint,
) -> AffineRow:
    """Derivatives of the log-likelihood in the rows of the model.

    Those in what is data, the centres and variances, are zero; that in an observation
    matrix is not computed, and zero as well.
    """
    row, precision, gain = filtered.row, filtered.precision, filtered.gain
    before = jnp.concatenate([start[0][None], filtered.mean[:-1]])
    P = jnp.concatenate([start[1][None], filtered.covariance[:-1]])
    r, N = adjoint.predicted_slope, adjoint.predicted_curvature
    outer = jnp.einsum("ti,tj->tij", r, r) - N
    q, M = adjoint.slope[1:], adjoint.curvature[1:]
    u = jnp.einsum("tij,tj->ti", precision, filtered.innovation)
    u -= jnp.einsum("tij,ti->tj", gain, q)
    D = precision + gain.mT @ M @ gain
    none = jax.tree.map(jnp.zeros_like, row)
    return none._replace(
        value=r,
        slope=jnp.einsum("ti,tj->tij", r, before - row.centre) + outer @ row.slope @ P,
        noise=outer / 2,
        y=-u,
        covariance=(jnp.einsum("ti,tj->tij", u, u) - D) / 2,
        excess=jnp.ones_like(row.excess),
    )
