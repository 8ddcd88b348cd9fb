"""The folder of a run: written atomically, and read."""

import csv
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from stat import S_ISREG
from tempfile import gettempdir
from typing import Any

import numpy as np
from jaxtyping import Float

from ..files import (
    ASIDE,
    abandoned_folders,
    beside,
    check_path,
    exchange,
    held,
    is_temporary,
    temporary_name,
)
from ..shown_text import as_cell

HEADER = "model.json"
FILES = (
    *(HEADER, "arrays.npz", "config.toml"),
    *("graph.graphml", "states.csv", "report.html"),
)
"""Files of a run; other files in its folder are never changed."""

BLOCK = 65_536
"""Rows that are written at a time."""


def check_out(out: Path, *, force: bool) -> str | None:
    """Check before a fit that its folder can be written.

    Returns:
        What `put` compares with the run that is in the folder after the fit.
    """
    check_path("--out", out)
    here = Path.cwd()
    if out.resolve() in (here, *here.parents):
        raise ValueError(f"`--out` must be a folder of its own, got {out}. Name one.")
    sweep_folders(out)
    _check_replaceable(out, force=force)
    try:
        with new_folder(out):
            pass
    except OSError as error:
        raise ValueError(
            f"`--out` must be a folder that can be written, got {out}: "
            f"{error.strerror}. Choose another place."
        ) from None
    return _run_in(out)


