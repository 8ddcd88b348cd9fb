"""What a study is: cells, methods, and how many realisations each of them gets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..systems import System

REALISATIONS = 150
"""As many as the paper has."""


@dataclass(frozen=True)
class Cell:
    """One column of a table: a system, a length, a degree.

    Attributes:
        label: What stands above the column, such as `T=25`.
        x: Where the cell stands on the axis of the figure.
        system: Name of the system in `graphgrad.systems`.
        options: What the system is called with.
        steps: Number of observations.
        degree: Highest degree of the terms that a method may use.
        settings: What methods of this study alone want to know.
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
        """Column of the table that it is counted in: its own, or one it shares."""
        return self.settings.get("column", self.label)

    @property
    def names(self) -> set[str]:
        """What it may be asked for by: its label, its column, its system's name."""
        return {self.label, self.column, self.options.get("name", self.label)}


@dataclass(frozen=True)
class Study:
    """A table of the paper, or one that answers it.

    Attributes:
        name: How `graphgrad reproduce` calls it.
        title: Heading of its table.
        cells: Its columns, or what they are made of.
        methods: Names of the methods, in the order of the table.
        metrics: Names of the metrics that the table shows.
        drawn: Those in the figure, two at most; the first of the table if none is
            named.
        paper: What the paper printed: by row of its table, then by metric, one number
            a column, NaN where there is none.
        printed_by: Who printed it.
        folder: Page of the documentation that it is on, and folder of its files there.
        most: Realisations that a method gets at most, where not all are affordable.
        chunk: Realisations that one call fits. Results may depend on it in the last
            digits, so it is fixed here, whatever the machine.
        axis: What `x` of the cells is.
        alone: Whether fits are timed, and run one after another on a quiet core.
        remarks: What a reader of the table must know.
        figure: Which of `figures.FIGURES` draws it.
        panels: Of a figure by panels: what is on the axis of each, and where its
            columns stand there.
        keep_coefficients: Whether the coefficients of every fit are stored, too.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...] = ("rmse", "f1", "precision", "recall", "specificity")
    drawn: tuple[str, ...] = ()
    paper: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    printed_by: str = "paper"
    folder: str = "reproducing"
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
        """Columns of the table: cells, each for all that are counted with it."""
        first = {cell.column: cell for cell in reversed(self.cells)}
        order = dict.fromkeys(cell.column for cell in self.cells)
        return tuple(replace(first[name], label=name) for name in order)


@dataclass(frozen=True)
class Draws:
    """The data of one chunk.

    Attributes:
        system: That they were drawn from.
        seeds: `(n,)`. Number of each realisation; data and fit depend on it alone.
        states: `(n, T + 1, Nx)`; of flows `(n, T, Nx)`, at the times of the rows.
        observations: `(n, T, Ny)`, or `(n, series, T, Ny)`.
        rejected: `(n,)`. Draws that ran away before this one.
    """

    system: System
    seeds: np.ndarray
    states: np.ndarray
    observations: np.ndarray
    rejected: np.ndarray


Results = dict[str, np.ndarray]
"""Metrics by name, one number a realisation.

`seconds` replaces the time that is measured around the method, and `coefficients`,
`(n, Nx, M)`, are stored where the study keeps them.
"""

Method = Callable[[Cell, Draws], Results]
"""Fits all realisations of a chunk and scores them."""


@dataclass(frozen=True)
class Fits:
    """What is stored of one method in one cell, or in those of a column.

    Attributes:
        seeds: `(n,)`, rising.
        metrics: By name, `(n,)`; NaN where a fit has none.
        seconds: `(n,)`.
        coefficients: `(n, Nx, M)`, if they were kept.
        versions: Each set of versions and devices that fits were made with.
        groups: `(n,)`. Which of several cells each belongs to; None for a single one.
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
    """The fits of several cells as those of one; of a single cell as they are."""
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
        coefficients=None,  # of several systems
        versions=tuple(
            {str(used): used for part in parts for used in part.versions}.values()
        ),
        groups=np.repeat(np.arange(len(parts)), sizes),
    )
