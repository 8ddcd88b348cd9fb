"""Atomic writing of files and folders."""

import ctypes
import errno
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG

try:
    import fcntl
except ImportError:  # not on Windows, where nothing is swept
    fcntl = None

AT_WORKING_FOLDER, EXCHANGE = -100, 2
"""Arguments of `renameat2`, from `fcntl.h` and `linux/fs.h`."""

ASIDE = ".old"
"""End of the name of a folder between the two renames that replace it."""

OLD = 3600.0
"""Seconds after which no process still writes a temporary file."""


def check_parent(path: Path) -> None:
    """Raise if the folder of a path does not exist."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"`path` must lie in a folder that exists, got {path}. Make the folder."
        )


def check_path(name: str, path: Path) -> None:
    """Raise if the system cannot have a path, whether or not anything is there.

    Examples:
        >>> check_path("out", Path("x" * 999))
        Traceback (most recent call last):
        ...
        ValueError: `out` must be a path of the system, got 'xxx...: File name too long.
        Choose another name.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    except (OSError, ValueError) as error:  # a long name, a loop of links; a null
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(
            f"`{name}` must be a path of the system, got {str(path)!r:.60}: {reason}. "
            "Choose another name."
        ) from None


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, removed afterwards in any case."""
    sweep(path)
    temporary = temporary_name(path)
    try:
        yield temporary
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def temporary_name(path: Path) -> Path:
    """A hidden path in the same folder that does not exist."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")


def is_temporary(name: str, path: Path) -> bool:
    """Whether a name could be from `temporary_name` of a path.

    Examples:
        >>> is_temporary(".run.0123abcd", Path("run"))
        True
        >>> is_temporary(".run.backup", Path("run"))
        False
    """
    pattern = rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}(\{ASIDE})?"
    return re.fullmatch(pattern, name) is not None


def sweep(path: Path) -> None:
    """Remove temporary files of a path that a killed process left an hour ago."""
    for left in _temporaries(path):
        with suppress(OSError):
            status = left.lstat()
            if S_ISREG(status.st_mode) and time.time() - status.st_mtime > OLD:
                left.unlink()


def abandoned_folders(path: Path) -> list[Path]:
    """Temporary folders of a path that no process holds; empty ones are removed."""
    return [
        each
        for each in _temporaries(path)
        if each.is_dir() and not each.is_symlink() and _abandoned(each)
    ]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make a folder and mark it as being written, as long as the process lives."""
    descriptor = _hold(folder)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _hold(folder: Path) -> int | None:
    """Make a folder and lock it; None on a system that does not open folders."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = None
        try:
            descriptor = os.open(folder, os.O_RDONLY)
            if fcntl is not None:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
                return descriptor
        except FileNotFoundError:  # another process swept it, empty as it was
            pass
        except OSError:
            return descriptor
        if descriptor is not None:
            os.close(descriptor)


def claimed(folder: Path) -> int | None:
    """Mark a folder as used by this process, until the descriptor is closed.

    Returns:
        The descriptor; None on a system, or in a file system, without locks.

    Raises:
        BlockingIOError: Another process uses it.
    """
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return descriptor


def _temporaries(path: Path) -> list[Path]:
    try:
        with os.scandir(path.parent) as entries:
            names = [e.name for e in entries if is_temporary(e.name, path)]
    except OSError:
        return []
    return [path.with_name(name) for name in names]


def _abandoned(folder: Path) -> bool:
    """Whether no process holds a folder; False where this cannot be known.

    An empty one is removed while it is locked; `_hold` makes it again if need be.
    """
    try:
        claim = claimed(folder)
    except OSError:
        return False
    if claim is None:
        return False
    try:
        if os.listdir(folder):
            return True
        os.rmdir(folder)
    except OSError:
        pass
    finally:
        os.close(claim)
    return False


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


def exchange(new: Path, old: Path) -> None:
    """Exchange the names of two folders, atomically where the system can.

    Elsewhere by renames; a process that is killed between them leaves the old folder
    under the name of the new one with `ASIDE` at its end.
    """
    if _exchanged(new, old):
        return
    aside = new.with_name(new.name + ASIDE)
    os.rename(old, aside)
    try:
        os.rename(new, old)
        try:
            os.rename(aside, new)
        except BaseException:
            os.rename(old, new)
            raise
    except BaseException:
        os.rename(aside, old)
        raise


def _exchanged(new: Path, old: Path) -> bool:
    """Whether Linux has exchanged two names."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    paths = AT_WORKING_FOLDER, os.fsencode(new), AT_WORKING_FOLDER, os.fsencode(old)
    if rename(*paths, EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL):  # the file system cannot
        return False
    raise OSError(code, os.strerror(code), str(old))
