"""Figures of the study `real`."""

import io
from typing import Any

import numpy as np

from .peers import PEERS
from .runs import OURS, Results
from .scores import SetScores
from .sets import SETS

ACROSS = 5

COLOURS = {method: f"C{i}" for i, method in enumerate(PEERS)}
"""The same colour for a method in all panels."""


def errors(scores: dict[str, SetScores]) -> bytes:
    """Errors of all methods by horizon, one panel per set, as PNG."""
    figure, axes = _panels(len(scores), "Error in training deviations")
    for ax, (name, one) in zip(axes, scores.items(), strict=False):
        steps = SETS[name].horizons
        for method, values in one.scores.items():
            ours = method == OURS
            line = [score.error.value for score in values]
            ax.plot(
                steps,
                line,
                "o-" if ours else ".--",
                color="black" if ours else COLOURS[method],
                zorder=3 if ours else 2,
                label=method,
            )
            if ours:
                low, high = ([s.error[k] for s in values] for k in (1, 2))
                ax.fill_between(steps, low, high, color="black", alpha=0.1)
        finite = [
            s.error.value
            for values in one.scores.values()
            for s in values
            if np.isfinite(s.error.value)
        ]
        ax.set(title=name, ylim=(0, min(3.0, 1.1 * max(finite))), xticks=steps)
    fullest = max(axes, key=lambda ax: len(ax.get_legend_handles_labels()[1]))
    fullest.legend(fontsize=7)
    return _png(figure)


def forecasts(results: Results) -> bytes:
    """Held-out rows and our forecasts of the longest horizon, as PNG."""
    names = [name for name, method in results if method == OURS]
    figure, axes = _panels(len(names), "")
    for ax, name in zip(axes, names, strict=False):
        of, made = SETS[name], results[name, OURS].forecasts
        series = of.series()
        horizon, origins = max(of.horizons), of.origins(len(series.values))
        when = origins + horizon - 1
        ax.plot(when, series.values[when, 0], color="black", lw=1, label="observed")
        ax.plot(when, made[:, -1, 0, 0], lw=1, label="forecast")
        ax.fill_between(
            when, made[:, -1, 0, 1], made[:, -1, 0, 2], alpha=0.2, label="90 % band"
        )
        ax.set(title=f"{name}: {of.columns[0]}, {horizon} {of.unit}s ahead")
    axes[0].legend(fontsize=7)
    return _png(figure)


def _panels(n: int, label: str) -> tuple[Any, np.ndarray]:
    from matplotlib.figure import Figure

    rows = -(-n // ACROSS)
    figure = Figure(figsize=(3.2 * ACROSS, 2.6 * rows), layout="constrained")
    grid = figure.subplots(rows, ACROSS, squeeze=False)
    for ax in grid.ravel()[n:]:
        ax.set_visible(False)
    for row in grid:
        row[0].set_ylabel(label)
    return figure, grid.ravel()


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=100)
    return file.getvalue()
