"""Fisher information on the coefficients, by sensitivities of the innovations.

Linearised about a trajectory, the model is linear with Gaussian noise, and the
log-likelihood is a sum over the Kalman filter's innovations. Their derivatives with
respect to coefficients obey the filter's own recursion, so that, noise held fixed,
whitened innovations are a linear regression on whitened sensitivities Z: the
information is Z'Z (Gauss-Newton). That of the noise variances is
1/2 tr(S^-1 dS S^-1 dS), and z'z for the innovations that the change of the gains moves
(Harvey, Forecasting, Structural Time Series Models and the Kalman Filter, 1989,
Sec. 3.4).

Unlike the E-step statistics of the completed data, it counts only what was observed,
and steps in its metric converge in few iterations where EM takes hundreds.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..model import GaussianNoise, StateSpaceModel
from ..model.mean import Expansion, by_equation, squares
from .affine import AffineRow, Filtered, filter_rows
from .chunks import Rows, scan_chunks
from .sweep import ObservedRow

MOST_VARIANCES = 16
"""Variances whose joint information is taken; of more, state by state."""

MOST_STATES = 60
"""States whose coefficients are followed into all states; of more, into their own."""

MOST_DERIVATIVES = 1 << 25
"""Derivatives of means that are kept at once; of more, rows are taken in chunks."""

OWN_ROWS = 64
"""Rows of a chunk where only own states are followed: covariances are large."""


class Information(NamedTuple):
    """Fisher information of the data on the parameters.

    Attributes:
        coefficients: Of the active coefficients, equation by equation; or a matrix for
            each equation.
        noise: Of the logarithms of the variances of process and then measurement
            noise, zeros for those not requested; None if none was.
    """

    coefficients: Float[Array, "*Nx n n"]
    noise: Float[Array, "m m"] | None


def information(
    model: StateSpaceModel,
    ys: Float[Array, "T Ny"],
    states: Float[Array, "T_plus_1 Nx"],
    active: Int[Array, "Nx A"],
    *,
    noise: tuple[str, ...] = (),
    joint: bool = True,
    linear_map: Float[Array, "n P"] | None = None,
) -> Information:
    """Fisher information of the model linearised about a trajectory.

    Args:
        model: The model.
        ys: Observations.
        states: x_0..x_T to linearise about, the smoothed means of a sweep.
        active: For each equation, the columns of its active terms.
        noise: Also compute the information on variances of `"state_noise"` (process
            noise), `"observation_noise"` (measurement noise), or both.
        joint: Whether to compute it for all equations together; if not, for each of
            them, the others held fixed. With more than `MOST_STATES`, what a
            coefficient changes in states other than its own is left out then.
        linear_map: From parameters to the active coefficients, if the information is to
            be that on these parameters; for all equations together.
    """
    dtype, (Nx, A) = states.dtype, active.shape
    Ny = ys.shape[1]
    eye = jnp.eye(Nx, dtype=dtype)
    # Variances: first those of the process noise.
    n_process = Nx if "state_noise" in noise else 0
    numbers = [*range(n_process)]
    numbers += range(Nx, Nx + Ny) if "observation_noise" in noise else ()
    pooled = len(numbers) > MOST_VARIANCES and model.sees_all_states
    # Columns: one for each variance, or for each kind of noise.
    kinds = ("state_noise" in noise) + ("observation_noise" in noise)
    m = kinds if pooled else len(numbers)
    own = not joint and Nx > MOST_STATES
    n = Nx * A if linear_map is None else linear_map.shape[1]

    def local(moment, before: Array, after: Array):
        """Expansion of the transition about a state, with the sources of noise."""
        transition = model.at(moment).transition
        found = transition.expand(before, active)
        scale = transition.noise
        if isinstance(scale, GaussianNoise) and not scale.diagonal:
            # By the variances alone, without the covariances.
            assert found.covariance is not None
            each = jax.vmap(jnp.diag)(eye * jnp.diag(found.covariance))
            found = found._replace(sources=each)
        if found.sources is None:
            noise = transition.noise_at(before).local(after, found.value)
            sources = squares(noise.factor)
            found = found._replace(sources=sources, covariance=noise.covariance)
        if pooled:  # the sum of all sources
            assert found.covariance is not None
            every = eye * jnp.diag(found.covariance)
            if not isinstance(scale, GaussianNoise) or scale.diagonal:
                every = found.covariance
            if moment is not None:
                every = jnp.where(moment.fresh, 0, every)
            found = found._replace(sources=every[None])
        if own:
            assert found.sensitivity is not None
            blocks = found.sensitivity.reshape(Nx, Nx, A)
            found = found._replace(sensitivity=jnp.einsum("nna->na", blocks))
        return found

    def chunk(carry: _Carry, rows: Rows) -> tuple[_Carry, None]:
        """Add the information of some rows."""
        parts = jax.vmap(local)(rows.schedule, rows.before, rows.after)
        filtered, kept = _filter(model, carry.state, rows, parts)
        before = jnp.concatenate([carry.state[0][None], filtered.mean[:-1]])
        assert parts.sensitivity is not None
        assert parts.sources is not None
        # Each term enters its own equation, and in a flow through it the others.
        turned = jax.vmap(lambda moment, *rest: model.at(moment).mean.turned(*rest))(
            rows.schedule, rows.before, before - rows.before, parts
        )
        if own:
            mine = parts.sensitivity + turned[:, active]
            entering = jnp.zeros((len(kept), Nx, 0), dtype)
        else:
            mine = None
            each = jax.vmap(by_equation, (0, None))(turned, active)
            entering = parts.sensitivity + each
            if linear_map is not None:
                entering = entering @ linear_map
        # With respect to the logarithms of the variances, too.
        measured = jnp.zeros((len(kept), 0, Ny, Ny), dtype)
        if "observation_noise" in noise:
            diagonal = jnp.diagonal(filtered.row.covariance, axis1=1, axis2=2)
            seen = jnp.where(kept, diagonal, 0)
            each = jnp.ones((1, Ny)) if pooled else jnp.eye(Ny)
            measured = jax.vmap(jnp.diag)(each.astype(dtype)) * seen[:, None, None]
        covariances, moved = carry.covariances, None
        gains = jnp.zeros((len(kept), Nx, 0), dtype)
        if numbers:
            process = parts.sources[:, :n_process]
            covariances, moved = _covariance_derivatives(
                covariances, filtered, process, measured, diagonal=pooled
            )
            gains = moved.gains
        alone, products = carry.alone, None
        if mine is not None:
            alone, products = _own_products(alone, filtered, mine)
        means, predicted = _mean_derivatives(carry.means, filtered, entering, gains)
        each = filtered.whiten @ filtered.row.matrix @ predicted
        Z, z = jnp.split(each, [entering.shape[2]], axis=2)
        if products is None:
            products = _products(Z, Nx, joint)
        known = carry.noise
        if moved is not None and pooled:
            # As if the noises of a state moved its own innovation only.
            W = moved.innovations
            blocks = 0.5 * jnp.einsum("tin,tjn->ijn", W, W)
            blocks += jnp.einsum("tni,tnj->ijn", z, z)
            known += jnp.einsum("ijn,nk->injk", blocks, eye).reshape(known.shape)
        elif moved is not None:
            W, z = moved.innovations, z.reshape(-1, z.shape[2])
            known += 0.5 * jnp.einsum("tiab,tjab->ij", W, W) + z.T @ z
        return _Carry(
            state=(filtered.mean[-1], filtered.covariance[-1]),
            means=means,
            alone=alone,
            covariances=covariances,
            coefficients=carry.coefficients + products,
            noise=known,
        ), None

    initial = model.initial_noise
    assert isinstance(initial, GaussianNoise)
    start = _Carry(
        state=(model.initial_mean, initial.covariance),
        means=jnp.zeros((Nx, m if own else n + m), dtype),
        alone=jnp.zeros((Nx, A if own else 0), dtype),
        covariances=jnp.zeros((m, Nx, Nx), dtype),
        coefficients=jnp.zeros((n, n) if joint else (Nx, A, A), dtype),
        noise=jnp.zeros((len(numbers), len(numbers)), dtype),
    )
    most = OWN_ROWS if own else max(1, MOST_DERIVATIVES // (Nx * (Nx * A + m)))
    end, _ = scan_chunks(chunk, start, Rows.of(model, ys, states), most=most)
    if not numbers:
        return Information(end.coefficients, None)
    every = jnp.zeros((Nx + Ny, Nx + Ny), dtype)
    every = every.at[np.ix_(numbers, numbers)].set(end.noise)
    return Information(end.coefficients, every)


def _products(
    Z: Float[Array, "T Ny n"], equations: int, joint: bool
) -> Float[Array, "*Nx k k"]:
    """Z'Z, or the blocks of the equations on its diagonal."""
    if joint:
        Z = Z.reshape(-1, Z.shape[2])
        return Z.T @ Z
    Z = Z.reshape(*Z.shape[:2], equations, -1)
    return jnp.einsum("tyna,tynb->nab", Z, Z)


