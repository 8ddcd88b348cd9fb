"""The definition of a study: cells, methods and numbers of realisations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..systems import System

REALISATIONS = 150
"""The number of realisations in the paper."""


@dataclass(frozen=True)
class Cell:
    """One column of a table: a system, a length, a degree.

    Attributes:
        label: Column heading, such as `T=25`.
        x: Position of the cell on the axis of the figure.
        system: Name of the system in `graphgrad.systems`.
        options: Arguments of the system.
        steps: Number of observations.
        degree: Highest degree of the terms in the library.
        settings: Settings specific to methods of this study.
    """

    label: str
    x: float
    system: str
    options: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 100
    degree: int = 2
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def column(self) -> str:
        """Column of the table to which the cell belongs: its own, or a shared one."""
        return self.settings.get("column", self.label)

    @property
    def names(self) -> set[str]:
        """Names by which it can be selected: its label, its column, its system."""
        return {self.label, self.column, self.options.get("name", self.label)}


@dataclass(frozen=True)
class Study:
    """A table of the paper, or one that extends it.

    Attributes:
        name: Name for `graphgrad reproduce`.
        title: Heading of its table.
        cells: Its columns, or the cells that columns are made of.
        methods: Names of the methods, in the order of the table.
        metrics: Names of the metrics that the table shows.
        drawn: Metrics in the figure, two at most; by default the first of the table.
        paper: Values printed in the paper: by row of its table, then by metric, one
            number per column, NaN where there is none.
        printed_by: Source of the printed values.
        folder: Page of the documentation, and folder of its files.
        most: Maximum number of realisations per method, where not all are affordable.
        chunk: Realisations fitted in one call. Results may depend on it in the last
            digits, so it is fixed here, independent of the machine.
        axis: Label of the axis of `x`.
        alone: Whether fits are timed, and run one after another on an idle core.
        remarks: Notes below the table.
        figure: Which of `figures.FIGURES` draws it.
        panels: For a figure with panels: the axis label of each, and the positions of
            its columns.
        keep_coefficients: Whether to store the coefficients of every fit.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...] = ("rmse", "f1", "precision", "recall", "specificity")
    drawn: tuple[str, ...] = ()
    paper: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    printed_by: str = "paper"
    folder: str = "paper"
    most: Mapping[str, int] = field(default_factory=dict)
    chunk: int = 10
    axis: str = "T"
    alone: bool = False
    remarks: tuple[str, ...] = ()
    figure: str = "ribbon"
    panels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    keep_coefficients: bool = False

    @property
    def columns(self) -> tuple[Cell, ...]:
        """Columns of the table: cells, each with all that share its column."""
        first = {cell.column: cell for cell in reversed(self.cells)}
        order = dict.fromkeys(cell.column for cell in self.cells)
        return tuple(replace(first[name], label=name) for name in order)


@dataclass(frozen=True)
class Draws:
    """The data of one chunk.

    Attributes:
        system: The system they were drawn from.
        seeds: `(n,)`. Index of each realisation; it determines data and fit.
        states: `(n, T + 1, Nx)`; of flows `(n, T, Nx)`, at the times of the rows.
        observations: `(n, T, Ny)`, or `(n, series, T, Ny)`.
        rejected: `(n,)`. Number of rejected (divergent) draws before this one.
    """

    system: System
    seeds: np.ndarray
    states: np.ndarray
    observations: np.ndarray
    rejected: np.ndarray


Results = dict[str, np.ndarray]
"""Metrics by name, one number per realisation.

`seconds` overrides the time measured around the method, and `coefficients`, `(n, Nx,
M)`, are stored if the study keeps them.
"""

Method = Callable[[Cell, Draws], Results]
"""Fits all realisations of a chunk and scores them."""


@dataclass(frozen=True)
class Fits:
    """The stored results of one method in one cell, or in the cells of a column.

    Attributes:
        seeds: `(n,)`, ascending.
        metrics: By name, `(n,)`; NaN where missing.
        seconds: `(n,)`.
        coefficients: `(n, Nx, M)`, if they were kept.
        versions: Each set of versions and devices used for the fits.
        groups: `(n,)`. Index of the cell of each fit; None for a single cell.
    """

    seeds: np.ndarray
    metrics: Mapping[str, np.ndarray]
    seconds: np.ndarray
    coefficients: np.ndarray | None
    versions: tuple[Mapping[str, str], ...]
    groups: np.ndarray | None = None


Found = Mapping[tuple[str, str], Fits]
"""Fits by column, or label of the cell, and name of the method."""


def together(parts: Sequence[Fits]) -> Fits:
    """The fits of several cells merged into one; a single cell is unchanged."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.metrics)
    sizes = [len(part.seeds) for part in parts]

    def values(part: Fits, name: str) -> np.ndarray:
        return part.metrics.get(name, np.full(len(part.seeds), np.nan))

    return Fits(
        seeds=np.arange(sum(sizes)),
        metrics={
            name: np.concatenate([values(part, name) for part in parts])
            for name in names
        },
        seconds=np.concatenate([part.seconds for part in parts]),
        coefficients=None,  # they belong to several systems
        versions=tuple(
            {str(used): used for part in parts for used in part.versions}.values()
        ),
        groups=np.repeat(np.arange(len(parts)), sizes),
    )
