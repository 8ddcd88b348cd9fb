"""Layout of several, irregularly sampled or driven series for one model."""

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
from ..resources import check_fit_memory
from .mean import Schedule
from .noise import AbstractScaleNoise
from .state_space import StateSpaceModel

LONGEST = 2.0
"""Longest undivided interval of a flow, in units of `dt`."""

MOST_STEPS = 50_000_000
"""Most steps of all series."""

FEW_STEPS = 10_000
"""Steps that are never too many."""

STEPS_PER_ROW = {"flow": 1000, "map": 100, "difference": 100}
"""Most steps per row, beyond `FEW_STEPS`: with more, `dt` is of another unit."""

MOST_INTERVALS = 1000
"""Most intervals between rows in a step."""

INPUTS_BETWEEN = ("held", "linear")
"""Interpolation of the inputs between two rows."""


class Arranged(NamedTuple):
    """A model and the rows to fit it to.

    Attributes:
        model: The model, with a schedule of what varies between steps.
        ys: One row per step; NaN where nothing was observed.
        rows: For each series, the indices of its observations.
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
    """Concatenate series and divide long intervals into steps.

    A flow is integrated over each interval; only intervals much longer than `dt` are
    divided. A map or difference has steps of dt: over a step of length s dt a map
    changes the state by s (C phi(x) - x), a difference by s A phi(x), and the variance
    of the process noise is s times as large. Every series starts from the distribution
    of the initial state, one step of dt before its first observation.

    Args:
        model: The model; a map or difference describes a step of length `dt`.
        series: One `(T, Ny)` array, or a list of them; NaN marks missing values.
        times: Observation times of the rows: one array, or one per series. Every `dt`
            if not given.
        dt: Usual length of an interval, in units of the times; for a flow the model's.
        max_step: Longest step; longer intervals are divided into equal steps. `dt` if
            not given, for a flow twice that.
        inputs: One `(T, Nu)` array, or one per series: row t acts from the previous
            observation to observation t.
        inputs_between: `"held"`: constant between rows; `"linear"`: interpolated
            linearly from the previous row to row t, for a flow only.
        uncertainty: One `(T, Ny)` array, or one per series: factor on the model's
            standard deviation of the measurement noise, for each entry.
        initial_means: Mean of the initial state of each series, `(series, Nx)`; the
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
            "`inputs_between` must be 'held' for a map or a difference, which has no "
            "states between rows, got 'linear'. Use `dynamics='flow'`."
        )
    longest = (LONGEST * dt if flows else dt) if max_step is None else max_step
    longest = check_positive("max_step", longest, "Leave it out for `dt`.")
    several = isinstance(series, Sequence) and [np.ndim(s) for s in series[:1]] == [2]
    panel = list(series) if several else [series]
    n_observed = np.shape(model.observation.mean(model.initial_mean))[-1]
    panel = [_rows(ys, n_observed) for ys in panel]
    whole = np.concatenate(panel)
    check_series(
        "series", whole, n_columns=n_observed, least=1
    )  # not all of it is empty
    clocks = _each("times", times, panel, several)
    driven = _each("inputs", inputs, panel, several)
    factors = _each("uncertainty", uncertainty, panel, several)
    _check_uncertainty(factors, panel, model)
    starts = np.asarray(model.initial_mean)
    if initial_means is not None:
        remedy = "Give one row per series."
        starts = check_finite("initial_means", initial_means, remedy)
        shape = (len(panel), model.n_states)
        check_shape("initial_means", starts.shape, shape, remedy)
        model = eqx.tree_at(lambda m: m.initial_mean, model, jnp.asarray(starts[0]))
    starts = np.broadcast_to(starts, (len(panel), model.n_states))
    lengths = [_lengths(ys, when, dt) for ys, when in zip(panel, clocks, strict=True)]
    steps = _check_steps(lengths, dt, longest, model.dynamics)
    check_fit_memory(steps, model.n_states, 0)
    laid, places, begin = [], [], 0
    for i, ys in enumerate(panel):
        between = inputs_between == "linear"
        part = _lay(i, ys, lengths[i], driven[i], between, starts[i], dt, longest)
        laid.append(part)
        places.append(begin + np.flatnonzero(part[4]))
        begin += len(part[0])
    scales = None
    if uncertainty is not None:
        scales = np.ones((begin, n_observed))
        scales[np.concatenate(places)] = np.concatenate(factors)
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
        None if scales is None else jnp.asarray(scales, dtype),
    )
    if not isinstance(model.transition.noise, AbstractScaleNoise):
        raise ValueError(
            "`model` must have a process noise with a scale, got "
            f"{type(model.transition.noise).__name__}. Build it with "
            "`state_space_model`."
        )
    model = model.with_schedule(schedule)
    return Arranged(model, ys, tuple(places))