def _check_replaceable(out: Path, *, force: bool) -> None:
    """Check that a path is new, an empty folder or, with `force`, that of a run."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"`--out` must be a folder, got {out}: a file.")
    entries = list(out.iterdir()) if out.is_dir() else []
    if entries and not (out / HEADER).is_file():
        raise ValueError(
            f"`--out` must be a new folder or that of a run, got {out}, which holds "
            "other files. Choose another name."
        )
    if entries and not force:
        raise ValueError(
            f"`--out` must be a new folder, got {out}, which holds a run. Choose "
            "another name, or replace it with --force."
        )
    for entry in entries:
        if entry.name in FILES and not S_ISREG(entry.lstat().st_mode):
            raise ValueError(
                f"`--out` must hold the files of a run, got {out}, whose {entry.name} "
                "is a link or a folder. Move it, or choose another name."
            )


def _run_in(out: Path) -> str | None:
    """Hash of the header of a run in a folder, which tells runs apart."""
    header = out / HEADER
    return sha256(header.read_bytes()).hexdigest() if header.is_file() else None


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """An empty folder next to `out`, removed afterwards unless `put` renamed it."""
    out = out.resolve()
    temporary = temporary_name(out)
    above = [parent for parent in out.parents if not parent.exists()]
    try:
        with held(temporary):
            yield temporary
    finally:
        _remove_run(temporary)
        for folder in above:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def put(temporary: Path, out: Path, *, force: bool, former: str | None) -> None:
    """Rename a folder to `out`; replaces the files of a run there, moves others.

    Args:
        temporary: The folder; afterwards it has the former run, to be removed.
        out: Its name.
        force: Whether to replace a run.
        former: That run, from `check_out`; another fit's is never replaced.

    Raises:
        ValueError: The folder has changed since, such as by another fit.
        OSError: It cannot be renamed, or something in it not moved. It is as before.
    """
    out = out.resolve()
    if not out.is_dir():
        os.rename(temporary, out)  # fails if there is a run by now
        return
    _check_replaceable(out, force=force)
    shutil.copymode(out, temporary)
    exchange(temporary, out)
    moved = []
    try:
        if _run_in(temporary) != former:
            raise ValueError(
                f"`--out` must be the folder as it was, got {out}, which another fit "
                "wrote meanwhile. Choose another name."
            )
        for entry in _others(temporary):
            os.rename(entry, out / entry.name)
            moved.append(entry)
    except BaseException:
        for entry in moved:
            os.rename(out / entry.name, entry)
        exchange(temporary, out)
        raise


def sweep_folders(out: Path) -> None:
    """Remove what runs left that were killed as they wrote `out`.

    Files of others, which such a run was about to move, go to the run, unless it has
    some of the same name.
    """
    out = out.resolve()
    for folder in abandoned_folders(out):
        with suppress(OSError):
            if folder.name.endswith(ASIDE) and not out.exists():
                os.rename(folder, out)
                continue
            for entry in _others(folder):
                if out.is_dir() and not os.path.lexists(out / entry.name):
                    os.rename(entry, out / entry.name)
            _remove_run(folder)


def _remove_run(folder: Path) -> None:
    """Remove a folder and the files of a run in it, but nothing of others."""
    with suppress(OSError):
        others = set(_others(folder))
        for entry in folder.iterdir():
            if entry not in others:
                entry.unlink()
        folder.rmdir()


def _others(folder: Path) -> list[Path]:
    """What is in a folder but not a file of a run, finished or not."""
    return [
        entry
        for entry in folder.iterdir()
        if entry.name not in FILES
        and not any(is_temporary(entry.name, folder / name) for name in FILES)
    ]


def free_name(path: Path) -> Path:
    """The first of path, path-2, ... that does not exist."""
    tries = (path if i == 1 else path.with_name(f"{path.name}-{i}") for i in count(1))
    return next(each for each in tries if not os.path.lexists(each))


def places(out: Path) -> Iterator[Path]:
    """Folders for a result, in the order in which they are tried."""
    yield out
    yield free_name(out.resolve())
    for other in (Path.cwd(), Path(gettempdir()), Path.home()):
        yield free_name(other / f"graphgrad-{out.resolve().name}")


def write_bands(
    file: Any,
    clock: tuple[str, Sequence[Any]],
    names: Sequence[str],
    mean: Float[np.ndarray, "T Nx"],
    band: Float[np.ndarray, "T Nx 2"],
) -> None:
    """Write a CSV table of times, means, and lower and upper ends.

    Args:
        file: File to write.
        clock: Name of the column of times, and the times.
        names: Names of the states.
        mean: One row per time.
        band: Ends of the bands.
    """
    parts = [[name, f"{name}_low", f"{name}_high"] for name in map(as_cell, names)]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([as_cell(clock[0]), *(name for part in parts for name in part)])
    table = np.concatenate([mean[..., None], band], axis=-1).reshape(len(mean), -1)
    for begin in range(0, len(table), BLOCK):  # numbers of Python take much memory
        rows = table[begin : begin + BLOCK].tolist()
        times = clock[1][begin : begin + BLOCK]
        writer.writerows([when, *row] for when, row in zip(times, rows, strict=True))


def check_file(out: Path | None, *, force: bool) -> None:
    """Check before the computation that its file can be written."""
    if out is None:
        return
    check_path("--out", out)
    if out.is_dir():
        raise ValueError(f"`--out` must be a file, got {out}: a folder.")
    if out.exists() and not force:
        raise ValueError(
            f"`--out` must be a new file, got {out}, which exists. Choose another "
            "name, or replace it with --force."
        )
    try:
        with beside(out.resolve()) as temporary:
            temporary.touch()
    except OSError:
        raise ValueError(
            f"`--out` must be in a folder that can be written, got {out}. Create the "
            "folder, or choose another place."
        ) from None


@contextmanager
def new_file(out: Path | None) -> Iterator[Any]:
    """A text file that is written atomically; standard output if None."""
    if out is None:
        yield sys.stdout
        return
    try:
        with beside(out.resolve()) as temporary:
            with temporary.open("x", newline="", encoding="utf-8") as file:
                yield file
            os.replace(temporary, out.resolve())
    except OSError as error:
        raise ValueError(
            f"`--out` must be a file that can be written, got {out}: {error.strerror}. "
            "Choose another place."
        ) from None
