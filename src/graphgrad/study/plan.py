"""What a study is: cells, methods, and how many realisations each of them gets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Study:
    """A table of the paper, or one that answers it.

    Attributes:
        name: How `graphgrad reproduce` calls it.
        title: Heading of its table.
        cells: Its columns.
        methods: Names of the methods, in the order of the table.
        metrics: Names of the metrics that the table shows.
        drawn: Those in the figure, two at most; the first of the table if none is
            named.
        paper: What the paper printed: by row of its table, then by metric, one number
            a cell, NaN where there is none.
        most: Realisations that a method gets at most, where not all are affordable.
        chunk: Realisations that one call fits. Results may depend on it in the last
            digits, so it is fixed here, whatever the machine.
        axis: What `x` of the cells is.
        alone: Whether fits are timed, and run one after another on a quiet core.
        remarks: What a reader of the table must know.
        figure: Which of `figures.FIGURES` draws it.
        keep_coefficients: Whether the coefficients of every fit are stored, too.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...] = ("rmse", "f1", "precision", "recall", "specificity")
    drawn: tuple[str, ...] = ()
    paper: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    chunk: int = 10
    axis: str = "T"
    alone: bool = False
    remarks: tuple[str, ...] = ()
    figure: str = "ribbon"
    keep_coefficients: bool = False


@dataclass(frozen=True)
class Draws:
    """The data of one chunk.

    Attributes:
        system: That they were drawn from.
        seeds: `(n,)`. Number of each realisation; data and fit depend on it alone.
        states: `(n, T + 1, Nx)`.
        observations: `(n, T, Ny)`.
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
    """What is stored of one method in one cell.

    Attributes:
        seeds: `(n,)`, rising.
        metrics: By name, `(n,)`; NaN where a fit has none.
        seconds: `(n,)`.
        coefficients: `(n, Nx, M)`, if they were kept.
        versions: Each set of versions and devices that fits were made with.
    """

    seeds: np.ndarray
    metrics: Mapping[str, np.ndarray]
    seconds: np.ndarray
    coefficients: np.ndarray | None
    versions: tuple[Mapping[str, str], ...]


Found = Mapping[tuple[str, str], Fits]
"""Fits by label of the cell and name of the method."""
