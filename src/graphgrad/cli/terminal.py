"""Error messages, interrupts and progress of commands on the terminal."""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Thread, current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import typer

from ..shown_text import printable

if TYPE_CHECKING:
    from ..study.running import Progress

P = ParamSpec("P")
T = TypeVar("T")

BEAT = 0.1
"""Seconds between checks for an interrupt."""


class Terminated(KeyboardInterrupt):
    """SIGTERM."""


def echo(text: object = "", *, err: bool = False) -> None:
    """Print text, which may have names from data that would command the terminal."""
    typer.echo(printable(str(text)), err=err)


def reported(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command: errors are printed in one line, with exit status 2.

    After Ctrl-C the exit status is 130, after SIGTERM 143, and the arguments of the
    interrupt are printed.
    """

    @wraps(command)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _terminable():
                command(*args, **kwargs)
        except KeyboardInterrupt as stop:
            note, *more = stop.args or ("",)
            for line in (f"\ngraphgrad: stopped{note}.", *more):
                echo(line, err=True)
            sys.stdout.flush()
            # Do not wait for compiled code in other threads.
            os._exit(143 if isinstance(stop, Terminated) else 130)
        except BrokenPipeError:
            raise
        except (ValueError, OSError) as error:
            echo(f"graphgrad: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(2) from None

    return call


@contextmanager
def _terminable() -> Iterator[None]:
    """Have SIGTERM and Ctrl-C end a command, unless something else handles them."""
    former = {
        number: handler
        for number in (signal.SIGTERM, signal.SIGINT)
        if (handler := signal.getsignal(number))
        in (signal.SIG_DFL, signal.default_int_handler)
    }
    if current_thread() is not main_thread():
        former = {}

    def stop(number: int, frame: FrameType | None) -> None:
        terminated = number == signal.SIGTERM
        if _importing(frame):
            os.write(2, b"\ngraphgrad: stopped.\n")
            os._exit(143 if terminated else 130)
        raise Terminated if terminated else KeyboardInterrupt

    for number in former:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is imported, such as JAX, in which an exception may be lost.

    The callback that JAX has in the collection of garbage ignores it,
    and what is compiled ends the process.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def listed(*choices: str) -> str:
    """Join choices for a line of help.

    Examples:
        >>> listed("auto", "flow", "map")
        'auto, flow or map'
    """
    *most, last = choices
    return f"{', '.join(most)} or {last}" if most else last


def interruptible(work: Callable[[], T]) -> T:
    """Run a function in a thread, so that Ctrl-C does not wait for compiled code."""
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


def warn_if_busy(name: str) -> None:
    """Warn that measured times are too long on a busy machine."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        echo(
            f"{name}: the machine is busy (load {load:.1f} on {cores} cores), so "
            "measured times will be too long.",
            err=True,
        )


def show_progress(progress: "Progress") -> None:
    """Print the progress of a study and the time left."""
    task = progress.task
    if task is None:
        line(f"0 of {progress.total} chunks")
        return
    if progress.fault:
        line("")
        echo(f"graphgrad: failed: {task}", err=True)
    left = _duration(progress.left or 0)
    position = f"last {task.cell.label}, {task.method}"
    line(f"{progress.done} of {progress.total} chunks, about {left} left; {position}")


def line(text: str) -> None:
    """Overwrite the last line of an interactive terminal."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + text[:width].ljust(width) + "\r")
        sys.stderr.flush()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
