"""A progress line on the terminal during long fits."""

import shutil
import sys
import threading
import time
from collections.abc import Callable
from math import isfinite
from typing import Any

from ..solvers import AdaptiveProgress

PATIENCE = 2.0
"""Seconds before the line appears."""

BEAT = 0.5
"""Seconds between updates."""


class ProgressLine:
    """Elapsed time of a fit on an interactive terminal, as a context manager.

    The stage of the fit is also shown if the fit has a callback.

    Args:
        stream: Output stream, standard error if None; nothing is written unless it is a
            terminal.
        patience: Seconds before the line appears.
    """

    def __init__(self, stream: Any = None, patience: float = PATIENCE):
        self._stream = sys.stderr if stream is None else stream
        self._patience = patience
        self._status = "the first fit of a shape compiles"
        self._last = ("", 0), time.monotonic()
        self._ends = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.active = bool(self._stream.isatty())

    def __enter__(self) -> "ProgressLine":
        if self.active:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self.active:
            self._thread.join()

    def wrap(self, callback: Callable | None) -> Callable | None:
        """Wrap a callback so that it also updates the line; None stays None."""
        if callback is None or not self.active:
            return callback

        def report(progress: Any) -> None:
            now, (stage, done, most) = time.monotonic(), _position(progress)
            before, then = self._last
            # The first report of a stage includes compilation.
            more = done - before[1] if stage == before[0] else 0
            self._ends = now + (now - then) / more * (most - done) if more > 0 else now
            self._last = (stage, done), now
            self._status = describe(progress)
            callback(progress)

        return report

    def _run(self) -> None:
        begin = time.monotonic()
        if self._stopped.wait(self._patience):
            return
        while True:
            seconds = time.monotonic() - begin
            left = self._ends - time.monotonic()
            rest = f"; at most {left:.0f} s to the end of this stage" * (left > 0.5)
            self._write(f"graphgrad: {seconds:.0f} s, {self._status}{rest}")
            if self._stopped.wait(BEAT):
                break
        self._write("")

    def _write(self, text: str) -> None:
        # A longer line would wrap and could not be overwritten.
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r" + text[:width].ljust(width) + "\r")
        self._stream.flush()


def recorded(callback: Callable | None, trace: list[Any]) -> Callable:
    """Wrap a callback, if any, so that progress is also appended to the trace."""

    def report(progress: Any) -> None:
        trace.append(progress)
        if callback is not None:
            callback(progress)

    return report


def describe(progress: Any) -> str:
    """Progress of a solver as text.

    Examples:
        >>> describe(AdaptiveProgress("refine", 10, 150, -12.34, 4))
        'refine, 10 of at most 150 passes, log-likelihood -12.3, 4 terms'
    """
    stage, done, most = _position(progress)
    where = f"{stage}, {done} of at most {most} passes"
    if not isinstance(progress, AdaptiveProgress):
        where = f"{stage} {done} of {most}"
    value = ""
    if isfinite(progress.log_likelihood):  # not before the first ascent ends
        value = f"log-likelihood {progress.log_likelihood:.1f}, "
    return f"{where}, {value}{progress.n_nonzero} terms"


def _position(progress: Any) -> tuple[str, int, int]:
    """Stage of a solver, steps done in it, and the most that it may take."""
    if isinstance(progress, AdaptiveProgress):
        return progress.stage, progress.sweeps, progress.most
    return "batch", progress.batch, progress.batches
