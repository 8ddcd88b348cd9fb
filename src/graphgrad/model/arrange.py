"""The door for series that are several, irregular or driven."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ..checks import (
    check_choice,
    check_finite,
    check_positive,
    check_series,
    check_shape,
)
from .noise import AbstractScaleNoise
from .state_space import StateSpaceModel
from .transition import Schedule

LONGEST = 2.0
"""Usual intervals from which on an interval of a flow is divided."""

INPUTS_BETWEEN = ("held", "linear")
"""What inputs do between two rows."""


class Arranged(NamedTuple):
    """A model and the rows that it is to explain.

    Attributes:
        model: The model, with what differs from step to step.
        ys: One row a step; NaN where nothing was observed.
        rows: For each series, which rows are its observations.
    """

    model: StateSpaceModel
    ys: Float[np.ndarray, "T Ny"]
    rows: tuple[Int[np.ndarray, "length"], ...]


def arrange(
    model: StateSpaceModel,
    series: Any,
    *,
    times: Any = None,
    dt: float = 1.0,
    max_step: float | None = None,
    inputs: Any = None,
    inputs_between: str = "held",
    uncertainty: Any = None,
    initial_means: Any = None,
) -> Arranged:
    """Lay out series one after another, each interval in as many steps as it needs.

    A flow is followed over each interval as it is; only intervals much longer than
    `dt` are divided. A map or difference has steps of dt: over a step of length s dt a
    map moves the state by s (C phi(x) - x), a difference by s A phi(x), and the
    variance of the noise is s times as large. Every series begins anew by the
    distribution of first states, one step of dt before its first observation.

    Args:
        model: The model; a map or difference is that of a step of length `dt`.
        series: One `(T, Ny)` array, or a list of them; NaN says not observed.
        times: When the rows were observed: one array, or one a series. Every `dt` if
            not given.
        dt: Usual length of an interval, in units of the times; for a flow the model's.
        max_step: Longest step; longer intervals are divided into equal ones. `dt` if
            not given, for a flow twice that.
        inputs: One `(T, Nu)` array, or one a series: row t acts from the observation
            before to observation t.
        inputs_between: `"held"`: as said; `"linear"`: they go in a straight line from
            the row before to row t. For a flow.
        uncertainty: One `(T, Ny)` array, or one a series: how many times larger the
            standard deviation of each reading is than the model's.
        initial_means: Mean of the first state of each series, `(series, Nx)`; the
            model's if not given.

    Examples:
        >>> import graphgrad as gg, numpy as np
        >>> model = gg.systems.lorenz63(dt=0.02).model(dynamics="map")
        >>> arranged = arrange(model, np.zeros((3, 3)), times=[0, 0.02, 0.05], dt=0.02)
        >>> arranged.ys.shape, arranged.model.schedule.pace.tolist()
        ((4, 3), [1.0, 1.0, 0.75, 0.75])
    """
    dt = check_positive("dt", dt, "It is the usual interval between rows.")
    flows = model.dynamics == "flow"
    check_choice("inputs_between", inputs_between, INPUTS_BETWEEN)
    if inputs_between == "linear" and not flows:
        raise ValueError(
            "`inputs_between` must be 'held' for a map or a difference, which knows "
            "nothing between rows, got 'linear'. Use `dynamics='flow'`."
        )
    longest = (LONGEST * dt if flows else dt) if max_step is None else max_step
    longest = check_positive("max_step", longest, "Leave it out for `dt`.")
    several = isinstance(series, Sequence) and [np.ndim(s) for s in series[:1]] == [2]
    panel = list(series) if several else [series]
    n_seen = np.shape(model.observation.mean(model.initial_mean))[-1]
    panel = [_rows(ys, n_seen) for ys in panel]
    whole = np.concatenate(panel)
    check_series("series", whole, n_columns=n_seen, least=1)  # all of it is not empty
    clocks = _each("times", times, panel, several)
    driven = _each("inputs", inputs, panel, several)
    doubts = _each("uncertainty", uncertainty, panel, several)
    _check_doubts(doubts, panel, model)
    starts = np.asarray(model.initial_mean)
    if initial_means is not None:
        starts = check_finite("initial_means", initial_means, "Give one row a series.")
        shape = (len(panel), model.n_states)
        check_shape("initial_means", starts.shape, shape, "Give one row a series.")
        model = eqx.tree_at(lambda m: m.initial_mean, model, jnp.asarray(starts[0]))
    starts = np.broadcast_to(starts, (len(panel), model.n_states))
    laid, places, begin = [], [], 0
    for i, ys in enumerate(panel):
        between = inputs_between == "linear"
        part = _lay(i, ys, clocks[i], driven[i], between, starts[i], dt, longest)
        laid.append(part)
        places.append(begin + np.flatnonzero(part[4]))
        begin += len(part[0])
    larger = None
    if uncertainty is not None:
        larger = np.ones((begin, n_seen))
        larger[np.concatenate(places)] = np.concatenate(doubts)
    ys, pace, fresh, first, _, acting, later = (
        np.concatenate(parts) for parts in zip(*laid, strict=True)
    )
    dtype = model.initial_mean.dtype
    schedule = Schedule(
        jnp.asarray(pace, dtype),
        jnp.asarray(fresh),
        jnp.asarray(first, dtype),
        None if inputs is None else jnp.asarray(acting, dtype),
        jnp.asarray(later, dtype) if inputs_between == "linear" else None,
        None if larger is None else jnp.asarray(larger, dtype),
    )
    if not isinstance(model.transition.noise, AbstractScaleNoise):
        raise ValueError(
            "`model` must have a state noise with a scale, got "
            f"{type(model.transition.noise).__name__}. Build it with "
            "`state_space_model`."
        )
    model = eqx.tree_at(
        lambda m: m.schedule, model, schedule, is_leaf=lambda leaf: leaf is None
    )
    return Arranged(model, ys, tuple(places))


def _check_doubts(
    doubts: list, panel: list[np.ndarray], model: StateSpaceModel
) -> None:
    noise = model.observation.noise
    for part, ys in zip(doubts, panel, strict=True):
        if part is None:
            continue
        remedy = "Give 1 for a reading like the others."
        check_shape("uncertainty", part.shape, ys.shape, remedy)
        check_positive("uncertainty", float(part.min()), remedy)
        if not isinstance(noise, AbstractScaleNoise):
            raise ValueError(
                "`uncertainty` must be left out for a law without a scale, got "
                f"{type(noise).__name__}. Put it into the law."
            )


def _rows(ys: Any, n_seen: int) -> np.ndarray:
    array = np.asarray(ys, float)
    remedy = "Give one row a time step and one column a quantity seen."
    check_shape("series", array.shape, (len(np.atleast_1d(array)), n_seen), remedy)
    return array


def _each(name: str, value: Any, panel: list[np.ndarray], several: bool) -> list:
    """One array for each series, or None for each."""
    if value is None:
        return [None] * len(panel)
    each = list(value) if several else [value]
    check_shape(name, (len(each),), (len(panel),), "Give one array for each series.")
    arrays = []
    for part, ys in zip(each, panel, strict=True):
        array = check_finite(name, part, "Give one row for each row of the series.")
        check_shape(
            name,
            array.shape[:1],
            (len(ys),),
            "Give one row for each row of the series.",
        )
        arrays.append(array.reshape(len(ys), -1) if name == "inputs" else array)
    return arrays


def _lay(i, ys, times, inputs, between, start, dt, longest):
    """Rows, paces, beginnings, first means, what is observed, and inputs of a series.

    Inputs are those at the beginning and at the end of each step. A series after the
    first has a row more: its first state.
    """
    lengths = np.full(len(ys), dt)
    if times is not None:
        lengths[1:] = np.diff(times)
        if (lengths <= 0).any():
            at = int(np.argmin(lengths))
            raise ValueError(
                f"`times` must rise from row to row, got {times[at - 1]:g} and then "
                f"{times[at]:g} at row {at}. Sort the rows; merge those of one time."
            )
    parts = np.ceil(lengths / longest - 1e-6).astype(int).clip(1)
    own = 0 if i == 0 else 1
    total = own + parts.sum()
    observed = np.zeros(total, bool)
    observed[own + np.cumsum(parts) - 1] = True
    laid = np.full((total, ys.shape[1]), np.nan)
    laid[observed] = ys
    pace = np.ones(total)
    pace[own:] = np.repeat(lengths / parts / dt, parts)
    fresh = np.zeros(total, bool)
    fresh[:own] = True
    first = np.broadcast_to(start, (total, len(start)))
    acting = later = np.zeros((total, 0))
    if inputs is not None:
        acting, later = np.zeros((2, total, inputs.shape[1]))
        acting[own:] = later[own:] = np.repeat(inputs, parts, axis=0)
        if between:
            before = np.concatenate([inputs[:1], inputs[:-1]])
            number = np.concatenate([np.arange(n) for n in parts])
            share = (number / np.repeat(parts, parts))[:, None]
            rise = np.repeat(inputs - before, parts, axis=0)
            acting[own:] = np.repeat(before, parts, axis=0) + share * rise
            later[own:] = acting[own:] + rise / np.repeat(parts, parts)[:, None]
    return laid, pace, fresh, first, observed, acting, later
