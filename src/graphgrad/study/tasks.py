"""A task: one method on the realisations of one chunk of one cell."""

import hashlib
import importlib.metadata
import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..checks import check_choice
from .plan import Cell, Draws, Method, Study

PARTS = (
    *("graphgrad", "jax", "jaxlib", "numpy", "scikit-learn", "pysindy"),
    "statsmodels",
)
"""Packages whose versions may change results."""

ROOMS = (
    *("library/*.py", "model/*.py", "engines/*.py", "penalties/*.py"),
    *("solvers/**/*.py", "selection/*.py", "systems/*.py", "metrics.py"),
    *("registries.py", "data/*.py", "fits/*.py", "prediction/*.py"),
    *("study/draws.py", "study/scores.py", "study/flow_*.py", "study/methods/*.py"),
    *("estimator/*.py", "study/real/*.py"),
)
"""Code that may change results."""

GENERATION = "0.1.0"
"""Part of every digest. A change invalidates all stored results and tables; versions of
the package and its source are stored with every fit."""

Methods = Mapping[str, Method] | None
"""Methods by name; by default those of the project."""


@dataclass(frozen=True)
class Task:
    """Everything that a process needs to do its part.

    Attributes:
        study: Name of the study.
        cell: The cell itself.
        method: Name of the method.
        number: Index of the chunk.
        size: Realisations per chunk.
        until: Index of the realisation before which the last chunk ends.
        keep: Whether coefficients are kept.
    """

    study: str
    cell: Cell
    method: str
    number: int
    size: int
    until: int
    keep: bool = False

    @property
    def seeds(self) -> np.ndarray:
        """Its realisations: those of a full chunk do not depend on what is run."""
        first = self.number * self.size
        return np.arange(first, min(first + self.size, self.until))

    @property
    def digest(self) -> str:
        """Digest of what its numbers depend on, so that outdated rows are not used."""
        return configuration(self.cell, self.size)

    def __str__(self) -> str:
        first, last = self.seeds[0], self.seeds[-1]
        place = f"{self.study}, {self.cell.label}, {self.method}"
        return f"{place}, realisations {first} to {last}"


def configuration(cell: Cell, size: int) -> str:
    """Digest of a cell, the size of its chunks and the generation of results."""
    parts = [asdict(cell), size, GENERATION]
    text = json.dumps(parts, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Row(NamedTuple):
    """One fit, with metrics, or facts in words, by name."""

    seed: int
    metrics: dict[str, float] | dict[str, str]
    seconds: float
    versions: dict[str, str]
    coefficients: np.ndarray | None


class Outcome(NamedTuple):
    """Outcome of a task: rows, or an error in one line; and its seconds."""

    rows: list[Row]
    fault: str | None
    seconds: float


def tasks_of(
    study: Study,
    realisations: int,
    *,
    methods: Sequence[str] | None = None,
    cells: Sequence[str] | None = None,
) -> list[Task]:
    """Tasks of a study, by cell and chunk: methods share the data.

    Args:
        study: The study.
        realisations: Number per method, limited by the study.
        methods: Names of the methods to run; all if None.
        cells: Names of the cells to run: labels, columns, systems; all if None.
    """
    keep = study.keep_coefficients
    return [
        Task(study.name, cell, method, number, study.chunk, until, keep)
        for cell in study.cells
        if cells is None or not cell.names.isdisjoint(cells)
        for number in range(_chunks(study, realisations))
        for method in study.methods
        if methods is None or method in methods
        for until in [granted(study, method, realisations)]
        if number < _chunks(study, until)
    ]


def granted(study: Study, method: str, realisations: int) -> int:
    """Realisations of a method when that many are requested."""
    return min(realisations, study.most.get(method, realisations))


def _chunks(study: Study, realisations: int) -> int:
    return -(-realisations // study.chunk)


def attempt(
    task: Task,
    methods: Methods = None,
    work: Callable[[Task, Methods], list[Row]] | None = None,
) -> Outcome:
    """Run a task; exceptions become a fault, so that other tasks can continue.

    Args:
        task: The task.
        methods: Methods by name; by default those of the project.
        work: Runs it; by default `run_task`.
    """
    begin = time.perf_counter()
    rows, fault = [], None
    try:
        rows = (work or run_task)(task, methods)
    except Exception as error:
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = where and f" ({where.tb_frame.f_code.co_filename}:{where.tb_lineno})"
        fault = " ".join(f"{type(error).__name__}: {error}{place or ''}".split())
    return Outcome(rows, fault, time.perf_counter() - begin)


def run_task(task: Task, methods: Methods = None) -> list[Row]:
    """Draw the data of a chunk and fit them; one row per realisation.

    In double precision, unless the settings of the cell have `precision="single"`. BLAS
    uses one thread, as under Dask: with more, the last digits differ.
    """
    import jax
    import scipy.linalg  # noqa: F401  # loads its own BLAS

    from ..lapack_threads import one_lapack_thread

    if methods is None:
        from .methods import METHODS

        methods = METHODS
    check_choice("method", task.method, methods)
    double = task.cell.settings.get("precision") != "single"
    with jax.enable_x64(double), one_lapack_thread():
        draws = _data(task)
        begin = time.perf_counter()
        results = dict(methods[task.method](task.cell, draws))
        spent = (time.perf_counter() - begin) / len(task.seeds)
    coefficients = results.pop("coefficients", None)
    seconds = results.pop("seconds", np.full(len(task.seeds), spent))
    results.setdefault("rejected", draws.rejected)
    for name, values in results.items():
        if np.shape(values) != task.seeds.shape:
            raise ValueError(
                f"`{name}` of method {task.method!r} must have shape "
                f"{task.seeds.shape}, got {np.shape(values)}."
            )
    used = versions()
    return [
        Row(
            int(seed),
            {name: float(values[i]) for name, values in results.items()},
            float(seconds[i]),
            used,
            np.asarray(coefficients[i])
            if task.keep and coefficients is not None
            else None,
        )
        for i, seed in enumerate(task.seeds)
    ]


_drawn: dict[tuple[str, int, int], Draws] = {}
"""The data of the last task, which the next one often shares."""


def _data(task: Task) -> Draws:
    from .draws import draw

    key = (task.digest, int(task.seeds[0]), len(task.seeds))
    if key not in _drawn:
        _drawn.clear()
        _drawn[key] = draw(task.cell, task.seeds)
    made = _drawn[key]
    # Copies: a method may modify its data.
    return replace(
        made, states=made.states.copy(), observations=made.observations.copy()
    )


@cache
def versions() -> dict[str, str]:
    """Versions of what may change results, and the device."""
    import jax

    found = {"python": platform.python_version()}
    for part in PARTS:
        try:
            found[part] = importlib.metadata.version(part)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {**found, "source": _source(), "device": jax.devices()[0].device_kind}


def _source() -> str:
    """Digest of the code that determines results: a version may have many states."""
    home = Path(__file__).parent.parent
    found = hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in home.glob(room)):
        found.update(path.relative_to(home).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:8]
