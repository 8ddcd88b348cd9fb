"""A quadratic model of the log-likelihood in all active terms, from one sweep."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...engines.information import Information, information
from ...engines.linalg import inverse_root
from ...engines.sweep import AbstractEngine, Sweep
from ...model import AbstractScaleNoise, GaussianNoise, StateSpaceModel
from .columns import gather
from .design import design_rows
from .plan import Plan
from .screening import screen, stand_ins
from .statistics import CompletedSums, completed_sums
from .unknowns import model_unknowns, observation_squares
from .variances import noise_gradient

FEW_COEFFICIENTS = 200
"""Coefficients of which the whole information costs little."""


MOST_COEFFICIENTS = 640
"""Coefficients whose joint information is taken; of more, those that matter most."""


MOST_BY_ROWS = 1280
"""Coefficients whose information is taken equation by equation."""


def active_terms(n_states: int, n_terms: int, *, joint: bool = True) -> int:
    """Terms of an equation with which terms are exchanged."""
    if joint:
        return min(n_terms, max(16, MOST_COEFFICIENTS // n_states))
    return min(n_terms, max(32, MOST_BY_ROWS // n_states))


class QuadraticModel(NamedTuple):
    """Gradient and information at a point, over all active terms.

    Attributes:
        sweep: The sweep.
        data: Sums over its completed data.
        active: Columns of the active parameters.
        support: Which of these are in the model.
        gradient: Of the log-likelihood, in the active parameters.
        noise_gradient: The same for the logarithms of the variances.
        information: Of the data on active parameters and noises.
    """

    sweep: Sweep
    data: CompletedSums
    active: Int[Array, "R A"]
    support: Bool[Array, "n"]
    gradient: Float[Array, "n"]
    noise_gradient: Float[Array, "m"]
    information: Information


def quadratic_model(
    key: PRNGKeyArray,
    model: StateSpaceModel,
    support: Bool[Array, "R K"],
    start: Float[Array, "T_plus_1 Nx"],
    plan: Plan,
    engine: AbstractEngine,
    *,
    noise: tuple[str, ...] = (),
    size: int | None = None,
    joint: bool = True,
    others: bool = True,
) -> QuadraticModel:
    """Sweep from a trajectory; take gradient and information.

    Args:
        key: Random key.
        model: The model.
        support: Its terms.
        start: The trajectory.
        plan: What stays the same.
        engine: How the hidden trajectory is inferred.
        noise: Variances of which information is taken, too.
        size: Number of active terms of an equation, at least those of the model; None
            for as many as terms are exchanged with.
        joint: Whether to take the information on all equations together.
        others: Whether terms beside those of the model are wanted. If not, which ones
            fill the `size` does not matter.
    """
    score = slope = None
    if engine.differentiable:
        sweep, (score, slope) = _scored_sweep(key, model, start, plan, engine)
    else:
        sweep = engine.sweep(key, model, plan.ys, start)
    data = completed_sums(sweep, model, engine)
    Nx, M = plan.base.shape
    trajectory = sweep.means()
    if plan.linear_map is not None:
        active = jnp.broadcast_to(jnp.arange(M), (Nx, M))
        columns = plan.all_columns()
    elif others:
        size = active_terms(Nx, M) if size is None else size
        active = columns = _looked_at(model, trajectory, data, support, plan, size)
    else:
        assert size is not None
        active = columns = jax.lax.top_k(support.astype(jnp.int32), size)[1]
    tied = plan.linear_map if plan.many_tied else None
    known = information(
        model,
        plan.ys,
        trajectory,
        active,
        noise=noise,
        joint=joint,
        linear_map=tied,
    )
    matrix, sought = known.coefficients, gather(plan.free, columns)
    if joint:
        sought = sought.ravel()
        matrix = plan.parameter_information(matrix) if tied is None else matrix
    # Of what is not looked for, nothing is learnt.
    both = sought[..., :, None] & sought[..., None, :]
    known = known._replace(coefficients=jnp.where(both, matrix, 0))
    if score is None or slope is None:
        score = _gradient(data, model, known.coefficients)
        observed = observation_squares(sweep, model, plan.ys)
        slope = noise_gradient(data, model_unknowns(model), observed, plan)
    return QuadraticModel(
        sweep=sweep,
        data=data,
        active=columns,
        support=gather(support, columns).ravel(),
        gradient=jnp.where(
            sought.ravel(),
            gather(plan.parameter_gradient(score), columns).ravel(),
            0,
        ),
        noise_gradient=slope,
        information=known,
    )


def _looked_at(
    model: StateSpaceModel,
    trajectory: Float[Array, "T_plus_1 Nx"],
    data: CompletedSums,
    support: Bool[Array, "R K"],
    plan: Plan,
    size: int,
) -> Int[Array, "Nx A"]:
    """Columns of the terms of the model, and of those that do best beside them."""
    terms, rest = (part[:, 0] for part in design_rows(model, trajectory[:-1, None]))
    missed = trajectory[1:] - rest - terms @ model.coefficients.T
    if model.schedule is not None:
        missed = jnp.where(model.schedule.fresh[:, None], 0, missed)
    alike = stand_ins(terms, missed, model.coefficients - plan.base)
    return screen(data, support, plan.free, size, alike)


def _scored_sweep(
    key: PRNGKeyArray,
    model: StateSpaceModel,
    start: Float[Array, "T_plus_1 Nx"],
    plan: Plan,
    engine: AbstractEngine,
) -> tuple[Sweep, tuple[Float[Array, "Nx M"], Float[Array, "m"]]]:
    """A sweep, and the derivatives of the engine's own log-likelihood."""

    def build(values: tuple[Array, Array]) -> StateSpaceModel:
        C, logs = values
        moved = model.with_coefficients(C)
        factors = jnp.exp(logs / 2)
        assert isinstance(moved.transition.noise, AbstractScaleNoise)
        noise = moved.transition.noise.times(factors[: model.n_states])
        moved = eqx.tree_at(lambda m: m.transition.noise, moved, noise)
        if isinstance(moved.observation.noise, AbstractScaleNoise):
            noise = moved.observation.noise.times(factors[model.n_states :])
            moved = eqx.tree_at(lambda m: m.observation.noise, moved, noise)
        return moved

    n_seen = len(model_unknowns(model).observation_noise)
    logs = jnp.zeros(model.n_states + n_seen, start.dtype)
    return engine.scored_sweep(key, build, (model.coefficients, logs), plan.ys, start)


def _gradient(
    data: CompletedSums, model: StateSpaceModel, first: Float[Array, "*rows n n"]
) -> Float[Array, "Nx M"]:
    """Gradient of the log-likelihood in the coefficients: Fisher's identity.

    Args:
        data: Sums over the completed data.
        model: The model.
        first: What must be done before another matrix is factored.
    """
    noise, pull = model.transition.noise, data.pulls()
    assert isinstance(noise, AbstractScaleNoise)
    if not isinstance(noise, GaussianNoise) or noise.diagonal:
        return pull / noise.variances[:, None]
    whiten = inverse_root(noise.covariance + 0 * first.ravel()[0])
    return whiten.T @ (whiten @ pull)
