"""Process noise in the search for terms: as it is known, less of it, or none."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...compiling import compiled_once
from ...solution import Solution
from ..trees import where_each
from .candidate import Exchange
from .contest import ends_of
from .plan import Plan
from .rivals import Rival
from .search_checks import same_terms
from .stages import begin_exchanges
from .unknowns import model_unknowns
from .variances import NOISE_PRIOR

LESS_NOISE = (1 / 3, 1 / 2, 1.0)
"""Shares of what is left of the way to no process noise, in steps of equal ratio."""

HOPELESS = 100.0
"""Rise of the criterion with less noise from which on noise is needed for sure."""


def with_known_noise(starts: Exchange, plan: Plan) -> Exchange:
    """Begin again from the best of each start, with the state noise that is known."""
    known = model_unknowns(plan.model).state_noise
    return _with_noise(starts, jnp.where(known > 0, known, plan.floor))


def without_noise(
    noisy: Exchange,
    plan: Plan,
    fit: Callable[[Exchange, Plan], Exchange],
    *,
    found: Solution | None,
    traced: bool,
) -> tuple[Exchange, Plan, list[Rival]]:
    """The fits without process noise, unless noise is needed; where both ended.

    Args:
        noisy: The fits with it.
        plan: What stays the same.
        fit: Ascends and exchanges terms.
        found: What a fit of fewer rows found. What needed noise there needs it with
            more rows, unless terms have changed.
        traced: Whether a compilation is under way, which cannot look at numbers.
    """
    shares = LESS_NOISE
    if found is not None and same_terms(noisy, found, plan):
        if not found.noise_free:
            return noisy, plan, []
        shares = LESS_NOISE[-1:]
    # With all of it gone at once the data would be lost.
    quiet = plan._replace(free_noise=jax.device_put(np.array(False)))
    less_noise = noisy
    for share in shares:
        less_noise = fit(_with_less_noise(less_noise, quiet, share), quiet)
        if not traced:
            criteria = less_noise.best.criterion, noisy.best.criterion
            less, more = (np.min(np.asarray(each)) for each in criteria)
            if less > more + HOPELESS:
                return noisy, plan, []
    chosen, plan, added = _noise_if_needed(noisy, less_noise, plan)
    if traced:
        return chosen, plan, []
    both = zip((noisy, less_noise), added, strict=True)
    return chosen, plan, [end for each in both for end in ends_of(*each)]


def _with_less_noise(starts: Exchange, plan: Plan, share: float) -> Exchange:
    """Begin again from the best of each start, with less process noise.

    Args:
        starts: The fits so far.
        plan: What stays the same.
        share: Of the way to the least noise, on a logarithmic scale.
    """
    noise = starts.best.unknowns.state_noise
    return _with_noise(starts, noise ** (1 - share) * plan.floor**share)


def _with_noise(starts: Exchange, noise: Array) -> Exchange:
    unknowns = starts.best.unknowns
    noise = jnp.broadcast_to(noise, unknowns.state_noise.shape)
    unknowns = unknowns._replace(state_noise=noise)
    return begin_exchanges(unknowns, starts.best.trajectory)


@compiled_once
def _noise_if_needed(
    noisy: Exchange, quiet: Exchange, plan: Plan
) -> tuple[Exchange, Plan, tuple[Array, Array]]:
    """The fits without process noise, unless noise pays for its variances.

    Each variance costs what Akaike's criterion charges for a parameter: what is taken
    for no noise makes intervals too short. The prior on variances, which keeps them
    from zero, is no part of the comparison.

    Terms that fits without noise have in excess of the best fit with it cost 2 log T
    more. Without noise they shift the phase of all later rows, so that the information
    on them grows like T^3 in place of T: log n is too little for them, and they follow
    what the noise did to the series.

    What must be added to the criteria of the fits with noise, and of those without, to
    compare them with the fits that are returned is returned beside these.
    """
    cost = 2 * NOISE_PRIOR * jnp.log(noisy.best.unknowns.state_noise) + 2
    cost = jnp.sum(cost, axis=1)
    with_noise = noisy.best.criterion + cost
    first = jnp.argmin(with_noise)
    terms, others = (jnp.sum(e.best.support, axis=(1, 2)) for e in (noisy, quiet))
    rows = jnp.sum(jnp.any(~jnp.isnan(plan.ys), axis=1)).astype(cost.dtype)
    excess = 2 * jnp.log(rows) * jnp.maximum(others - terms[first], 0)
    without = quiet.best.criterion + excess
    needed = with_noise[first] < jnp.min(without)
    paid = jnp.where(needed, cost[first], excess[jnp.argmin(without)])
    plan = plan._replace(free_noise=plan.free_noise & needed)
    return where_each(needed, noisy, quiet), plan, (cost - paid, excess - paid)
