"""Compiled programs of this package, kept in the user's cache folder.

JAX has a cache of compiled programs; a key contains the program, the versions and the
instructions of the processor. JAX stores files without a limit, not atomically, and for
all programs of a process. So its cache gets another store, `ProgramFiles`, while this
package compiles, unless the user has set up or turned off JAX's own.
"""

import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import jax
from jax._src import compilation_cache, config

from .program_files import ProgramFiles

VARIABLE = "GRAPHGRAD_CACHE"
"""Environment variable: `off` for no cache, or another folder."""

QUIET = (0, 10, 2)
"""First version of JAX that loads programs without messages about the processor."""

# JAX has no public way to replace its store, or to change a setting in one thread.
_JAX: Any = compilation_cache
_SETTINGS: Any = jax.config
_LEAST_SECONDS: Any = getattr(config, "persistent_cache_min_compile_time_secs", None)


class ProgramCache:
    """The store of JAX's cache while a thread is inside `stored_programs`.

    Args:
        files: Where programs are kept.
    """

    def __init__(self, files: ProgramFiles) -> None:
        self._files = files
        self._path = files.folder  # JAX logs it
        self._lock = threading.Lock()
        self._threads: set[int] = set()
        self._local = threading.local()

    @property
    def here(self) -> bool:
        """Whether this thread is inside; programs of others are not stored."""
        return threading.get_ident() in self._threads

    @property
    def asked(self) -> list[str]:
        """Keys that JAX asked for in this thread."""
        return self._local.__dict__.setdefault("asked", [])

    def get(self, key: str) -> bytes | None:
        """The program of a key, or None; called by JAX."""
        if not self.here:
            return None
        self.asked.append(key)
        return self._files.get(key)

    def put(self, key: str, program: bytes) -> None:
        """Store a program; called by JAX."""
        if self.here:
            self._files.put(key, program)

    def __enter__(self) -> None:
        with self._lock:
            self._threads.add(threading.get_ident())
            _JAX._cache = self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads.discard(threading.get_ident())
            if not self._threads and _JAX._cache is self:
                _JAX._cache = None


@contextmanager
def stored_programs() -> Iterator[ProgramCache | None]:
    """Read and store the programs that this thread compiles inside.

    No setting of JAX changes. If JAX's own cache has a folder, or is turned off,
    nothing is done.

    Yields:
        The store, or None if nothing is done.
    """
    programs = _programs()
    if programs is None or not _unset_by_user(programs):
        yield None
    elif programs.here:
        yield programs
    else:
        with _LEAST_SECONDS(0.0), programs:
            yield programs


def _unset_by_user(programs: ProgramCache) -> bool:
    """Whether JAX's own cache has no folder and is not turned off."""
    return (
        _JAX._cache in (None, programs)
        and not _SETTINGS.jax_compilation_cache_dir
        and _SETTINGS.jax_enable_compilation_cache
    )


@cache
def _programs() -> ProgramCache | None:
    """The store, or None if it is turned off or cannot be had."""
    known = hasattr(_JAX, "_cache") and _LEAST_SECONDS is not None
    if not known or jax.__version_info__ < QUIET:
        return None
    try:
        folder = cache_folder()
        if folder is None:
            return None
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ProgramCache(ProgramFiles(folder)) if _private(folder) else None
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return None


def cache_folder() -> Path | None:
    """The folder of compiled programs, or None if there shall be none."""
    given = os.environ.get(VARIABLE, "")
    if given:
        return None if given.lower() == "off" else Path(given).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "graphgrad" / "compiled"


def _private(folder: Path) -> bool:
    """Whether a folder belongs to the user, and nobody else can write to it.

    A program in it is run as the user.
    """
    if sys.platform == "win32":  # folders of the user are private
        return True
    status = folder.stat()
    others = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid == os.getuid() and not status.st_mode & others
