"""Long series: terms are first looked for in windows of rows, then in more of them.

What a few hundred rows tell is found at their cost. More rows then correct it, in a few
sweeps from where it is, in steps of eight up to all of them.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...compiling import compiled_once
from ...engines.sweep import AbstractEngine
from ...model import Schedule, StateSpaceModel, filled
from ...solution import Solution
from .annealing_start import squared_steps
from .candidate import Exchange, begin_exchange
from .padding import schedule_of
from .plan import Plan
from .unknowns import model_unknowns

FIRST_ROWS = 512
"""Rows in which terms are looked for at first."""

GROWTH = 8
"""How many times more rows the next windows have."""

WINDOWS = 4
"""Number of windows, spread evenly."""

WARM_SWEEPS = 2, 6
"""Fewest and most sweeps from the data to the trajectory of known equations."""

MANY_ROWS = 50_000
"""Rows from which on no sweep is made that hardly changes anything."""

FALL = 8.0
"""Factor by which the process noise falls from one of these sweeps to the next."""

FIRST_NOISE = 1e-2
"""Process noise of the first of these sweeps, over the mean square of a step."""


def window_sizes(rows: int) -> list[int]:
    """Rows of the windows, before all rows are used.

    Examples:
        >>> window_sizes(600), window_sizes(1000), window_sizes(10_000)
        ([], [512], [512, 4096])
    """
    sizes = []
    size = FIRST_ROWS
    while 3 * size <= 2 * rows:
        sizes.append(size)
        size *= GROWTH
    return sizes


def windows(
    ys: Any, model: StateSpaceModel, size: int
) -> tuple[Float[Array, "N Ny"], StateSpaceModel]:
    """Windows of a series as series of their own, `size` rows in all."""
    length = size // WINDOWS
    begins = np.linspace(0, len(ys) - length, WINDOWS).astype(int)
    rows = (begins[:, None] + np.arange(length)).ravel()
    schedule = schedule_of(model, len(ys))
    # An observation is the state itself: `model.sees_all_states`.
    states = np.asarray(filled(jnp.asarray(ys)))
    fresh, starts = np.array(schedule.fresh), np.array(schedule.starts)
    fresh[begins[1:]] = True
    starts[begins[1:]] = states[begins[1:]]
    schedule = eqx.tree_at(
        lambda s: (s.fresh, s.starts),
        schedule,
        (jnp.asarray(fresh), jnp.asarray(starts)),
    )
    chosen: Schedule = jax.tree.map(
        lambda leaf: jnp.asarray(np.asarray(leaf)[rows]), schedule
    )
    model = model.with_schedule(chosen)
    return jnp.asarray(np.asarray(ys)[rows]), model


def continued(
    key: Array,
    found: Solution,
    plan: Plan,
    engine: AbstractEngine,
    learn: tuple[str, ...],
) -> Exchange:
    """One start: where a fit of fewer rows ended."""
    values = found.coefficients, found.state_noise, found.observation_noise
    return _continued(key, values, plan, engine, learn)


@compiled_once
def _continued(
    key: Array,
    found: tuple[Array, Array, Array],
    plan: Plan,
    engine: AbstractEngine,
    learn: tuple[str, ...],
) -> Exchange:
    noise = jnp.maximum(found[1], plan.floor)
    unknowns = model_unknowns(plan.model)._replace(
        parameters=plan.parameters_of(found[0]),
        state_noise=noise,
        observation_noise=found[2],
    )
    length = plan.model.mean.noise_length()
    most = FIRST_NOISE * squared_steps(plan.trajectory, plan.model) / jnp.mean(length)
    most = jnp.maximum(most, noise)

    falls = jnp.max(jnp.log(most / noise)) / math.log(FALL)
    number = jnp.clip(1 + jnp.ceil(falls), *WARM_SWEEPS).astype(int)

    def sweep(i: Array, trajectory: Array) -> Array:
        share = (i / (number - 1)).astype(noise.dtype)
        moved = unknowns._replace(state_noise=most ** (1 - share) * noise**share)
        model = plan.build(moved, tuple(dict.fromkeys((*learn, "state_noise"))))
        path = engine.sweep(key, model, plan.ys, trajectory).path
        fine = jnp.all(jnp.isfinite(path))
        return jnp.where(fine, path, trajectory)

    path = jax.lax.fori_loop(0, number, sweep, plan.trajectory)
    start = begin_exchange(unknowns, path)
    return jax.tree.map(lambda leaf: leaf[None], start)
