"""What the best start found: the solution."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...compiling import compiled
from ...engines.gaussian import one_step_ahead
from ...solution import Outcome, Solution
from ..criterion import observed_values
from ..persistence import against_persistence
from .columns import gather, scatter
from .plan import Plan
from .proposal import one_sign
from .quadratic_model import quadratic_model
from .subset import best_addition, best_subset, inverse_on, subset_path
from .substeps import substeps_of
from .variances import restricted

UNSURE = 2.0
"""Margin below which another choice of terms is nearly as good."""

STANDS_OUT = 9.0
"""Gain in twice the log-likelihood, three standard errors, that chance seldom gives."""

MOST_LOOSE = 0.25
"""Largest variance of a joint relative change of coefficients that are determined."""


@compiled
def finish(key, starts, crossing, plan, *, engine, learn, settings, reason) -> Solution:
    """A last look at the best start: path of prices, standard errors, outcome."""
    starts = jax.tree.map(lambda *a: jnp.concatenate(a), starts, crossing)
    winner = jnp.argmin(starts.best.criterion)
    best, done = jax.tree.map(lambda leaf: leaf[winner], (starts.best, starts.done))
    price, unknowns = plan.term_penalties, best.unknowns
    if "state_noise" in learn:
        noise = restricted(unknowns, best.trajectory, plan, learn)
        noise = jnp.where(plan.free, noise, unknowns.state_noise)
        unknowns = unknowns._replace(state_noise=noise)
    model = plan.build(unknowns, learn)
    end_key = jax.random.fold_in(key, settings.anneal + settings.sweeps)
    outlook = quadratic_model(
        end_key, model, best.support, best.trajectory, plan, engine
    )
    matrix = outlook.information.coefficients
    active, K = outlook.active, plan.open.shape[1]
    here, low, high = (
        gather(each, active).ravel()
        for each in (unknowns.parameters, plan.low, plan.high)
    )
    quadratic = matrix, outlook.gradient + matrix @ here
    multiples = jnp.asarray(2.0 ** np.arange(6, -3.5, -0.5), matrix.dtype)
    each = gather(price, active).ravel()
    flat = plan.criterion.flat(observed_values(plan.ys), jnp.sum(plan.open))
    signs = one_sign(low, high)
    path = subset_path(*quadratic, multiples[:, None] * each, signs=signs).coefficients
    path = jnp.clip(path, low, high).reshape(-1, *active.shape)
    path = plan.coefficients(scatter(path, active, K))
    inverse = inverse_on(matrix, outlook.support)
    errors = jnp.sqrt(jnp.diag(plan.outward(inverse)))
    if plan.ties is None:
        errors = scatter(errors.reshape(active.shape), active, K)
    stay = best_subset(
        *quadratic, outlook.support, inverse, each, max_changes=0, signs=signs
    )
    margin = stay.margin
    if plan.model.dynamics == "flow":
        # A term that stands out this far beyond noise is not left out for sure, however
        # dear it is.
        gain = best_addition(*quadratic, outlook.support, inverse, signs)
        margin = jnp.minimum(margin, STANDS_OUT + UNSURE - gain)
    sweep = outlook.sweep
    ahead = one_step_ahead(model, sweep.filtered)
    error = against_persistence(ahead[1:], plan.ys, plan.ys.shape[0])
    # Steps of a noisy engine never promise nothing.
    climbed = engine.stochastic | (best.decrement < 0.1)
    return Solution(
        coefficients=plan.coefficients(unknowns.parameters),
        base=plan.zero,
        standard_errors=errors.reshape(plan.base.shape),
        state_noise=unknowns.state_noise,
        observation_noise=unknowns.observation_noise,
        initial_mean=unknowns.initial_mean,
        initial_noise=unknowns.initial_noise,
        log_likelihood=best.log_likelihood,
        criterion=best.criterion,
        margin=margin,
        states=sweep.means(),
        state_covariances=sweep.covariances(),
        filtered=sweep.filtered,
        prices=multiples * plan.multiplier * flat,
        path=path,
        start_criteria=starts.best.criterion,
        sweeps=starts.sweeps,
        code=_judge(
            best.criterion,
            done & climbed,
            margin,
            error,
            _looseness(here, inverse),
            jnp.any(plan.coefficients(unknowns.parameters)),
        ),
        engine=reason,
        substeps=substeps_of(model),
        noise_free=~plan.free & ("state_noise" in learn),
        term_prices=_of_coefficients(price, plan),
        penalty_multiplier=plan.multiplier,
        criterion_name=plan.criterion.name,
    )


def _of_coefficients(price: Array, plan: Plan) -> Array:
    """Price of each coefficient; of tied ones that of the cheapest parameter."""
    if plan.ties is None:
        return price
    each = jnp.where(plan.ties != 0, price[0], jnp.inf)
    flat = jnp.min(each, axis=1)
    return jnp.where(jnp.isfinite(flat), flat, 0).reshape(plan.base.shape)


def _looseness(coefficients: Array, covariance: Array) -> Array:
    """Largest variance of a joint relative change of the coefficients.

    By power iteration on their covariance, each in units of the coefficient. One says
    that a change of all by as much as they are, in some direction, is no more than a
    standard error.
    """
    used = coefficients != 0
    unit = jnp.where(used, 1 / jnp.where(used, coefficients, 1), 0)
    relative = covariance * unit[:, None] * unit

    def push(_: Array, v: Array) -> Array:
        w = relative @ v
        return w / jnp.maximum(jnp.linalg.norm(w), jnp.finfo(w.dtype).tiny)

    # Any start that is not orthogonal to what is sought, and not of one sign.
    start = jnp.cos(jnp.arange(len(unit), dtype=unit.dtype))
    v = jax.lax.fori_loop(0, 50, push, start)
    return v @ relative @ v


def _judge(
    criterion: Array,
    done: Array,
    margin: Array,
    error: Array,
    loose: Array,
    something: Array,
) -> Array:
    code = jnp.asarray(Outcome.converged.value)
    # Later lines outrank earlier ones.
    for condition, outcome in (
        (margin < UNSURE, Outcome.undecided),
        (~done, Outcome.out_of_sweeps),
        (loose > MOST_LOOSE, Outcome.not_determined),
        (~(error < 1), Outcome.worse_than_persistence),
        (~something, Outcome.nothing_left),
        (~jnp.isfinite(criterion), Outcome.degenerate_likelihood),
    ):
        code = jnp.where(condition, outcome.value, code)
    return code
