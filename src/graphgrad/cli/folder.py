"""The folder of a run: written atomically, and read."""

import csv
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from .. import storage
from ..files import beside
from ..registries import DYNAMICS

HEADER = "model.json"
FILES = (
    *(HEADER, "arrays.npz", "config.toml"),
    *("graph.graphml", "states.csv", "report.html"),
)
"""Files of a run; other files in its folder are never changed."""

BLOCK = 65_536
"""Rows that are written at a time."""


def check_out(out: Path, *, force: bool) -> None:
    """Check before a fit that its folder can be written."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"`--out` must be a folder, got {out}: a file.")
    here = Path.cwd()
    if out.resolve() in (here, *here.parents):
        raise ValueError(f"`--out` must be a folder of its own, got {out}. Name one.")
    full = out.is_dir() and any(out.iterdir())
    if full and not (out / HEADER).is_file():
        raise ValueError(
            f"`--out` must be a new folder or that of a run, got {out}, which holds "
            "other files. Choose another name."
        )
    if full and not force:
        raise ValueError(
            f"`--out` must be a new folder, got {out}, which holds a run. Choose "
            "another name, or replace it with --force."
        )
    try:
        with new_folder(out):
            pass
    except OSError as error:
        raise ValueError(
            f"`--out` must be a folder that can be written, got {out}: "
            f"{error.strerror}. Choose another place."
        ) from None


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """An empty folder next to `out`, removed afterwards unless `put` renamed it."""
    out = out.resolve()
    above = [parent for parent in out.parents if not parent.exists()]
    try:
        with beside(out) as temporary:
            temporary.mkdir(parents=True)
            yield temporary
    finally:
        for folder in above:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def put(temporary: Path, out: Path) -> None:
    """Rename a folder to `out`; replaces the files of a run there, keeps others."""
    out = out.resolve()
    if not out.is_dir():
        os.rename(temporary, out)
        return
    for other in out.iterdir():
        if other.name not in FILES:
            copy = shutil.copytree if other.is_dir() else shutil.copy2
            copy(other, temporary / other.name)
    old = temporary.with_name(f"{temporary.name}.old")
    os.rename(out, old)
    try:
        os.rename(temporary, out)
    except BaseException:
        os.rename(old, out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def read_header(folder: Path) -> dict[str, Any]:
    """`model.json` of a run."""
    if not (folder / HEADER).is_file():
        reason = f"it has no {HEADER}" if folder.is_dir() else "no such folder"
        raise ValueError(
            f"`run` must be the folder of a run, got {folder}: {reason}. "
            "`graphgrad fit` writes one."
        )
    header = storage.read(folder)[0]
    if header.get("dynamics") not in DYNAMICS:
        raise ValueError(
            f"`run` must be the folder of a run, got {folder}: its {HEADER} has "
            f"unknown dynamics, {header.get('dynamics')!r:.40}."
        )
    return header


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
    parts = [[name, f"{name}_low", f"{name}_high"] for name in names]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([clock[0], *(name for part in parts for name in part)])
    table = np.concatenate([mean[..., None], band], axis=-1).reshape(len(mean), -1)
    for begin in range(0, len(table), BLOCK):  # numbers of Python take much memory
        rows = table[begin : begin + BLOCK].tolist()
        times = clock[1][begin : begin + BLOCK]
        writer.writerows([when, *row] for when, row in zip(times, rows, strict=True))


def check_file(out: Path | None, *, force: bool) -> None:
    """Check before the computation that its file can be written."""
    if out is None:
        return
    if out.is_dir():
        raise ValueError(f"`--out` must be a file, got {out}: a folder.")
    if out.exists() and not force:
        raise ValueError(
            f"`--out` must be a new file, got {out}, which exists. Choose another "
            "name, or replace it with --force."
        )
    folder = out.absolute().parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise ValueError(
            f"`--out` must be in a folder that can be written, got {out}. Create the "
            "folder, or choose another place."
        )


@contextmanager
def new_file(out: Path | None) -> Iterator[Any]:
    """A text file that is written atomically; standard output if None."""
    if out is None:
        yield sys.stdout
        return
    with beside(out.resolve()) as temporary:
        with temporary.open("x", newline="", encoding="utf-8") as file:
            yield file
        os.replace(temporary, out.resolve())
