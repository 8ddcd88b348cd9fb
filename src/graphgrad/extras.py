"""Packages that only some commands need: extras of `pyproject.toml`."""

from importlib import import_module
from typing import Any


class MissingExtraError(ImportError, ValueError):
    """A package of an extra is not installed; the command line says so in one line."""


def need(module: str, *, extra: str, who: str) -> Any:
    """A module of an extra, or how to install the extra.

    Args:
        module: Name of the module.
        extra: Extra of `pyproject.toml` that has it.
        who: What needs it.

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
