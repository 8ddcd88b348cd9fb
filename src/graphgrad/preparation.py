"""Programs that are loaded or compiled while others run."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from .compilation_cache import stored_programs
from .compiling import ready_programs
from .loading import trace_context

WORKERS = 3
"""Threads: one that traces, and two that compile."""


class Preparation(NamedTuple):
    """What prepares programs in a thread of its own.

    Attributes:
        pool: Runs what compiles.
    """

    pool: ThreadPoolExecutor

    def expect(self, function: Callable[..., Any], *args: Any) -> Any:
        """Load or compile a program before it is called.

        Args:
            function: A compiled function.
            args: Arguments with the structure and types of those to come.

        Returns:
            An example of the result.

        Raises:
            LookupError: If nothing is known of it.
        """
        with stored_programs() as programs:
            ready = ready_programs(function)
            example = None
            if programs is not None:
                example = ready.prepare(programs, (args, {}), self.pool.submit)
        if example is None:
            raise LookupError(function.__name__)
        return example


@contextmanager
def preparing(
    prepare: Callable[[Preparation], None], first: Callable[..., Any], *args: Any
) -> Iterator[None]:
    """Prepare programs while the block runs, if they are not there.

    Args:
        prepare: Expects all of them, in the order in which they are needed.
        first: A function that is not called before the block.
        args: Its arguments; where its program is there, nothing is prepared.
    """
    with stored_programs() as programs:
        known = programs is None or ready_programs(first).holds((args, {}))
    if known:
        yield
        return
    settings = trace_context()

    def work() -> None:
        if trace_context() == settings:  # none that hold for one thread alone
            prepare(Preparation(pool))

    with ThreadPoolExecutor(WORKERS, thread_name_prefix="graphgrad") as pool:
        try:
            pool.submit(work)
            yield
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