def _own_products(
    start: Float[Array, "Nx A"], filtered: Filtered, entering: Float[Array, "T Nx A"]
) -> tuple[Float[Array, "Nx A"], Float[Array, "Nx A A"]]:
    """The same blocks, as if a coefficient moved the state of its equation only.

    Args:
        start: Derivatives of the filtered mean before the first row.
        filtered: Of the filter.
        entering: By how much each step moves the predicted mean.

    Returns:
        Derivatives of the last filtered mean, and the blocks.
    """
    F, shrink = filtered.row.slope, filtered.shrink
    diagonals = (
        jnp.einsum("tii->ti", F),
        jnp.einsum("tij,tji->ti", shrink, F),
        jnp.einsum("tii->ti", shrink),
    )

    def step(dm: Array, inputs: tuple[Array, ...]) -> tuple[Array, Array]:
        slope, back, shrink, entering = inputs
        predicted = slope[:, None] * dm + entering
        return back[:, None] * dm + shrink[:, None] * entering, predicted

    end, predicted = jax.lax.scan(step, start, (*diagonals, entering))
    seen = jnp.sum((filtered.whiten @ filtered.row.matrix) ** 2, axis=1)
    z = jnp.sqrt(seen)[:, :, None] * predicted
    return end, jnp.einsum("tna,tnb->nab", z, z)


