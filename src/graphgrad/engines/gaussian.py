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

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..checks import check_at_least, check_choice
from ..model import GaussianNoise, Schedule, StateSpaceModel, Transition
from .affine import (
    AffineRow,
    Filtered,
    adjoint,
    filter_row,
    filter_rows,
    smooth,
)
from .affine_sweep import SweepRows, affine_log_likelihood, affine_sweep
from .chunks import Rows
from .linalg import cubature, root
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
        start, about = _start(model), previous
        if self.linearisation != "extended":
            about = None
        if about is not None and unsure is None and self.iterations == 1:
            rows = Rows.of(model, ys, about)
            return affine_sweep(start, self._rows, model, rows, scored=False)[0]
        filtered = self._filter(model, ys, about, unsure)
        smoothed = smooth(start, filtered, adjoint(filtered))
        for _ in range(self.iterations - 1):
            rows = Rows.of(model, ys, smoothed.means)
            again = self._rows(model, rows, smoothed.covariances[:-1])
            filtered = filter_rows(start, again, ys)
            smoothed = smooth(start, filtered, adjoint(filtered))
        return SweepRows.of(filtered, smoothed).sweep(smoothed.means[0])

    def scored_sweep(
        self,
        key: PRNGKeyArray,
        build: Callable[[Any], StateSpaceModel],
        values: Any,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"],
    ) -> tuple[Sweep, Any]:
        if self.linearisation != "extended" or self.iterations > 1:
            return super().scored_sweep(key, build, values, ys, previous)

        def expand(values: Any, rows: Rows) -> AffineRow:
            return self._rows(build(values), rows)

        start, pull_back = jax.vjp(lambda values: _start(build(values)), values)
        rows = Rows.of(build(values), ys, previous)
        sweep, (slopes, score) = affine_sweep(start, expand, values, rows, scored=True)
        (first,) = pull_back(slopes)
        return sweep, jax.tree.map(jnp.add, score, first)

    def filter(
        self,
        key: PRNGKeyArray,  # noqa: ARG002
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
    ) -> FilteredDistributions:
        found = self._filter(model, ys, None)
        return FilteredDistributions(found.mean, found.covariance, found.increment)

    def log_likelihood(
        self,
        model: StateSpaceModel,
        ys: Float[Array, "T Ny"],
        previous: Float[Array, "T_plus_1 Nx"],
    ) -> Float[Array, ""]:
        if self.linearisation != "extended":
            return jnp.sum(self._filter(model, ys, None).increment)
        rows = Rows.of(model, ys, previous)
        return affine_log_likelihood(_start(model), self._rows, model, rows)

    def _filter(
        self,
        model: StateSpaceModel,
        ys: Array,
        about: Array | None,
        unsure: Array | None = None,
    ) -> Filtered:
        start = _start(model)
        relinearise = rows = after = None
        if about is not None:
            if unsure is None:
                return filter_rows(
                    start, self._rows(model, Rows.of(model, ys, about)), ys
                )
            states = jnp.where(unsure[:, None], start[0], about)
            rows = self._rows(model, Rows.of(model, ys, states))
            relinearise = jnp.stack([unsure[:-1], unsure[1:]], axis=1)
            after = states[1:]

        def step(carry: tuple[Array, Array], inputs):
            m, P = carry
            y, row, after, relinearise, moment = inputs
            if row is None:
                row = self._row(model, moment, y, m, P, None)
            else:
                row = jax.lax.cond(
                    jnp.any(relinearise),
                    lambda: self._moved_row(
                        model, moment, y, (m, P), row, after, relinearise
                    ),
                    lambda: row,
                )
            found = filter_row(m, P, row, y)
            return (found.mean, found.covariance), found

        inputs = ys, rows, after, relinearise, model.schedule
        return jax.lax.scan(step, start, inputs)[1]

    def _rows(
        self,
        model: StateSpaceModel,
        rows: Rows,
        spreads: Float[Array, "T Nx Nx"] | None = None,
    ) -> AffineRow:
        """The model about a given trajectory: some rows in parallel.

        Args:
            model: The model.
            rows: The rows.
            spreads: Covariances of the states before; a Taylor expansion needs none.
        """
        if spreads is None:
            Nx = model.n_states
            spreads = jnp.zeros((len(rows.ys), Nx, Nx), rows.before.dtype)

        def one(moment, y: Array, m: Array, P: Array, x: Array) -> AffineRow:
            return self._row(model, moment, y, m, P, x)

        return jax.vmap(one)(rows.schedule, rows.ys, rows.before, spreads, rows.after)

    def _row(
        self,
        model: StateSpaceModel,
        moment: Schedule | None,
        y: Array,
        m: Array,
        P: Array,
        x: Array | None,
    ) -> AffineRow:
        """One row of the model, made affine about a state and the next one.

        Args:
            model: The model.
            moment: Its schedule at this row.
            y: The observation.
            m: The state before.
            P: Its covariance.
            x: Where what is not Gaussian is approximated; the predicted state if None,
                and then its density is not corrected.
        """
        now = model.at(moment)
        affine = LINEARISATIONS[self.linearisation](now.transition, m, P)
        return _affine_row(now, affine, y, x)

    def _moved_row(
        self,
        model: StateSpaceModel,
        moment: Schedule | None,
        y: Array,
        filtered: tuple[Array, Array],
        row: AffineRow,
        after: Array,
        relinearise: Bool[Array, "2"],
    ) -> AffineRow:
        """A row, expanded about the filtered state where the given one is unsure."""
        m, P = filtered
        now = model.at(moment)
        centre = jnp.where(relinearise[0], m, row.centre)
        affine = LINEARISATIONS[self.linearisation](now.transition, centre, P)
        predicted = affine.value + affine.slope @ (m - affine.centre)
        x = jnp.where(relinearise[1], predicted, after)
        return _affine_row(now, affine, y, x)


def _start(model: StateSpaceModel) -> tuple[Array, Array]:
    """Mean and covariance of the initial state."""
    initial = model.initial_noise
    if not isinstance(initial, GaussianNoise):
        raise ValueError(
            "`initial_noise` must be Gaussian for the gaussian engine, got "
            f"{type(initial).__name__}. Use the particle engine."
        )
    return model.initial_mean, initial.covariance


def _affine_row(
    now: StateSpaceModel, affine: Affine, y: Array, x: Array | None
) -> AffineRow:
    """A row from the expansion of its transition; `x` as for `_row`."""
    correct = x is not None
    x = affine.value if x is None else x
    observed, excess = ObservedRow.at(now.observation, y, x)
    Q = affine.noise
    if Q is None:
        noise = now.transition.noise_at(affine.centre)
        local = noise.local(x, affine.value)
        excess += noise.log_prob(x, affine.value) - local.log_prob(x, affine.value)
        Q = local.covariance
    return AffineRow(
        centre=affine.centre,
        value=affine.value,
        slope=affine.slope,
        noise=Q + affine.error,
        variances=jnp.diag(Q),
        y=observed.y,
        matrix=observed.matrix,
        covariance=observed.covariance,
        excess=excess if correct else jnp.zeros_like(excess),
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
