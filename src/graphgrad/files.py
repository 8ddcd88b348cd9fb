"""Atomic writing of files."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_parent(path: Path) -> None:
    """Raise if the folder of a path does not exist."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"`path` must lie in a folder that exists, got {path}. Make the folder."
        )


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, removed afterwards in any case."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield temporary
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def put(path: Path, content: bytes) -> None:
    """Write a new file and flush it to disk."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically; an older one stays until the new one is complete.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "note.txt"
        >>> write_whole(path, b"old")
        >>> write_whole(path, b"new")
        >>> path.read_bytes(), len(list(path.parent.iterdir()))
        (b'new', 1)
    """
    path = path.resolve()
    with beside(path) as temporary:
        put(temporary, content)
        os.replace(temporary, path)
