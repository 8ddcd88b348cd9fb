"""Draw the pictures of the documentation: `python docs/scripts/make_figures.py`."""

from pathlib import Path

import jax
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.patches import FancyArrowPatch

import graphgrad as gg
from graphgrad.demo import hare_lynx_data
from graphgrad.graph import to_networkx

IMAGES = Path(__file__).parents[1] / "images"
STATES = ("position", "speed")
COLOURS = ("#1b6ca8", "#c8553d")
SPIN_UP = 500
"""Steps after which the state is on the attractor."""


def hare_lynx(model: gg.GraphGrad | None = None) -> None:
    """Pelts with smoothed states, the equations found, and their phase portrait.

    Args:
        model: A fit of theirs, if there is one already.
    """
    frame = pd.read_csv(hare_lynx_data())
    if model is None:
        model = gg.GraphGrad(degree=2).fit(frame)
    years = np.linspace(frame.time.min(), frame.time.max(), 401)
    states = model.smooth(at=years)
    bands = states.band(0.9)
    figure = plt.figure(figsize=(12, 4.9), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.4, 1), height_ratios=(1, 2.6))
    left = figure.add_subplot(grid[:, 0])
    for i, (name, colour) in enumerate(zip(("hare", "lynx"), COLOURS, strict=True)):
        left.fill_between(years, *bands[:, i].T, color=colour, alpha=0.25, lw=0)
        left.plot(years, states.mean[:, i], color=colour)
        left.plot(frame.time, frame[name], "o", color=colour, ms=5, label=name)
    left.set_title("In: 21 numbers a column (dots). Lines: smoothed, with 90 % bands")
    left.set(xlabel="year", ylabel="pelts taken, in thousands")
    left.set(xticks=range(1900, 1921, 5), xlim=(1899.5, 1920.5), ylim=(0, 95))
    left.legend(frameon=False, loc="upper right", ncols=2)
    left.spines[["top", "right"]].set_visible(False)

    words = figure.add_subplot(grid[0, 1])
    words.set_title("Out: the equations, with 90 % intervals")
    words.axis("off")
    text = "\n".join(_with_intervals(model, 0.9))
    words.text(0.5, 0.5, text, ha="center", va="center", family="monospace", size=11)

    right = figure.add_subplot(grid[1, 1])
    gg.plots.plot_phase(
        states.mean,
        data=frame[["hare", "lynx"]],
        rate=lambda x: model.numpy_function()(0.0, x),
        states=("hare", "lynx"),
        ax=right,
    )
    right.lines[0].set(color="0.3", markersize=8)
    right.lines[1].set(color="black")
    right.get_legend().remove()
    figure.savefig(IMAGES / "hare_lynx.png", dpi=110)


def _with_intervals(model: gg.GraphGrad, level: float) -> list[str]:
    """Lines of equations, each above a line with intervals of its coefficients."""
    ends = model.confidence_intervals(level)
    table = []
    for i, state in enumerate(model.state_names_):
        found, below = [f"d{state}/dt ="], [""]
        for number, j in enumerate(np.flatnonzero(model.coef_[i])):
            value, (low, high) = model.coef_[i, j], np.sort(np.abs(ends[i, j]))
            sign = "-" if value < 0 else "+" if number else " "
            found.append(f" {sign} {abs(value):#.2g} {model.terms_[j]}")
            below.append(f"   {low:#.2g} to {high:#.2g}")
        table += [found, below]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    return [
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    ]


