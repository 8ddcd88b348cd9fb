"""How often each term and each edge comes out, on resampled blocks of the series."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..checks import check_at_least
from ..compiling import compiled
from ..model import GaussianNoise, StateSpaceModel, arrange, whole_series
from ..solution import Solution
from ..solvers import AdaptiveSteps, adaptive
from ..solvers.adaptive.substeps import substeps_of, with_substeps
from .spike import edges_of


class Stability(NamedTuple):
    """What refits on resampled blocks found.

    Attributes:
        terms: Share of the refits in which each term enters.
        edges: Share in which the one state (column) acts on the other (row).
        coefficients: C of each refit.
    """

    terms: Float[Array, "Nx M"]
    edges: Float[Array, "Nx Nv"]
    coefficients: Float[Array, "refits Nx M"]


def stability(
    key: PRNGKeyArray,
    ys: Any,
    model: StateSpaceModel,
    solution: Solution,
    *,
    refits: int = 50,
    block: int | None = None,
    **options: Any,
) -> Stability:
    """Fit again and again to as many points in blocks, drawn with replacement.

    A block begins by the smoothed distribution of its first state. All refits run in
    one call.

    Args:
        key: Random key.
        ys: Observations; one series with equal steps.
        model: As for `adaptive`.
        solution: What `adaptive` found on the whole series.
        refits: Number of refits.
        block: Length of a block; a fifth of the series, at most 50 and at least 5, if
            not given.
        **options: Further ones of `adaptive`; criterion and penalty are those of the
            solution unless they are given.

    Examples:
        >>> import graphgrad as gg, jax
        >>> system = gg.systems.lotka_volterra()
        >>> short = gg.AdaptiveSteps(rounds=1)  # for an example, and not for good
        >>> with jax.enable_x64(True):  # finds true terms more often
        ...     model = system.model(dynamics="map")
        ...     data = system.simulate(jax.random.key(0), 100, scheme="euler")
        ...     fit = gg.adaptive(jax.random.key(1), data.observations, model)
        ...     found = gg.stability(jax.random.key(2), data.observations, model, fit,
        ...                          refits=6, block=50, settings=short)
        >>> found.terms.shape, found.edges.shape
        ((2, 6), (2, 2))
    """
    refits = check_at_least("refits", refits, 1, "50 are good.")
    ys = np.asarray(whole_series(ys, model, "resampled blocks", least=10))
    T = len(ys)
    length = min(max(T // 5, 5), 50, T) if block is None else block
    length = check_at_least("block", length, 3, "A fifth of the series is good.")
    if length > T:
        raise ValueError(
            f"`block` must be at most the length of the series, {T}, got {length}. "
            "Leave it out."
        )
    block_key, fit_key = jax.random.split(key)
    shape = (refits, -(-T // length))
    firsts = np.asarray(jax.random.randint(block_key, shape, 0, T - length + 1))
    states = np.asarray(solution.states)
    spread = np.diagonal(np.asarray(solution.state_covariances), axis1=1, axis2=2)
    variances = np.maximum(spread.mean(axis=0), np.asarray(solution.state_noise))
    scale = jnp.asarray(np.sqrt(variances), model.initial_mean.dtype)
    start = eqx.tree_at(lambda m: m.initial_noise, model, GaussianNoise(scale))
    panels = [
        arrange(start, [ys[i : i + length] for i in drawn], initial_means=states[drawn])
        for drawn in firsts
    ]
    # What is static stands in one model for all.
    arrays = [eqx.partition(panel.model, eqx.is_array)[0] for panel in panels]
    static = eqx.partition(panels[0].model, eqx.is_array)[1]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays)

    settings = options.pop("settings", None) or AdaptiveSteps()
    if not np.isnan(ys).any():
        settings = dataclasses.replace(settings, long_gaps=False)
    options["settings"] = settings
    options.setdefault("criterion", solution.criterion_name)
    options.setdefault("weight", float(solution.penalty_multiplier))

    def fit(key: PRNGKeyArray, ys: Array, arrays: Any) -> tuple[Array, Array]:
        # The number of steps an interval is one for all.
        refit = with_substeps(eqx.combine(arrays, static), substeps_of(model))
        found = adaptive(key, ys, refit, **options)
        return found.coefficients, found.coefficients != found.base

    rows = jnp.asarray(np.stack([panel.ys for panel in panels]), scale.dtype)
    keys = jax.random.split(fit_key, refits)
    C, present = compiled(jax.vmap(fit))(keys, rows, stacked)
    edges = edges_of(present, model.library.incidence)
    return Stability(jnp.mean(present, axis=0), edges, C)
