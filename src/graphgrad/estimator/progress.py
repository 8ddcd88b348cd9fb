"""A line on the terminal while a fit takes long."""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ..solvers import AdaptiveProgress

PATIENCE = 2.0
"""Seconds of a fit before anything is shown."""


class ProgressLine:
    """What a fit is at, on a terminal that somebody watches, once it takes long.

    Used as a context, and called with what solvers tell their callbacks.

    Args:
        stream: Where to write, standard error if None; nothing is written if it is no
            terminal.
        patience: Seconds before anything is shown.
    """

    def __init__(self, stream: Any = None, patience: float = PATIENCE):
        self._stream = sys.stderr if stream is None else stream
        self._patience = patience
        self._shown = False
        self.active = bool(self._stream.isatty())
        self._begin = time.monotonic()
        # A first fit of a shape compiles, during which no solver reports.
        first = "compiling, which takes a while the first time ..."
        self._timer = threading.Timer(patience, self._show, (first,))
        self._timer.daemon = True

    def __enter__(self) -> "ProgressLine":
        self._begin = time.monotonic()
        if self.active:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._shown:
            self._stream.write("\r" + " " * 79 + "\r")
            self._stream.flush()

    def __call__(self, progress: Any) -> None:
        """Show where the fit is."""
        if self.active and time.monotonic() - self._begin > self._patience:
            self._timer.cancel()
            self._show(_words(progress))

    def beside(self, callback: Callable | None) -> Callable | None:
        """A callback that shows the line as well; None if nobody looks."""
        if not self.active:
            return callback

        def tell(progress: Any) -> None:
            self(progress)
            if callback is not None:
                callback(progress)

        return tell

    def _show(self, text: str) -> None:
        self._shown = True
        self._stream.write(f"\rgraphgrad: {text}"[:79].ljust(79))
        self._stream.flush()


def _words(progress: Any) -> str:
    if isinstance(progress, AdaptiveProgress):
        where = f"{progress.stage}, {progress.sweeps} of at most {progress.most} sweeps"
    else:
        where = f"batch {progress.batch} of {progress.batches}"
    return (
        f"{where}, log-likelihood {progress.log_likelihood:.1f}, "
        f"{progress.n_nonzero} terms"
    )