def lorenz() -> None:
    """Noisy data and smoothed states, terms by price, the graph found."""
    system = gg.systems.lorenz63(dt=0.02)
    with jax.enable_x64(True):
        simulation = system.simulate(jax.random.key(0), steps=SPIN_UP + 200)
        ys = simulation.observations[SPIN_UP:]
        model = system.model(initial=simulation.states[SPIN_UP])
        found = gg.adaptive(jax.random.key(1), ys, model, learn=("state_noise",))
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(12, 3.8), layout="constrained", width_ratios=(1.3, 1.1, 1)
    )
    steps = np.arange(len(ys) + 1)
    colours = (*COLOURS, "#6a994e")
    spread = np.sqrt(np.diagonal(found.state_covariances, axis1=1, axis2=2))
    for i, (state, colour) in enumerate(zip(system.states, colours, strict=True)):
        left.plot(steps[1:], ys[:, i], ".", color=colour, alpha=0.5)
        mean = np.asarray(found.states[:, i])
        left.plot(steps, mean, color=colour, label=state)
        left.fill_between(
            steps,
            mean - 1.64 * spread[:, i],
            mean + 1.64 * spread[:, i],
            color=colour,
            alpha=0.25,
            lw=0,
        )
    left.set(title="noisy data in, smoothed states out", xlabel="step")
    left.legend(frameon=False, ncols=3)

    names, true = model.library.names(system.states), system.coefficients()
    prices = np.asarray(found.prices)
    sizes = np.asarray(found.path) / np.where(true == 0, 1, true)
    for i, j in np.ndindex(*true.shape):
        if true[i, j]:
            middle.semilogx(
                prices,
                sizes[:, i, j],
                color=colours[i],
                label=f"{names[j]} on x{i + 1}",
            )
    extra = (np.asarray(found.path) != 0)[:, true == 0].sum(axis=1)
    middle.step(prices, extra / 10, color="0.6", label="terms too many, in tens")
    price = np.log(ys.size) + 2 * np.log(true.size)
    middle.axvline(price, color="black", lw=0.8, ls=":")
    middle.invert_xaxis()
    middle.set(
        title="coefficients over their true values\nas prices fall (dotted: ours)",
        xlabel="price of a term",
    )
    middle.legend(frameon=False, fontsize=7)

    graph = to_networkx(found.coefficients, model.library, system.states)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    places = {"x1": (0.0, 0.0), "x2": (1.0, 0.0), "x3": (0.5, 0.8)}
    nx.draw_networkx(
        graph,
        places,
        ax=right,
        node_color=colours,
        node_size=1200,
        font_color="white",
        connectionstyle="arc3,rad=0.15",
        arrowsize=16,
    )
    right.set(title="who acts on whom", xlim=(-0.5, 1.5), ylim=(-0.75, 1.1))
    lines = gg.equations(
        found.coefficients, model.library, system.states, dynamics="flow"
    )
    right.text(0.5, -0.7, "\n".join(lines), ha="center", fontsize=8, family="monospace")
    right.axis("off")
    figure.savefig(IMAGES / "lorenz.png", dpi=110)


def oscillator() -> None:
    """Noisy data, how the paper's algorithm moved the coefficients, the graph."""
    truth = gg.systems.damped_oscillator().model(dynamics="map")
    ys = gg.simulate(jax.random.key(0), truth, steps=50).observations
    batches = []
    solution = gg.b_graphgrad(
        jax.random.key(100), ys, truth, gg.L1(3.0), callback=batches.append
    )
    fitted = truth.with_coefficients(solution.coefficients)
    means = gg.ParticleFilter(1000)(jax.random.key(2), fitted, ys).means

    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(12, 3.8), layout="constrained", width_ratios=(1.3, 1.1, 1)
    )
    steps = np.arange(1, len(ys) + 1)
    for i, (state, colour) in enumerate(zip(STATES, COLOURS, strict=True)):
        left.plot(steps, ys[:, i], ".", color=colour, alpha=0.6)
        left.plot(steps, means[:, i], color=colour, label=state)
    left.set(title="noisy data in, filtered states out", xlabel="step")
    left.legend(frameon=False)

    path = np.concatenate([np.asarray(solution.start)[None], *solution.path])
    lengths = [0, *solution.lengths]
    names = truth.library.names(STATES)
    true = np.asarray(truth.coefficients)
    for i, state in enumerate(STATES):
        for j, name in enumerate(names):
            colour = COLOURS[i] if true[i, j] else "0.7"
            middle.plot(lengths, path[:, i, j], "o-", ms=3, color=colour)
            middle.axhline(true[i, j], color=colour, lw=0.8, ls=":")
            if true[i, j]:
                middle.annotate(
                    f"{name} on {state}",
                    (lengths[-1], path[-1, i, j]),
                    xytext=(4, 5 if i == 0 else -14),
                    textcoords="offset points",
                    ha="right",
                    color=colour,
                    fontsize=8,
                )
    middle.set(
        title="coefficients, batch after batch\n(dotted: truth; grey: truly zero)",
        xlabel="observations used so far",
    )

    graph = to_networkx(solution.coefficients, truth.library, STATES)
    places = {"position": (0.0, 0.0), "speed": (1.0, 0.0)}
    between = [edge for edge in graph.edges if edge[0] != edge[1]]
    nx.draw_networkx(
        graph,
        places,
        ax=right,
        edgelist=between,
        node_color=COLOURS,
        node_size=2600,
        font_color="white",
        font_size=9,
        connectionstyle="arc3,rad=0.25",
        arrowsize=18,
    )
    for x, y in (places[state] for state, _ in nx.selfloop_edges(graph)):
        loop = FancyArrowPatch(
            (x - 0.1, y + 0.19),
            (x + 0.1, y + 0.19),
            connectionstyle="arc3,rad=-1.8",
            arrowstyle="-|>",
            mutation_scale=18,
            color="black",
        )
        right.add_patch(loop)
    right.set(title="who acts on whom", xlim=(-0.5, 1.5), ylim=(-0.7, 0.7))
    lines = gg.equations(solution.coefficients, truth.library, STATES)
    right.text(
        0.5, -0.62, "\n".join(lines), ha="center", fontsize=9, family="monospace"
    )
    right.axis("off")
    figure.savefig(IMAGES / "oscillator.png", dpi=110)


if __name__ == "__main__":
    hare_lynx()
    lorenz()
    oscillator()