def _check_uncertainty(
    factors: list, panel: list[np.ndarray], model: StateSpaceModel
) -> None:
    noise = model.observation.noise
    for part, ys in zip(factors, panel, strict=True):
        if part is None:
            continue
        remedy = "Give 1 for an entry with the model's own standard deviation."
        check_shape("uncertainty", part.shape, ys.shape, remedy)
        check_positive("uncertainty", float(part.min()), remedy)
        if not isinstance(noise, AbstractScaleNoise):
            raise ValueError(
                "`uncertainty` must be left out for a distribution without a scale, "
                f"got {type(noise).__name__}. Include it in the distribution."
            )


def _rows(ys: Any, n_observed: int) -> np.ndarray:
    array = np.asarray(ys, float)
    remedy = "Give one row per time step and one column per observed quantity."
    check_shape("series", array.shape, (len(np.atleast_1d(array)), n_observed), remedy)
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


def _lengths(ys: np.ndarray, times: Any, dt: float) -> Float[np.ndarray, "T"]:
    """Length of the interval before each row."""
    lengths = np.full(len(ys), dt)
    if times is not None:
        lengths[1:] = np.diff(times)
        if (lengths <= 0).any():
            at = int(np.argmin(lengths))
            raise ValueError(
                f"`times` must rise from row to row, got {times[at - 1]:g} and then "
                f"{times[at]:g} at row {at}. Sort the rows; merge rows of equal time."
            )
    return lengths


def _check_steps(
    lengths: list[np.ndarray], dt: float, longest: float, dynamics: str
) -> float:
    """Number of steps, before anything is allocated."""
    rows = sum(map(len, lengths))
    steps = sum(float(np.ceil(part / longest - 1e-6).clip(1).sum()) for part in lengths)
    most = min(MOST_STEPS, max(FEW_STEPS, STEPS_PER_ROW[dynamics] * rows))
    intervals = np.concatenate([part[1:] for part in lengths])
    median = float(np.median(intervals)) if len(intervals) else dt
    reason = ""
    if steps > most:
        reason = f"{steps:.3g} steps for {rows} rows, more than {most:.3g}"
        if rows * max(median / longest, 1) <= most:  # few intervals are too long
            gap, where = _longest_interval(lengths)
            raise ValueError(
                f"`times` must have intervals near their median, {median:.6g}, got "
                f"{gap:.6g} {where}: {reason}. Correct this time if it is wrong; give "
                "a series with long gaps as several."
            )
    elif dt > MOST_INTERVALS * median:
        reason = f"{dt / median:.3g} intervals, more than {MOST_INTERVALS}"
    if reason:
        raise ValueError(
            f"`dt` must be near the intervals of the times, whose median is "
            f"{median:.6g}, got {dt:g}: {reason}. Leave `dt` out for the median, or "
            "give it in the unit of the times; give a series with long gaps as several."
        )
    return steps


def _longest_interval(lengths: list[np.ndarray]) -> tuple[float, str]:
    """The longest interval between two rows, and where it is."""
    longest = [float(part[1:].max(initial=0)) for part in lengths]
    number = int(np.argmax(longest))
    row = int(np.argmax(lengths[number][1:])) + 1
    series = f" of series {number + 1}" if len(lengths) > 1 else ""
    return longest[number], f"between rows {row} and {row + 1}{series}"


def _lay(i, ys, lengths, inputs, between, start, dt, longest):
    """Lay out one series: rows, step lengths, starts, initial means, mask, inputs.

    Inputs are given at the start and at the end of each step. Every series after the
    first has one additional row: its initial state.
    """
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