class _Carry(NamedTuple):
    """What the rows so far leave to the next ones.

    Attributes:
        state: Filtered mean and covariance.
        means: Derivatives of the mean.
        alone: Derivatives of each state's mean in the coefficients of its equation, if
            only these are followed.
        covariances: Derivatives of the covariance in logarithms of variances.
        coefficients: Information on the coefficients.
        noise: That on the logarithms of the variances.
    """

    state: tuple[Float[Array, "Nx"], Float[Array, "Nx Nx"]]
    means: Float[Array, "Nx k"]
    alone: Float[Array, "Nx A"]
    covariances: Float[Array, "m Nx Nx"]
    coefficients: Float[Array, "*Nx n n"]
    noise: Float[Array, "m m"]


def _mean_derivatives(
    start: Float[Array, "Nx k"],
    filtered: Filtered,
    entering: Float[Array, "T Nx n"],
    gains: Float[Array, "T Nx m"],
) -> tuple[Float[Array, "Nx k"], Float[Array, "T Nx k"]]:
    """Derivatives of the means: in coefficients, then in variances.

    Args:
        start: Of the filtered mean before the first row.
        filtered: Of the filter.
        entering: By how much each step moves the predicted mean.
        gains: By how much the change of the gain moves the filtered mean.

    Returns:
        Those of the last filtered mean, and those of the predicted means.
    """
    T, Nx, n = entering.shape
    entering = jnp.concatenate([entering, jnp.zeros_like(gains)], axis=2)
    after = jnp.concatenate([jnp.zeros((T, Nx, n), gains.dtype), gains], axis=2)

    def step(dm: Array, inputs: tuple[Array, ...]) -> tuple[Array, Array]:
        F, shrink, entering, after = inputs
        predicted = F @ dm + entering
        return shrink @ predicted + after, predicted

    inputs = filtered.row.slope, filtered.shrink, entering, after
    return jax.lax.scan(step, start, inputs)


