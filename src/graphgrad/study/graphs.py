"""The estimated graph of each method and the true one: the paper's graph figures."""

from typing import TYPE_CHECKING

from ..graph import compare_graphs, to_networkx
from ..plots import plot_graph
from .draws import system_of
from .plan import Found, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ZERO = 1e-6


def graphs(study: Study, found: Found) -> "Figure":
    """The true graph, then that of the first realisation of each method.

    Links with right terms are blue, those with wrong terms red, invented ones in
    another colour and missed ones dashed. Only the last cell is drawn.
    """
    from matplotlib.figure import Figure

    cell = study.cells[-1]
    system = system_of(cell, 0)
    library = system.library(cell.degree)
    truth = system.coefficients(cell.degree, dynamics="map")
    drawn = [
        (method, fits.coefficients[0])
        for method in study.methods
        if (fits := found.get((cell.label, method))) is not None
        and fits.coefficients is not None
        and len(fits.coefficients)
    ]
    side = 4.5 if system.n_states < 10 else 6.5
    figure = Figure(figsize=(side * (1 + len(drawn)), side), layout="constrained")
    panels = figure.subplots(1, 1 + len(drawn), squeeze=False)[0]
    plot_graph(to_networkx(truth, library, system.states), ax=panels[0])
    panels[0].set_title("truth")
    for panel, (method, estimate) in zip(panels[1:], drawn, strict=True):
        compared = compare_graphs(
            estimate, truth, library, system.states, zero_threshold=ZERO
        )
        graph = to_networkx(estimate, library, system.states, zero_threshold=ZERO)
        plot_graph(graph, comparison=compared, ax=panel)
        counts = compared.counts
        panel.set_title(
            f"{method}: {counts['right']} right, {counts['wrong terms']} with wrong "
            f"terms,\n{counts['missed']} missed, {counts['invented']} invented",
            fontsize=10,
            pad=14,  # the terms of a loop are above its node
        )
    figure.suptitle(f"{study.title}, {cell.label}\n", fontsize=11)
    return figure
