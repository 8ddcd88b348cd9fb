"""The figure of a study: means and 95 % ribbons against the varied setting."""

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from ..plots.style import COLOURS, tidy
from .blocks import SHARE, Block, Line, blocks, metric
from .plan import Found, Study
from .summary import Summaries
from .wording import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 2
"""Metrics that are drawn."""

FEW = 5
"""Minimum number of fits for a ribbon: the wide intervals of fewer hide the rest."""

MARKERS = "os^Dv<>ph"


def ribbon(study: Study, table: Summaries, _: Found) -> "Figure":
    """Mean and 95 % interval of the first metrics, one line per method.

    Values printed in the paper are black.
    """
    from matplotlib.figure import Figure

    by_name = {block.name: block for block in blocks(study, table)}
    names = study.drawn or study.metrics
    drawn = [_shown(name, by_name) for name in names if name in by_name][:PANELS]
    figure = Figure(figsize=(3 + 4 * max(1, len(drawn)), 4.2), layout="constrained")
    row = figure.subplots(1, max(1, len(drawn)), squeeze=False)[0]
    order = _order(study)
    for panel, block in zip(row, drawn, strict=False):
        _panel(panel, study, block, order)
    _legend(figure, row)
    figure.suptitle(study.title, fontsize=11)
    return figure


def _legend(figure: "Figure", panels: "Iterable[Axes]") -> None:
    handles = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside right center",
            frameon=False,
            fontsize=9,
        )


def _shown(name: str, by_name: dict[str, Block]) -> Block:
    """The metric as drawn: medians if the paper's printed values are means."""
    block, means = by_name[name], by_name.get(name.removesuffix("_median"))
    if means is None or means is block:
        return block
    printed = (line for line in means.lines if line.printed)
    return block._replace(lines=(*printed, *block.lines))


def panels(study: Study, table: Summaries, _: Found) -> "Figure":
    """One row of panels for each of the first metrics, one column per setting."""
    from matplotlib.figure import Figure

    by_name = {block.name: block for block in blocks(study, table)}
    names = study.drawn or study.metrics
    drawn = [_shown(name, by_name) for name in names if name in by_name][:PANELS]
    tall, wide = max(1, len(drawn)), len(study.panels)
    size = (2.5 + 3.2 * max(wide, 2), 1 + 2.9 * tall)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(tall, wide, squeeze=False, sharey="row")
    order = _order(study)
    for row, block in zip(grid, drawn, strict=False):
        for panel, (axis, places) in zip(row, study.panels.items(), strict=True):
            _panel(panel, *_part(study, block, axis, places), order)
            if panel is not row[0]:
                panel.set_ylabel("")
        # Panels of a row share one scale.
        if block.metric.format == SHARE:
            row[0].set_ylim(-0.03, 1.03)
        else:
            row[0].autoscale(axis="y")
            _scale(row[0], block)
    _legend(figure, [panel for row in grid for panel in row])
    figure.suptitle(study.title, fontsize=11)
    return figure


def _part(
    study: Study, block: Block, axis: str, places: Mapping[str, float]
) -> tuple[Study, Block]:
    """Contents of one panel: some columns, at their positions."""
    at = [i for i, cell in enumerate(study.columns) if cell.label in places]
    cells = [study.columns[i] for i in at]
    part = replace(
        study,
        cells=tuple(replace(c, x=places[c.label], settings={}) for c in cells),
        axis=axis,
    )
    lines = (
        line._replace(values=tuple(line.values[i] for i in at)) for line in block.lines
    )
    return part, block._replace(lines=tuple(lines))


def intervals(study: Study, table: Summaries, _: Found) -> "Figure":
    """A value and its interval in the first column, one line per method.

    The first drawn metric is the value; the metrics with the suffixes `_low` and
    `_high` are the limits.
    """
    from matplotlib.figure import Figure

    by_name = {block.name: block for block in blocks(study, table)}
    name = study.drawn[0]
    ends = (name, f"{name}_low", f"{name}_high")
    found = [
        {line.name: line for line in by_name[end].lines} if end in by_name else {}
        for end in ends
    ]
    shown = [line for line in found[0] if all(line in lines for lines in found)]
    figure = Figure(figsize=(8, 1 + 0.45 * max(len(shown), 2)), layout="constrained")
    panel = figure.subplots()
    for place, line in enumerate(reversed(shown)):
        middle, low, high = (_first(lines[line]) for lines in found)
        colour = "black" if found[0][line].printed else COLOURS[0]
        panel.errorbar(
            *(middle, place),
            xerr=[[middle - low], [high - middle]],
            color=colour,
            marker="o",
            capsize=3,
        )
    panel.set_yticks(range(len(shown)), shown[::-1])
    panel.set_xlabel(metric(name).heading)
    tidy(panel)
    figure.suptitle(study.title, fontsize=11)
    return figure