class _CovarianceDerivatives(NamedTuple):
    """Derivatives in the logarithms of variances.

    Attributes:
        innovations: Of the covariances of the innovations, whitened, or diagonals only.
        gains: Of the gains, times the innovations.
    """

    innovations: Float[Array, "T m Ny *Ny"]
    gains: Float[Array, "T Nx m"]


def _covariance_derivatives(
    start: Float[Array, "m Nx Nx"],
    filtered: Filtered,
    process: Float[Array, "T p Nx Nx"],
    measured: Float[Array, "T q Ny Ny"],
    *,
    diagonal: bool = False,
) -> tuple[Float[Array, "m Nx Nx"], _CovarianceDerivatives]:
    """What variances of process noise, then of measurement noise, change.

    Args:
        start: Derivatives of the filtered covariance before the first row.
        filtered: Of the filter.
        process: Covariance that each source of process noise adds.
        measured: The same of the measurement noise; zero where nothing is observed.
        diagonal: Whether diagonals of the derivatives of innovations are enough.

    Returns:
        Derivatives of the last filtered covariance, and those of all rows.
    """
    F, H, whiten = filtered.row.slope, filtered.row.matrix, filtered.whiten
    shrink, p, q = filtered.shrink, process.shape[1], measured.shape[1]
    precision, gain = filtered.precision, filtered.gain
    each = jax.vmap(_between)
    entered = each(shrink, process)
    if q:
        entered = jnp.concatenate([entered, each(gain, measured)], axis=1)

    def step(dP: Array, inputs: tuple[Array, Array]) -> tuple[Array, Array]:
        move, entered = inputs
        return _between(move, dP) + entered, dP

    end, before = jax.lax.scan(step, start, (shrink @ F, entered))
    predicted = each(F, before).at[:, :p].add(process)
    whitened = jax.vmap(_diagonals_between) if diagonal else each
    innovations = whitened(whiten @ H, predicted)
    w = jnp.einsum("tij,tj->ti", precision, filtered.innovation)
    pulled = jnp.einsum("tyi,ty->ti", H, w)
    gains = shrink @ jnp.einsum("tmij,tj->tim", predicted, pulled)
    if q:
        innovations = innovations.at[:, p:].add(whitened(whiten, measured))
        gains = gains.at[:, :, p:].add(-gain @ jnp.einsum("tqij,tj->tiq", measured, w))
    return end, _CovarianceDerivatives(innovations, gains)


def _filter(
    model: StateSpaceModel,
    start: tuple[Float[Array, "Nx"], Float[Array, "Nx Nx"]],
    at: Rows,
    parts: Expansion,
) -> tuple[Filtered, Bool[Array, "T Ny"]]:
    """The filter of the model linearised about a trajectory; what is observed."""

    def observe(moment, y: Array, x: Array) -> ObservedRow:
        return ObservedRow.at(model.at(moment).observation, y, x)[0]

    seen = jax.vmap(observe)(at.schedule, at.ys, at.after)
    assert parts.covariance is not None
    rows = AffineRow(
        centre=at.before,
        value=parts.value,
        slope=parts.slope,
        noise=parts.covariance,
        variances=jnp.diagonal(parts.covariance, axis1=1, axis2=2),
        y=seen.y,
        matrix=seen.matrix,
        covariance=seen.covariance,
        excess=jnp.zeros(len(at.ys), at.before.dtype),
    )
    return filter_rows(start, rows, at.ys), seen.kept


def _between(A: Float[Array, "a n"], X: Float[Array, "m n n"]) -> Array:
    """A X A' for many symmetric X, as two large products."""
    (m, n, _), a = X.shape, len(A)
    once = (A @ X.transpose(1, 0, 2).reshape(n, m * n)).reshape(a, m, n)
    twice = A @ once.transpose(2, 1, 0).reshape(n, m * a)  # of the transposes
    return twice.reshape(a, m, a).transpose(1, 0, 2)


def _diagonals_between(
    A: Float[Array, "a n"], X: Float[Array, "m n n"]
) -> Float[Array, "m a"]:
    """The diagonals of A X A' for many X."""
    return jnp.sum(jnp.einsum("ai,mij->maj", A, X) * A, axis=2)
