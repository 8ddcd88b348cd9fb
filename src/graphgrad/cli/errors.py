"""What goes to the terminal when things go wrong, and work that Ctrl-C stops."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from threading import Thread
from typing import ParamSpec, TypeVar

import typer

P = ParamSpec("P")
T = TypeVar("T")

BEAT = 0.1
"""Seconds from one look at the work to the next."""


def reported(command: Callable[P, None]) -> Callable[P, None]:
    """The command, which says what is wrong in one line and exits with status 2.

    After Ctrl-C it exits with status 130, and says what the interrupt has to say.
    """

    @wraps(command)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt as stop:
            said, *more = stop.args or ("",)
            for line in (f"\ngraphgrad: stopped{said}.", *more):
                typer.echo(line, err=True)
            sys.stdout.flush()
            # At once: compiled code may still run in another thread.
            os._exit(130)
        except BrokenPipeError:
            raise
        except (ValueError, OSError) as error:
            typer.echo(f"graphgrad: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(2) from None

    return call


def listed(*choices: str) -> str:
    """Choices in a row, for a line of help.

    Examples:
        >>> listed("auto", "flow", "map")
        'auto, flow or map'
    """
    *most, last = choices
    return f"{', '.join(most)} or {last}" if most else last


def interruptible(work: Callable[[], T]) -> T:
    """Work in a thread of its own, so that Ctrl-C need not wait for compiled code."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(BEAT)
    if errors:
        raise errors[0]
    return results[0]
