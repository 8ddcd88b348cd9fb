"""Optional dependencies: extras of `pyproject.toml`."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class MissingExtraError(ImportError, ValueError):
    """An optional package is not installed; the command line prints one line."""


def need(module: str, *, extra: str, who: str) -> Any:
    """Import a module of an extra, or raise with the command that installs it.

    Args:
        module: Name of the module.
        extra: Extra of `pyproject.toml` that contains it.
        who: Feature that needs it, for the message.

    Examples:
        >>> need("nothing_of_this_name", extra="study", who="`--cluster`")
        Traceback (most recent call last):
        ...
        graphgrad.extras.MissingExtraError: `--cluster` must have nothing_of_this_name,
        which is not installed. Get it with: pip install "graphgrad[study]".
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(module, extra, who) from error


def folder_of(package: str, *, extra: str, who: str) -> Path:
    """Folder of an installed package of data, which is not imported.

    Args:
        package: Name of the package.
        extra: As for `need`.
        who: As for `need`.
    """
    found = find_spec(package)
    if found is None or found.origin is None:
        raise _missing(package, extra, who)
    return Path(found.origin).parent


def _missing(module: str, extra: str, who: str) -> MissingExtraError:
    return MissingExtraError(
        f"{who} must have {module.partition('.')[0]}, which is not installed. Get it "
        f'with: pip install "graphgrad[{extra}]".'
    )
