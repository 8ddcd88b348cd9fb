"""Plots for model checking: residuals and convergence."""

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_at_least, check_numbers, check_shape
from ..library import variable_names
from .style import COLOURS, MOST_NAMES, clock, colour, matrix, several_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_residuals(
    residuals: Any,
    *,
    times: Any = None,
    states: Sequence[str] | None = None,
    lags: int = 20,
    ax: Any = None,
) -> "list[Axes]":
    """Standardised one-step residuals: over time, distribution, autocorrelation.

    For a correct model they are standard normal and uncorrelated: nearly all within the
    dotted lines, distributed like the curve, and 95 % of the autocorrelations within
    the band.

    Args:
        residuals: Residuals over their standard deviations, `(T, Ny)`; NaN is a gap.
        times: Time of each row; the row number by default.
        states: Names of the columns.
        lags: Number of lags of the autocorrelation.
        ax: Three axes.

    Examples:
        >>> noise = np.random.default_rng(0).normal(size=(100, 2))
        >>> [ax.get_xlabel() for ax in plot_residuals(noise)]
        ['time', 'residual', 'lag']
    """
    values = matrix("residuals", residuals)
    names = variable_names(values.shape[1], values.shape[1], states)
    times = clock(times, len(values))
    lags = check_at_least("lags", lags, 1, "20 is usual.")
    over_time, histogram, autocorrelation = several_axes(
        ax, 3, size=(11, 3.4), beside=True
    )
    for i, name in enumerate(names):
        over_time.plot(times, values[:, i], ".", ms=4, color=colour(i), label=name)
    for level in (-1.96, 1.96):
        over_time.axhline(level, color="black", lw=1, ls=":")
    if len(names) <= MOST_NAMES:
        over_time.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=min(3, len(names)),
            frameon=False,
            fontsize=9,
        )
    over_time.set(xlabel="time", ylabel="standardised residual")

    known = values[np.isfinite(values)]
    reach = max(4.0, float(np.abs(known).max(initial=0)) + 0.25)
    edges = np.arange(-np.ceil(reach), np.ceil(reach) + 0.25, 0.5)
    if len(known):
        histogram.hist(
            known, bins=edges.tolist(), density=True, color="#b9cfe0", edgecolor="white"
        )
    shape = np.linspace(-reach, reach, 200)
    density = np.exp(-(shape**2) / 2) / sqrt(2 * np.pi)
    histogram.plot(shape, density, color="black", lw=1.4, label="normal")
    beyond = np.mean(np.abs(known) > 1.96) if len(known) else np.nan
    histogram.set(xlabel="residual", ylabel="density")
    histogram.set_title(f"{100 * beyond:.0f} % beyond 1.96 (normal: 5 %)", fontsize=9)
    histogram.legend(frameon=False, fontsize=9)

    shift = np.linspace(-0.3, 0.3, len(names)) if len(names) > 1 else [0.0]
    for i in range(len(names)):
        found = _autocorrelation(values[:, i], lags)
        steps = np.arange(1, lags + 1) + shift[i]
        autocorrelation.vlines(steps, 0, found, color=colour(i), lw=1.2)
        autocorrelation.plot(steps, found, "o", ms=2.5, color=colour(i))
    band = 1.96 / sqrt(max(1, np.isfinite(values).sum(axis=0).min()))
    autocorrelation.axhspan(-band, band, color="0.88", zorder=0)
    autocorrelation.axhline(0, color="black", lw=0.8)
    autocorrelation.set(xlabel="lag", ylabel="autocorrelation")
    for panel in (over_time, histogram, autocorrelation):
        tidy(panel)
    return [over_time, histogram, autocorrelation]


def plot_convergence(
    log_likelihoods: Any,
    n_terms: Any,
    *,
    sweeps: Any = None,
    stages: Sequence[str] | None = None,
    ax: Any = None,
) -> "list[Axes]":
    """Log-likelihood and number of terms during a fit.

    Initial values far below all others are outside the axis limits, so that the rest
    can be distinguished.

    Args:
        log_likelihoods: Log-likelihoods, `(S,)`; not finite where unknown.
        n_terms: Numbers of terms, `(S,)`.
        sweeps: Number of smoother passes so far, `(S,)`; 1, 2, ... by default.
        stages: Stage of each, `(S,)`; a line is drawn where a new stage begins.
        ax: Two axes.

    Examples:
        >>> upper, lower = plot_convergence([-90.0, -60.0, -59.5], [30, 9, 7])
        >>> upper.get_ylabel(), lower.get_ylabel()
        ('log-likelihood', 'terms')
    """
    from matplotlib.ticker import MaxNLocator

    remedy = "Give one number for each smoother pass."
    heights = check_numbers("log_likelihoods", log_likelihoods, remedy)
    check_shape("log_likelihoods", heights.shape, (heights.size,), remedy)
    counts = check_numbers("n_terms", n_terms, remedy)
    check_shape("n_terms", counts.shape, heights.shape, remedy)
    done = np.arange(1.0, len(heights) + 1)
    if sweeps is not None:
        done = check_numbers("sweeps", sweeps, remedy)
        check_shape("sweeps", done.shape, heights.shape, remedy)
    upper, lower = several_axes(ax, 2, size=(6, 4))
    known = np.isfinite(heights)
    upper.plot(done[known], heights[known], ".-", color=COLOURS[0], lw=1.6)
    shown = heights[known]
    while len(shown) > 3 and 0 < 20 * np.ptp(shown[1:]) < np.ptp(shown):
        shown = shown[1:]
    if len(shown) < known.sum():
        room = 0.1 * np.ptp(shown)
        upper.set_ylim(shown.min() - room, shown.max() + room)
    upper.set_ylabel("log-likelihood")
    lower.plot(done, counts, ".-", drawstyle="steps-post", color=COLOURS[1], lw=1.6)
    lower.set(xlabel="sweep", ylabel="terms")
    lower.set_ylim(0, max(1.0, 1.15 * counts.max(initial=0)))
    lower.yaxis.set_major_locator(MaxNLocator(integer=True))
    for panel in (upper, lower):
        tidy(panel)
    if stages is not None:
        _mark_stages([upper, lower], done, stages)
    return [upper, lower]


def _mark_stages(panels: "list[Axes]", done: np.ndarray, stages: Sequence[str]) -> None:
    check_shape("stages", (len(stages),), done.shape, "Give one name for each pass.")
    for k in range(1, len(stages)):
        if stages[k] == stages[k - 1]:
            continue
        begin = (done[k - 1] + done[k]) / 2
        for panel in panels:
            panel.axvline(begin, color="black", lw=0.8, ls=":")
        panels[0].annotate(
            stages[k],
            (begin, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=9,
        )


def _autocorrelation(values: np.ndarray, lags: int) -> np.ndarray:
    """Autocorrelation from lag 1; pairs with a gap are left out."""
    away = values - np.nanmean(values) if np.isfinite(values).any() else values
    whole = np.nanmean(away**2) if np.isfinite(away).any() else np.nan
    found = np.full(lags, np.nan)
    for lag in range(1, min(lags, len(away) - 1) + 1):
        products = away[lag:] * away[:-lag]
        if np.isfinite(products).any() and whole > 0:
            found[lag - 1] = np.nanmean(products) / whole
    return found
