"""A line on the terminal while a study runs."""

import os
import shutil
import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..study.running import Progress


def warn_if_busy(name: str) -> None:
    """Times are worth little on a machine that does other things."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        typer.echo(
            f"{name}: the machine is busy (load {load:.1f} on {cores} cores), so its "
            "times will be too long.",
            err=True,
        )


def tell(progress: "Progress") -> None:
    """Show how far a study is, and how long it will take."""
    task = progress.task
    if task is None:
        line(f"0 of {progress.total} chunks")
        return
    if progress.fault:
        line("")
        typer.echo(f"graphgrad: failed: {task}", err=True)
    left = _duration(progress.left or 0)
    place = f"last {task.cell.label}, {task.method}"
    line(f"{progress.done} of {progress.total} chunks, about {left} left; {place}")


def line(text: str) -> None:
    """Write over the last line of a terminal that somebody watches."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + text[:width].ljust(width) + "\r")
        sys.stderr.flush()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
