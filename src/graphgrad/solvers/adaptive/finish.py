"""What the best start found: the solution."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ...compiling import compiled_once
from ...engines.gaussian import one_step_ahead
from ...engines.sweep import SweptStates
from ...library import AbstractLibrary
from ...solution import Solution
from ..criterion import observed_values, own_states
from ..persistence import persistence_ratio
from ..trees import all_finite, entry
from .candidate import Candidate, Exchange, begin_exchange
from .columns import gather, scatter
from .outcome import STANDS_OUT, TWO_TO_ONE, UNSURE, joint_relative_variance, judge
from .plan import Plan
from .proposal import Maximum, one_sign
from .rivals import MOST_RIVALS, Rival
from .runs import ascend_once, final_terms
from .subset import best_addition, best_subset, inverse_on, subset_path
from .substeps import substeps_of
from .unknowns import Unknowns
from .variances import noise_prior, restricted
from .windows import MANY_ROWS


def finish(
    key, starts, combined, plan, rivals, *, engine, learn, settings, reason, traced
) -> Solution:
    """The solution of the best start: regularisation path, standard errors, outcome."""
    winner, state = best_start(starts, combined, plan, learn)
    end_key = jax.random.fold_in(key, settings.anneal + settings.sweeps)
    # The program of the ascent, which is compiled already.
    most = np.int32(settings.climb)
    size = None if traced else final_terms(state, plan)
    asked = engine, learn, size, True, True, None  # in full: it is the same program
    _, at_end = ascend_once(end_key, state, plan, most, *asked)
    unknowns = state.at.unknowns
    rises = None if rivals is None else jax.device_put(padded_rises(rivals))
    found = solution_at(
        winner, unknowns, at_end, plan, rises, engine.stochastic, learn, reason
    )
    return found if rivals is None else with_alternatives(found, rivals, plan)


def padded_rises(rivals: list[Rival]) -> np.ndarray:
    """The rises of rivals, always as many: what is compiled depends on their number."""
    rises = np.full(MOST_RIVALS, np.inf)
    rises[: len(rivals)] = [rival.rise for rival in rivals]
    return rises


def with_alternatives(found: Solution, rivals: list[Rival], plan: Plan) -> Solution:
    """A solution with the rivals of its support."""
    departures = [rival.parameters for rival in rivals]
    if plan.linear_map is not None:
        departures = [np.asarray(plan.linear_map) @ each[0] for each in departures]
    base, dtype = np.asarray(plan.base), found.coefficients.dtype
    C = [base + each.reshape(base.shape) for each in departures]
    return eqx.tree_at(
        lambda solution: (
            solution.alternative_coefficients,
            solution.alternative_rises,
        ),
        found,
        jax.device_put(
            (
                np.array(C, dtype).reshape(-1, *found.coefficients.shape),
                np.array([rival.rise for rival in rivals], dtype),
            )
        ),
    )


class Winner(NamedTuple):
    """The best start, and what all of them found.

    Attributes:
        best: Its best candidate.
        done: Whether no change of the support pays.
        criteria: Of all starts.
        sweeps: Of all starts.
    """

    best: Candidate
    done: Bool[Array, ""]
    criteria: Float[Array, "starts"]
    sweeps: Int[Array, "starts"]


@compiled_once
def best_start(
    starts: Exchange, combined: Exchange, plan: Plan, learn: tuple[str, ...]
) -> tuple[Winner, Exchange]:
    """The best start, and where the last sweep is made: with the restricted noise."""
    starts = jax.tree.map(lambda *a: jnp.concatenate(a), starts, combined)
    number = jnp.argmin(starts.best.criterion)
    best, done = entry((starts.best, starts.done), number)
    unknowns = best.unknowns
    # The correction is a share of one over the rows, a standard error one over their
    # square root: not worth three sweeps of many rows.
    if "state_noise" in learn and len(plan.ys) <= MANY_ROWS:
        noise = restricted(unknowns, best.trajectory, plan, learn)
        # Without finite information, as with columns that are sums of others, there is
        # none.
        corrected = plan.free_noise & jnp.isfinite(noise)
        noise = jnp.where(corrected, noise, unknowns.state_noise)
        unknowns = unknowns._replace(state_noise=noise)
    state = begin_exchange(unknowns, best.trajectory)
    state = state._replace(at=state.at._replace(support=best.support))
    return Winner(best, done, starts.best.criterion, starts.sweeps), state


@compiled_once
def solution_at(
    winner: Winner,
    unknowns: Unknowns,
    at_end: Maximum,
    plan: Plan,
    rises: Float[Array, "rivals"] | None,
    stochastic: bool,
    learn: tuple[str, ...],
    reason: str,
) -> Solution:
    """What the quadratic model of the best start says."""
    best, model = winner.best, plan.build(unknowns, learn)
    matrix = at_end.metric
    active, K = at_end.active, plan.free.shape[1]
    here, low, high = (
        gather(each, active).ravel()
        for each in (unknowns.parameters, plan.low, plan.high)
    )
    quadratic = matrix, at_end.gradient + matrix @ here
    multiples = jnp.asarray(2.0 ** np.arange(6, -3.5, -0.5), matrix.dtype)
    penalty = gather(at_end.penalties, active).ravel()
    flat = plan.criterion.flat(observed_values(plan.ys), jnp.sum(plan.free))
    signs = one_sign(low, high)
    path = subset_path(
        *quadratic, multiples[:, None] * penalty, signs=signs
    ).coefficients
    path = jnp.clip(path, low, high).reshape(-1, *active.shape)
    path = plan.coefficients(scatter(path, active, K))
    support = gather(at_end.support, active).ravel()
    inverse = inverse_on(matrix, support)
    errors = jnp.sqrt(plan.coefficient_variances(inverse))
    if plan.linear_map is None:
        errors = scatter(errors.reshape(active.shape), active, K)
    stay = best_subset(
        *quadratic, support, inverse, penalty, max_changes=0, signs=signs
    )
    margin, unsure = stay.margin, UNSURE
    if rises is not None:
        margin, unsure = against_all(rises), TWO_TO_ONE
    if plan.model.dynamics == "flow":
        # A term that stands out this far beyond noise is not left out for sure,
        # whatever its penalty is.
        gain = best_addition(*quadratic, support, inverse, signs)
        margin = jnp.minimum(margin, STANDS_OUT + unsure - gain)
    # A model that loses the data in the last sweep, such as one that amplifies the
    # difference of two columns that are equal.
    lost = ~all_finite((errors, at_end.states))
    errors, states = without_nan(errors, at_end.states, plan.trajectory)
    ahead = one_step_ahead(model, states.filtered)
    # The likelihood is that of the data alone.
    prior = noise_prior(best.unknowns, learn, plan)
    value = best.log_likelihood - prior
    error = persistence_ratio(model.schedule, value, ahead, plan.ys)
    # Steps of a noisy engine never promise nothing.
    at_maximum = stochastic | (best.decrement < 0.1)
    return Solution(
        coefficients=plan.coefficients(unknowns.parameters),
        base=plan.zero,
        standard_errors=errors.reshape(plan.base.shape),
        state_noise=unknowns.state_noise,
        observation_noise=unknowns.observation_noise,
        initial_mean=unknowns.initial_mean,
        initial_noise=unknowns.initial_noise,
        log_likelihood=value,
        criterion=best.criterion + 2 * prior,
        margin=margin,
        states=states.means,
        state_covariances=states.covariances,
        filtered=states.filtered,
        predicted=ahead,
        prices=multiples * plan.multiplier * flat,
        path=path,
        start_criteria=winner.criteria + 2 * prior,
        sweeps=winner.sweeps,
        code=judge(
            jnp.where(lost, jnp.inf, best.criterion),
            winner.done & at_maximum,
            margin,
            error,
            joint_relative_variance(here, inverse),
            moves_states(
                plan.model.library,
                plan.coefficients(unknowns.parameters) - plan.zero,
                _stays(unknowns, errors, plan.multiplier * flat, plan),
            ),
            unsure,
        ),
        engine=reason,
        substeps=substeps_of(model),
        noise_free=~plan.free_noise & ("state_noise" in learn),
        term_prices=_coefficient_penalties(at_end.penalties, plan),
        penalty_multiplier=plan.multiplier,
        criterion_name=plan.criterion.name,
        alternative_coefficients=jnp.zeros((0, *plan.base.shape), matrix.dtype),
        alternative_rises=jnp.zeros(0, matrix.dtype),
        found_by=jnp.zeros(2, int),
        certified=jnp.zeros(len(plan.free), bool),
    )


def without_nan(
    errors: Float[Array, "..."], states: SweptStates, trajectory: Float[Array, "N Nx"]
) -> tuple[Array, SweptStates]:
    """Standard errors and states, where those that are lost say that they are.

    Standard errors are larger than any coefficient; states are the data, give or take
    their deviation, one in standard units.
    """
    largest = jnp.finfo(errors.dtype).max ** 0.25
    fine = jnp.all(jnp.isfinite(states.means), axis=1)
    fine &= jnp.all(jnp.isfinite(states.covariances), axis=(1, 2))
    filtered = jnp.all(jnp.isfinite(states.filtered), axis=1)
    unit = jnp.eye(trajectory.shape[1], dtype=trajectory.dtype)
    return jnp.where(jnp.isfinite(errors), errors, largest), states._replace(
        means=jnp.where(fine[:, None], states.means, trajectory),
        covariances=jnp.where(fine[:, None, None], states.covariances, unit),
        filtered=jnp.where(filtered[:, None], states.filtered, trajectory[1:]),
    )


def against_all(rises: Float[Array, "rivals"]) -> Float[Array, ""]:
    """Rise of the criterion of one rival that would weigh as much as all of them.

    Examples:
        >>> round(float(against_all(jnp.array([3.0, jnp.inf]))), 6)
        3.0
    """
    return -2 * jax.nn.logsumexp(-rises / 2)


def moves_states(
    library: AbstractLibrary,
    departures: Float[Array, "Nx M"],
    stays: Bool[Array, "Nx M"],
) -> Bool[Array, ""]:
    """Whether a term enters that is neither constant nor that of a random walk."""
    constant = ~np.any(library.incidence, axis=0)
    return jnp.any((departures != 0) & ~constant & ~stays)


def _stays(
    unknowns: Unknowns, errors: Array, penalty: Float[Array, ""], plan: Plan
) -> Bool[Array, "Nx M"]:
    """Coefficients of own states that the data do not tell from those of random walks.

    Those of which one that is given, and no parameter, would do as well at a penalty.
    """
    C, still = (
        plan.coefficients(each) for each in (unknowns.parameters, plan.identity)
    )
    near = (C - still) ** 2 < errors.reshape(C.shape) ** 2 * penalty
    return jnp.asarray(own_states(plan.model.library, len(C))) & near


def _coefficient_penalties(
    penalties: Float[Array, "R K"], plan: Plan
) -> Float[Array, "Nx M"]:
    """Penalty of each coefficient; the least of the parameters that move it."""
    if plan.linear_map is None:
        return penalties
    moving = jnp.where(plan.linear_map != 0, penalties[0], jnp.inf)
    least = jnp.min(moving, axis=1)
    return jnp.where(jnp.isfinite(least), least, 0).reshape(plan.base.shape)
