"""Whether the code that runs is that of the package's files, and which that is."""

import hashlib
import sys
import time
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]

_STARTED = time.time()
_FIRST: dict[tuple[int, str], Any] = {}
_SIZES: dict[str, int] = {}


@cache
def source_digest() -> str | None:
    """Digest of all source files, or None if they changed after they were imported."""
    return digest_of(Path(__file__).parent, _STARTED)


def digest_of(folder: Path, before: float) -> str | None:
    """Digest of the names and contents of all source files in a folder.

    Args:
        folder: The folder.
        before: Time after which no file may have been written; else None.
    """
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        if file.stat().st_mtime > before:
            return None
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def remember_modules() -> None:
    """Remember what the names of modules and classes are bound to when first seen."""
    for name, module in list(sys.modules.items()):
        if not name.startswith(PACKAGE) or _SIZES.get(name) == len(vars(module)):
            continue
        _SIZES[name] = len(vars(module))
        for space in _namespaces(module):
            for key, value in list(vars(space).items()):
                _FIRST.setdefault((id(space), key), (space, value))


def is_patched() -> bool:
    """Whether a name of a module or class is now bound to something else.

    Examples:
        >>> from graphgrad import checks
        >>> remember_modules()
        >>> before, checks.check_choice = checks.check_choice, print
        >>> is_patched()
        True
        >>> checks.check_choice = before
        >>> is_patched()
        False
    """
    remember_modules()
    return any(
        vars(space).get(key, value) is not value
        for (_, key), (space, value) in list(_FIRST.items())
    )


def _namespaces(module: ModuleType) -> list[Any]:
    """A module and its classes."""
    classes = (value for value in vars(module).values() if isinstance(value, type))
    return [module, *(each for each in classes if each.__module__ == module.__name__)]
