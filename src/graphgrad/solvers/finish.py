"""What the best start found: the solution."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..compiling import compiled
from ..engines.gaussian import along
from ..solution import Outcome, Solution
from .outcome import against_persistence
from .outlook import look
from .refine import Candidate, term_price
from .statistics import gather, scatter
from .subset import best_subset, inverse_on, price_path
from .unknowns import Unknowns, build
from .variances import restricted

MOST_LOOSE = 0.25
"""Largest variance of a joint relative change of coefficients that are determined."""


@compiled
def finish(key, starts, crossing, plan, *, engine, learn, settings, reason) -> Solution:
    """A last look at the best start: path of prices, standard errors, outcome."""
    starts = jax.tree.map(lambda *a: jnp.concatenate(a), starts, crossing)
    winner = jnp.argmin(starts.best.criterion)
    best, done = jax.tree.map(lambda leaf: leaf[winner], (starts.best, starts.done))
    C, price = best.unknowns.coefficients, term_price(plan)
    unknowns: Unknowns = best.unknowns
    if "state_noise" in learn:
        unknowns = unknowns._replace(
            state_noise=restricted(unknowns, best.path, plan, learn)
        )
    model = build(plan.model, unknowns, learn)
    end_key = jax.random.fold_in(key, settings.anneal + settings.sweeps)
    outlook = look(end_key, model, best.support, best.path, plan, engine, noise=False)
    matrix = outlook.information.coefficients
    here = gather(C - plan.base, outlook.active).ravel()
    quadratic = matrix, outlook.gradient + matrix @ here
    shape, M = outlook.active.shape, C.shape[1]
    prices = price * jnp.asarray(2.0 ** np.arange(6, -3.5, -0.5), C.dtype)

    signs = gather(plan.signs, outlook.active).ravel()
    path = price_path(*quadratic, prices, signs=signs).coefficients
    path = path.reshape(-1, *shape)
    path = plan.base + scatter(path, outlook.active, M)
    inverse = inverse_on(matrix, outlook.support)
    errors = jnp.sqrt(jnp.diag(inverse)).reshape(shape)
    stay = best_subset(
        *quadratic, outlook.support, inverse, price, max_changes=0, signs=signs
    )
    sweep = outlook.sweep
    before = jnp.concatenate([model.initial_mean[None], sweep.filtered[:-1]])
    ahead = model.observation.mean(along(model, before))
    error = against_persistence(ahead[1:], plan.ys, plan.ys.shape[0])
    # Steps of a noisy engine never promise nothing.
    climbed = engine.stochastic | (best.decrement < 0.1)
    return Solution(
        coefficients=C,
        base=plan.zero,
        standard_errors=scatter(errors, outlook.active, M),
        state_noise=unknowns.state_noise,
        observation_noise=unknowns.observation_noise,
        initial_mean=unknowns.initial_mean,
        initial_noise=unknowns.initial_noise,
        log_likelihood=best.log_likelihood,
        criterion=best.criterion,
        margin=stay.margin,
        states=sweep.means(),
        state_covariances=sweep.covariances(),
        filtered=sweep.filtered,
        prices=prices,
        path=path,
        start_criteria=starts.best.criterion,
        sweeps=starts.sweeps,
        code=_judge(
            best, done & climbed, stay.margin, error, _looseness(here, inverse)
        ),
        engine=reason,
    )


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
    best: Candidate, done: Array, margin: Array, error: Array, loose: Array
) -> Array:
    code = jnp.asarray(Outcome.converged.value)
    # Later lines outrank earlier ones.
    for condition, outcome in (
        (margin < 2, Outcome.undecided),
        (~done, Outcome.out_of_sweeps),
        (loose > MOST_LOOSE, Outcome.not_determined),
        (~(error < 1), Outcome.worse_than_persistence),
        (~jnp.any(best.unknowns.coefficients), Outcome.nothing_left),
        (~jnp.isfinite(best.criterion), Outcome.degenerate_likelihood),
    ):
        code = jnp.where(condition, outcome.value, code)
    return code
