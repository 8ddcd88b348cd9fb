"""Files of compiled programs: written atomically, checked, and limited in size."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

LIMIT = 512 * 2**20
"""Bytes above which the least recently used files are deleted."""

CHECK = LIMIT // 16
"""Bytes that a process writes between two checks of the limit."""

SUFFIX = ".program"


class ProgramFiles:
    """A folder with one file per program: its checksum, then the program.

    Several processes may use the folder at the same time. A file that cannot be read or
    written is as good as none.

    Args:
        folder: The folder, which exists.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     files = ProgramFiles(Path(folder))
        ...     files.put("key", b"program")
        ...     files.get("key"), files.get("other")
        (b'program', None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._until_check = 0

    def get(self, key: str) -> bytes | None:
        """The program, or None if there is none or its file is damaged."""
        file = self._file(key)
        try:
            content = file.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(file)  # the time of the last use
        checksum, program = content[:32], content[32:]
        return program if checksum == hashlib.sha256(program).digest() else None

    def put(self, key: str, program: bytes) -> None:
        """Store a program, in place of a damaged one if there is one."""
        with contextlib.suppress(OSError):
            self._until_check -= len(program)
            if self._until_check < 0:
                delete_oldest(self.folder, LIMIT - CHECK)
                self._until_check = CHECK
            self._write(self._file(key), hashlib.sha256(program).digest() + program)

    def _file(self, key: str) -> Path:
        return self.folder / (hashlib.sha256(key.encode()).hexdigest() + SUFFIX)

    def _write(self, file: Path, content: bytes) -> None:
        """Write a file so that other processes see all of it or nothing."""
        descriptor, part = tempfile.mkstemp(SUFFIX, dir=self.folder)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            os.replace(part, file)
        except OSError:
            os.unlink(part)
            raise


def delete_oldest(folder: Path, most: int) -> None:
    """Delete the least recently used programs until `most` bytes are left."""
    found = []
    for file in folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(FileNotFoundError):  # deleted by another process
            status = file.stat()
            found.append((status.st_mtime, status.st_size, file))
    excess = sum(size for _, size, _ in found) - most
    for _, size, file in sorted(found):
        if excess <= 0:
            return
        file.unlink(missing_ok=True)
        excess -= size
