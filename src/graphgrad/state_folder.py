"""The folder of a fit that is under way: what it has computed, stage by stage.

A file has numbers as they are in memory, after their checksum. How many they are, and
of which types, is known to who reads them: nothing of this is taken from a file.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .files import claimed, write_whole

HEADER = "fit.json"
FORMAT = "graphgrad-state/1"

LONGEST_HEADER = 10_000
"""Most bytes of a header."""

PART = ".part"
"""End of the name of a stage that has not ended."""

CHECKSUM = 32
"""Bytes of a checksum, at the beginning of a file."""

_NAME = rf"(fit\.json|[0-9a-f]{{64}}({re.escape(PART)})?)"
OURS = re.compile(rf"{_NAME}|\.{_NAME}\.[0-9a-f]{{8}}")
"""Names of the files of a state, and of those that are being written."""


class Kind(NamedTuple):
    """Type and shape of an array."""

    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.dtype.itemsize * math.prod(self.shape)


class StateFolder:
    """The state of a fit on disk.

    Args:
        path: The folder, which need not exist.
        argument: Argument that named it, for messages.

    Attributes:
        exists: Whether it has the state of this fit.
    """

    def __init__(self, path: Path, argument: str):
        self.path = path
        self.exists = False
        self._argument = argument
        self._identity: dict[str, str] = {}
        self._claim: int | None = None

    def open(self, identity: Mapping[str, str]) -> None:
        """Take the state that is there, if any.

        Args:
            identity: What the fit depends on, by what it is called in messages.

        Raises:
            ValueError: The folder has another state or none, or another process fits.
        """
        self._identity = dict(identity)
        if not os.path.lexists(self.path):
            return
        found = self._claimed_header()
        if found is None:  # killed before anything was written
            _remove(self.path)
            return
        for what, value in self._identity.items():
            if found.get(what) != value:
                raise self._fault(f"it is of a fit with other {what}")
        self.exists = True

    def discard(self) -> None:
        """Remove a state that is not gone on with."""
        self._claimed_header()
        self.exists = True
        self.remove()

    def read(
        self, name: str, kinds: Sequence[Kind], *, most_rows: int | None
    ) -> list[np.ndarray] | None:
        """The arrays of a name, or None if there are none.

        Args:
            name: Name of the file.
            kinds: Types and shapes.
            most_rows: Most rows of the last array; None if it has those of its kind.
        """
        path = self.path / name
        if not self.exists or not path.exists():
            return None
        *most, last = kinds
        found = path.stat().st_size - CHECKSUM - sum(kind.size for kind in most)
        if most_rows is not None:
            row = last._replace(shape=last.shape[1:])
            rows = min(max(found, 0) // row.size, most_rows)
            last = last._replace(shape=(rows, *row.shape))
        if found != last.size:  # before anything is read
            raise self._fault(f"{name} has another length")
        content = memoryview(path.read_bytes())
        if content[:CHECKSUM] != _checksum(name, [content[CHECKSUM:]]):
            raise self._fault(f"{name} has changed")
        kinds = *most, last
        ends = accumulate((kind.size for kind in kinds), initial=CHECKSUM)
        parts = (content[end:] for end in ends)
        return [
            np.frombuffer(part[: kind.size], kind.dtype).reshape(kind.shape)
            for part, kind in zip(parts, kinds, strict=False)
        ]

    def write(self, name: str, arrays: Sequence[np.ndarray]) -> None:
        """Write arrays, by renaming.

        Raises:
            OSError: They cannot be written, or another fit has the folder.
        """
        if not self.exists:
            self.path.mkdir(parents=True)
            self._claim = claimed(self.path)
            header = {"format": FORMAT, **self._identity}
            try:
                write_whole(self.path / HEADER, json.dumps(header, indent=1).encode())
            except OSError:
                _remove(self.path)
                raise
            self.exists = True
        parts = [array.tobytes() for array in arrays]
        write_whole(self.path / name, b"".join([_checksum(name, parts), *parts]))
        if not name.endswith(PART):
            (self.path / (name + PART)).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the state, but nothing else that is in its folder."""
        if self.exists:
            with suppress(OSError):
                _remove(self.path)
        self.exists = False
        self.release()

    def release(self) -> None:
        """Leave the state to other processes."""
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    def _claimed_header(self) -> dict[str, Any] | None:
        """The header of a state, which is then used by no other process.

        None if none was written before the process was killed.
        """
        if not self.path.is_dir():
            raise self._fault("it is no folder")
        try:
            self._claim = claimed(self.path)
        except BlockingIOError:
            raise self._fault(
                "another process fits it now", "Wait for it, or name another folder."
            ) from None
        names = os.listdir(self.path)
        if HEADER not in names and all(map(OURS.fullmatch, names)):
            return None
        try:
            with (self.path / HEADER).open("rb") as file:
                found = json.loads(file.read(LONGEST_HEADER))
        except (OSError, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise self._fault(f"it has no {HEADER} of this version")
        return found

    def _fault(
        self, reason: str, remedy: str = "Remove this folder to fit from the start."
    ) -> ValueError:
        self.release()
        return ValueError(
            f"`{self._argument}` must be the state of the same fit as it was saved, "
            f"got {self.path}: {reason}. {remedy}"
        )


def _remove(folder: Path) -> None:
    for entry in folder.iterdir():
        if OURS.fullmatch(entry.name):
            entry.unlink()
    folder.rmdir()


def _checksum(name: str, parts: Iterable[bytes | memoryview]) -> bytes:
    found = hashlib.sha256(f"{name} ".encode())
    for part in parts:
        found.update(part)
    return found.digest()