def _first(line: Line) -> float:
    return np.nan if line.values[0] is None else line.values[0].value


def graphs(study: Study, _: Summaries, found: Found) -> "Figure":
    """The true graph and the estimated one."""
    from .graphs import graphs as draw

    return draw(study, found)


FIGURES: "dict[str, Callable[[Study, Summaries, Found], Figure]]" = {
    "ribbon": ribbon,
    "panels": panels,
    "intervals": intervals,
    "graphs": graphs,
}


def png(study: Study, table: Summaries, found: Found) -> bytes:
    """Write the figure of a study to a file.

    Args:
        study: The study.
        table: Summary of its fits.
        found: The stored fits.
    """
    file = io.BytesIO()
    FIGURES[study.figure](study, table, found).savefig(file, format="png", dpi=110)
    return file.getvalue()


def _order(study: Study) -> dict[str, int]:
    """Indices of the methods, for their colours: the same in all studies."""
    bases = {
        name: name.removesuffix("-states").removesuffix("-time")
        for name in study.methods
    }
    order = {name: METHODS.index(b) for name, b in bases.items() if b in METHODS}
    free = (i for i in count() if i not in order.values())
    return {
        name: order[name] if name in order else next(free) for name in study.methods
    }


def _panel(panel: "Axes", study: Study, block: Block, order: dict[str, int]) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    xs = np.array([cell.x for cell in study.columns], dtype=float)
    printed = 0
    for line in block.lines:
        if line.printed:
            _draw(panel, xs, line, block, "black", MARKERS[printed], ":")
            printed += 1
        else:
            i = order[line.name]
            style = "-" if i < len(COLOURS) else "--"
            if study.axis == "cell":
                style = ""  # cells are not connected
            _draw(
                panel, xs, line, block, COLOURS[i % len(COLOURS)], MARKERS[i % 9], style
            )
    _scale(panel, block)
    if (xs > 0).all() and xs.max() >= 8 * xs.min():
        panel.set_xscale("log")
    ticks = [f"{cell.x:g}" for cell in study.columns]
    if study.axis == "cell":
        ticks = [cell.label.replace(" T=", "\nT=") for cell in study.columns]
    panel.xaxis.set_major_locator(FixedLocator(xs.tolist()))
    panel.xaxis.set_major_formatter(FixedFormatter(ticks))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set(xlabel=study.axis, ylabel=block.metric.heading)
    tidy(panel)


def _scale(panel: "Axes", block: Block) -> None:
    """Limits of a share; logarithmic scale for values over several decades."""
    heights = np.array(
        [v.value for line in block.lines for v in line.values if v is not None]
    )
    heights = heights[np.isfinite(heights)] / block.metric.unit
    low, high = (heights.min(), heights.max()) if len(heights) else (0, 0)
    if block.metric.format == SHARE:
        ends = panel.get_ylim()
        panel.set_ylim(max(ends[0], -0.03), min(ends[1], 1.03))  # a share is at most 1
    elif low > 0 and high > 20 * low:
        panel.set_yscale("log", nonpositive="clip")
        panel.set_ylim(low / 2, high * 2)


def _draw(
    panel: "Axes",
    xs: np.ndarray,
    line: Line,
    block: Block,
    colour: str,
    marker: str,
    style: str,
) -> None:
    pairs = [(np.nan, np.nan) if v is None else (v.value, v.half) for v in line.values]
    mean, half = np.array(pairs).T / block.metric.unit
    face = "white" if line.printed else colour
    panel.plot(
        *(xs, mean),
        linestyle=style,
        color=colour,
        marker=marker,
        markerfacecolor=face,
        ms=5,
        label=line.name,
    )
    half = np.nan_to_num(half)
    few = any(v is not None and v.known < FEW for v in line.values)
    if len(xs) == 1 or not style or (few and not line.printed):
        panel.errorbar(xs, mean, half, color=colour, capsize=3, fmt="none")
    elif not line.printed:
        panel.fill_between(xs, mean - half, mean + half, color=colour, alpha=0.18, lw=0)
