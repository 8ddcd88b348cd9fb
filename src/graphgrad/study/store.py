"""Results on disk: one SQLite file, one row per fit."""

import io
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .plan import Fits, Found, Study, together
from .tasks import Row, Task, granted, tasks_of

FORMAT = 0x67677374
"""Application id of the file."""

VERSION = 1

PATIENCE = 60.0
"""Seconds to wait for another process that writes."""

DAMAGE = (AttributeError, EOFError, KeyError, TypeError, ValueError)
"""Errors of rows that are not as they were written."""

REMEDIES = {
    "locked": "Another process writes it: wait for its end, or name another file.",
    "full": "Free some space; the same command then goes on where it was.",
    "readonly": "Make it writable, or name another file.",
}
"""What to do, by words in the message of SQLite."""

TABLE = """
CREATE TABLE fits (
    study TEXT NOT NULL,
    cell TEXT NOT NULL,
    configuration TEXT NOT NULL,
    method TEXT NOT NULL,
    seed INTEGER NOT NULL,
    metrics TEXT NOT NULL,
    seconds REAL NOT NULL,
    versions TEXT NOT NULL,
    coefficients BLOB,
    PRIMARY KEY (study, cell, configuration, method, seed)
)
"""


class Store:
    """Finished fits, in one file with one writer.

    Rows belong to the configuration that produced them: a cell or chunk that has
    changed since starts from scratch. Used as a context manager.

    Args:
        path: The file; created if it does not exist.
        create: Whether it may be created.
    """

    def __init__(self, path: Path, *, create: bool = True):
        if not create and not path.is_file():
            raise ValueError(
                f"`--store` must be a file of results, got {path}: no such file. "
                "`graphgrad reproduce NAME` creates one."
            )
        self._path = path
        with self._errors():
            self._connection = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None
            )
            self._prepare()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """The tasks that are still to be run."""
        with self._errors():
            return [task for task in tasks if not self._has(task)]

    def add(self, task: Task, rows: Iterable[Row]) -> None:
        """Write all rows of a task atomically."""
        whose = (task.study, task.cell.label, task.digest, task.method)
        values = [
            (
                *(*whose, row.seed, json.dumps(row.metrics), row.seconds),
                *(json.dumps(row.versions, sort_keys=True), _packed(row.coefficients)),
            )
            for row in rows
        ]
        holes = ", ".join("?" * 9)
        with self._errors(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                f"INSERT OR REPLACE INTO fits VALUES ({holes})", values
            )

    def found(self, study: Study, realisations: int) -> Found:
        """The stored results of a study in its current configuration, by column.

        Args:
            study: The study.
            realisations: Realisations with a higher index are left out.
        """
        columns = {cell.label: cell.column for cell in study.cells}
        parts = {}
        for (label, method), fits in self.of_cells(study, realisations).items():
            parts.setdefault((columns[label], method), []).append(fits)
        return {place: together(fits) for place, fits in parts.items()}

    def of_cells(self, study: Study, realisations: int) -> Found:
        """The same, by cell."""
        found = {}
        for task in tasks_of(study, 1):
            most = granted(study, task.method, realisations)
            with self._errors():
                fits = self._fits(task, most)
            if fits is not None:
                found[task.cell.label, task.method] = fits
        return found

    def _fits(self, task: Task, realisations: int) -> Fits | None:
        rows = self._connection.execute(
            "SELECT seed, metrics, seconds, versions, coefficients FROM fits WHERE "
            "study = ? AND cell = ? AND configuration = ? AND method = ? AND seed < ? "
            "ORDER BY seed",
            (task.study, task.cell.label, task.digest, task.method, realisations),
        ).fetchall()
        if not rows:
            return None
        parsed = [json.loads(row[1]) for row in rows]
        names = dict.fromkeys(name for metrics in parsed for name in metrics)
        kept = [_unpacked(row[4]) for row in rows if row[4] is not None]
        return Fits(
            seeds=np.array([row[0] for row in rows]),
            metrics={
                name: np.array([metrics.get(name, np.nan) for metrics in parsed])
                for name in names
            },
            seconds=np.array([row[2] for row in rows]),
            coefficients=np.stack(kept) if len(kept) == len(rows) else None,
            versions=tuple(map(json.loads, dict.fromkeys(row[3] for row in rows))),
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of SQLite, and of damaged rows, as those of the option."""
        try:
            yield
        except (sqlite3.Error, *DAMAGE) as error:
            remedies = (r for words, r in REMEDIES.items() if words in str(error))
            raise ValueError(
                f"`--store` must be a file of results that can be read and written, "
                f"got {self._path}: {error}. {next(remedies, 'Name another file.')}"
            ) from error

    def _prepare(self) -> None:
        execute = self._connection.execute
        [marked] = execute("PRAGMA application_id").fetchone()
        [version] = execute("PRAGMA user_version").fetchone()
        [tables] = execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables == 0 and marked == 0:
            # Readers do not wait for the writer, and commits are durable.
            execute("PRAGMA journal_mode = WAL")
            with self._connection:
                execute("BEGIN IMMEDIATE")
                execute(TABLE)
                execute(f"PRAGMA application_id = {FORMAT}")
                execute(f"PRAGMA user_version = {VERSION}")
            return
        if marked != FORMAT:
            raise sqlite3.DatabaseError("a database of something else")
        if version != VERSION:
            raise sqlite3.DatabaseError(
                f"its version is {version}, and this program reads {VERSION}"
            )

    def _has(self, task: Task) -> bool:
        [count] = self._connection.execute(
            "SELECT count(*) FROM fits WHERE study = ? AND cell = ? AND "
            "configuration = ? AND method = ? AND seed BETWEEN ? AND ?",
            (
                *(task.study, task.cell.label, task.digest, task.method),
                *(int(task.seeds[0]), int(task.seeds[-1])),
            ),
        ).fetchone()
        return count == len(task.seeds)


def _packed(array: Any) -> bytes | None:
    if array is None:
        return None
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _unpacked(data: bytes) -> np.ndarray:
    return np.load(io.BytesIO(data), allow_pickle=False)
