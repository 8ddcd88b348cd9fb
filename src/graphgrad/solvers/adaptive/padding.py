"""Series rounded up to a few lengths, so that another length compiles nothing new.

Rows after the end are not observed. Each starts a series of its own, so that no
equation is learnt from it and no prediction runs away.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from ...model import Schedule, StateSpaceModel
from ...solution import Solution

LEAST_ROWS = 16
"""Rows of the shortest series."""

MANY_ROWS = 2048
"""Rows from which on it costs more to compute rows than to compile once more."""


def rounded_length(rows: int) -> int:
    """The next power of two, or three quarters of it; of many rows, eighths of it.

    Examples:
        >>> [rounded_length(rows) for rows in (5, 16, 17, 100, 500, 1000, 10_000)]
        [16, 16, 24, 128, 512, 1024, 10240]
    """
    power = 1 << max(rows - 1, LEAST_ROWS - 1).bit_length()
    if power > MANY_ROWS:
        return -(-8 * rows // power) * power // 8
    return 3 * power // 4 if rows <= 3 * power // 4 and power > LEAST_ROWS else power


def padded(
    ys: Any, model: StateSpaceModel
) -> tuple[Float[Array, "N Ny"], StateSpaceModel]:
    """Data and model with rows that tell nothing after the end."""
    rows = len(ys)
    more = rounded_length(rows) - rows
    start = np.asarray(model.initial_mean)
    schedule = schedule_of(model, rows)

    def longer(values: Any, fill: Any) -> Any:
        if values is None:
            return None
        values = np.asarray(values)
        rest = np.broadcast_to(np.asarray(fill, values.dtype), values[:1].shape)
        values = np.concatenate([values, np.repeat(rest, more, axis=0)])
        return jax.device_put(values)  # `jnp.asarray` would compile a program

    schedule = Schedule(
        pace=longer(schedule.pace, 1),
        fresh=longer(schedule.fresh, True),
        starts=longer(schedule.starts, start),
        inputs=longer(schedule.inputs, 0),
        later_inputs=longer(schedule.later_inputs, 0),
        uncertainty=longer(schedule.uncertainty, 1),
    )
    model = model.with_schedule(schedule)
    return longer(ys, np.nan), model


def schedule_of(model: StateSpaceModel, rows: int) -> Schedule:
    """The schedule of a model, of even steps if it has none."""
    if model.schedule is not None:
        return model.schedule
    start, dtype = np.asarray(model.initial_mean), model.initial_mean.dtype
    return Schedule(
        pace=jax.device_put(np.ones(rows, dtype)),
        fresh=jax.device_put(np.zeros(rows, bool)),
        starts=jax.device_put(np.broadcast_to(start, (rows, len(start)))),
    )


def without_padding(solution: Solution, rows: int) -> Solution:
    """The solution for the rows that there are."""

    def cut(values: Array, length: int) -> Array:
        return jax.device_put(np.asarray(values)[:length])

    return eqx.tree_at(
        lambda s: (s.states, s.state_covariances, s.filtered, s.predicted),
        solution,
        (
            cut(solution.states, rows + 1),
            cut(solution.state_covariances, rows + 1),
            cut(solution.filtered, rows),
            cut(solution.predicted, rows),
        ),
    )
