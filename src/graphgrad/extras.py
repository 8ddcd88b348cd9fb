"""Optional dependencies: extras of `pyproject.toml`."""

from importlib import import_module
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
        raise MissingExtraError(
            f"{who} must have {module.partition('.')[0]}, which is not installed. Get "
            f'it with: pip install "graphgrad[{extra}]".'
        ) from error
