"""Plots of time series: smoothed states and forecasts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_finite
from ..library import variable_names
from .style import GREY, clock, colour, legend_above, matrix, several_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_states(
    means: Any,
    *,
    times: Any = None,
    deviations: Any = None,
    data: Any = None,
    data_times: Any = None,
    truth: Any = None,
    states: Sequence[str] | None = None,
    ax: Any = None,
) -> "list[Axes]":
    """Smoothed states with 90 % bands and the data, one panel per state.

    Args:
        means: Means of the states, `(T, Nx)`.
        times: Time of each row; the row number by default.
        deviations: Standard deviations, `(T, Nx)`, for the bands.
        data: Observations of the states, `(N, Nx)`; NaN is a gap, and a column of NaN
            an unobserved state.
        data_times: Time of each observation; the last N times by default.
        truth: True states, `(T, Nx)`.
        states: Names of the states.
        ax: One axes per state.

    Examples:
        >>> axes = plot_states([[0.0, 1.0], [1.0, 0.5]], deviations=[[0.1, 0.1]] * 2)
        >>> [ax.get_ylabel() for ax in axes]
        ['x1', 'x2']
    """
    means = matrix("means", means)
    n_states = means.shape[1]
    names = variable_names(n_states, n_states, states)
    times = clock(times, len(means))
    axes = several_axes(ax, n_states, size=(7, 0.8 + 1.5 * n_states))
    width = None if deviations is None else matrix("deviations", deviations, n_states)
    seen = None if data is None else matrix("data", data, n_states)
    true = None if truth is None else matrix("truth", truth, n_states)
    for i, panel in enumerate(axes):
        if seen is not None:
            when = times[-len(seen) :] if data_times is None else data_times
            when = clock(when, len(seen))
            panel.plot(when, seen[:, i], ".", color=GREY, ms=4, label="data")
        if true is not None:
            panel.plot(
                times, true[:, i], "--", color="black", lw=0.9, label="truth", zorder=4
            )
        panel.plot(times, means[:, i], color=colour(i), lw=1.6, label="smoothed")
        if width is not None:
            reach = 1.645 * width[:, i]
            low, high = means[:, i] - reach, means[:, i] + reach
            panel.fill_between(
                times, low, high, color=colour(i), alpha=0.25, lw=0, label="90 % band"
            )
        panel.set_ylabel(names[i])
        tidy(panel)
    axes[-1].set_xlabel("time")
    legend_above(axes[0])
    return axes


def plot_forecast(
    ensemble: Any,
    *,
    times: Any = None,
    history: Any = None,
    history_times: Any = None,
    truth: Any = None,
    states: Sequence[str] | None = None,
    ax: Any = None,
) -> "list[Axes]":
    """Fan chart per state: median, 50 % and 90 % bands of a forecast ensemble.

    Args:
        ensemble: Forecasts of shape `(members, steps, Nx)`.
        times: Time of each step; 1, 2, ... by default.
        history: States before the forecast, `(T, Nx)`.
        history_times: Their times; up to 0 by default.
        truth: Actual states, `(steps, Nx)`.
        states: Names of the states.
        ax: One axes per state.

    Examples:
        >>> draws = np.random.default_rng(0).normal(size=(50, 10, 1)).cumsum(axis=1)
        >>> [ax] = plot_forecast(draws, history=[[0.3], [0.0]], states=["price"])
        >>> ax.get_xlabel()
        'time'
    """
    remedy = "Give forecasts of shape (members, steps, Nx)."
    draws = check_finite("ensemble", ensemble, remedy)
    if draws.ndim != 3:
        raise ValueError(f"`ensemble` must have 3 axes, got {draws.ndim}. {remedy}")
    _, n_steps, n_states = draws.shape
    names = variable_names(n_states, n_states, states)
    times = clock(times, n_steps, first=1)
    levels = np.quantile(draws, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    axes = several_axes(ax, n_states, size=(7, 0.8 + 1.5 * n_states))
    past = None if history is None else matrix("history", history, n_states)
    true = None if truth is None else matrix("truth", truth, n_states)
    for i, panel in enumerate(axes):
        ahead, fan = times, levels[..., i]
        if past is not None:
            before = clock(history_times, len(past), first=1 - len(past))
            panel.plot(before, past[:, i], color="black", lw=1.4, label="history")
            if np.isfinite(past[-1, i]):
                # The fan starts at the end of the history.
                ahead = np.concatenate([before[-1:], times])
                start = np.full((len(fan), 1), past[-1, i])
                fan = np.concatenate([start, fan], axis=1)
        for low, high, alpha, name in ((0, 4, 0.2, "90 %"), (1, 3, 0.35, "50 %")):
            panel.fill_between(
                ahead,
                fan[low],
                fan[high],
                color=colour(i),
                alpha=alpha,
                lw=0,
                label=name,
            )
        panel.plot(ahead, fan[2], color=colour(i), lw=1.6, label="median")
        if true is not None:
            panel.plot(times, true[:, i], "--", color="black", lw=1, label="truth")
        panel.set_ylabel(names[i])
        tidy(panel)
    axes[-1].set_xlabel("time")
    legend_above(axes[0])
    return axes
