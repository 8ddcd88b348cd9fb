"""A line on the terminal while a fit takes long."""

import shutil
import sys
import threading
import time
from collections.abc import Callable
from math import isfinite
from typing import Any

from ..solvers import AdaptiveProgress

PATIENCE = 2.0
"""Seconds of a fit before anything is shown."""

BEAT = 0.5
"""Seconds from one line to the next."""


class ProgressLine:
    """How long a fit has taken, on a terminal that somebody watches.

    Used as a context. What a fit is at is shown, too, if it reports to a callback.

    Args:
        stream: Where to write, standard error if None; nothing is written if it is no
            terminal.
        patience: Seconds before anything is shown.
    """

    def __init__(self, stream: Any = None, patience: float = PATIENCE):
        self._stream = sys.stderr if stream is None else stream
        self._patience = patience
        self._words = "the first fit of a shape compiles"
        self._heard = ("", 0), time.monotonic()
        self._ends = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.active = bool(self._stream.isatty())

    def __enter__(self) -> "ProgressLine":
        if self.active:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self.active:
            self._thread.join()

    def beside(self, callback: Callable | None) -> Callable | None:
        """The callback, which also updates the line; None stays None."""
        if callback is None or not self.active:
            return callback

        def report(progress: Any) -> None:
            now, (stage, done, most) = time.monotonic(), _position(progress)
            before, then = self._heard
            # The first report of a stage is late by what it compiled.
            more = done - before[1] if stage == before[0] else 0
            self._ends = now + (now - then) / more * (most - done) if more > 0 else now
            self._heard = (stage, done), now
            self._words = describe(progress)
            callback(progress)

        return report

    def _run(self) -> None:
        begin = time.monotonic()
        if self._over.wait(self._patience):
            return
        while True:
            seconds = time.monotonic() - begin
            left = self._ends - time.monotonic()
            rest = f"; at most {left:.0f} s to the end of this stage" * (left > 0.5)
            self._write(f"graphgrad: {seconds:.0f} s, {self._words}{rest}")
            if self._over.wait(BEAT):
                break
        self._write("")

    def _write(self, text: str) -> None:
        # A line that is too long would wrap, and could not be written over.
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r" + text[:width].ljust(width) + "\r")
        self._stream.flush()


def kept(callback: Callable | None, trace: list[Any]) -> Callable:
    """The callback, if there is one, which also keeps the progress."""

    def report(progress: Any) -> None:
        trace.append(progress)
        if callback is not None:
            callback(progress)

    return report


def describe(progress: Any) -> str:
    """In words where a solver is.

    Examples:
        >>> describe(AdaptiveProgress("refine", 10, 150, -12.34, 4))
        'refine, 10 of at most 150 sweeps, log-likelihood -12.3, 4 terms'
    """
    stage, done, most = _position(progress)
    where = f"{stage}, {done} of at most {most} sweeps"
    if not isinstance(progress, AdaptiveProgress):
        where = f"{stage} {done} of {most}"
    height = ""
    if isfinite(progress.log_likelihood):  # not before a first ascent ends
        height = f"log-likelihood {progress.log_likelihood:.1f}, "
    return f"{where}, {height}{progress.n_nonzero} terms"


def _position(progress: Any) -> tuple[str, int, int]:
    """Stage of a solver, and how far it is in it of how far it may go."""
    if isinstance(progress, AdaptiveProgress):
        return progress.stage, progress.sweeps, progress.most
    return "batch", progress.batch, progress.batches
