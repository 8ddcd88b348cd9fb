"""Tasks on several processes or machines, by Dask."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from ..extras import need
from .credentials import temporary_security
from .running import Executor
from .tasks import Methods, Outcome, Task, attempt, versions

CACHE = "JAX_COMPILATION_CACHE_DIR"

PATIENCE = 20
"""Timeout in seconds for a scheduler, and then for a first worker."""


@contextmanager
def local_cluster(workers: int) -> Iterator[Executor]:
    """Tasks on several processes of this machine, one task at a time in each.

    Only this process and its own can connect: a scheduler runs whatever it is sent.
    """
    distributed = _distributed()
    security = temporary_security(distributed)
    with (
        TemporaryDirectory(prefix="graphgrad-") as compiled,
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            protocol="tls://",
            security=security,
            memory_limit=0,  # pausing a worker does not help here
            env={
                # XLA in one thread: several processes compete for the cores.
                "NPROC": "1",
                # Processes share compiled programs through this cache.
                CACHE: os.environ.get(CACHE, compiled),
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1",
            },
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster, security=security) as client,
    ):
        yield _executor(client)


@contextmanager
def at(address: str) -> Iterator[Executor]:
    """Tasks on the cluster of a scheduler.

    Args:
        address: Such as `tcp://10.0.0.1:8786`.
    """
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"`--cluster` must be the address of a Dask scheduler, got {address!r}: "
            f"{error}. Start one with `dask scheduler`."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise ValueError(
                f"`--cluster` must have workers, got {address!r} with none. Start some "
                "with `dask worker ADDRESS --nthreads 1`."
            ) from None
        _check_versions(client)
        yield _executor(client)


def _executor(client: Any) -> Executor:
    def execute(
        tasks: Sequence[Task], methods: Methods = None
    ) -> Iterator[tuple[Task, Outcome]]:
        from distributed import as_completed

        # Method by method, so that similar tasks follow one another and reuse compiled
        # programs. The longest series first, so that none of them is left for the end.
        order = list(dict.fromkeys(task.method for task in tasks))

        def place_of(task: Task) -> tuple[int, int]:
            return order.index(task.method), -task.cell.steps

        waiting = {_key(task): task for task in sorted(tasks, key=place_of)}
        futures = [
            client.submit(attempt, task, methods, key=key, priority=-place)
            for place, (key, task) in enumerate(waiting.items())
        ]
        # If a worker is lost, Dask restarts its chunk on another one. Finished results
        # are released first, or they would be recomputed, too.
        for future in as_completed(futures):
            task, outcome = waiting[future.key], _outcome(future)
            future.release()
            yield task, outcome
        # Compiled programs of this study only occupy memory.
        client.run(_forget, on_error="ignore")

    return execute


def _outcome(future: Any) -> Outcome:
    try:
        return future.result()
    except Exception as error:
        return Outcome([], f"{type(error).__name__}: {' '.join(str(error).split())}", 0)


def _forget() -> None:
    import jax

    jax.clear_caches()


def _key(task: Task) -> str:
    return f"{task} ({task.digest})"


def _check_versions(client: Any) -> None:
    """Only the same code gives the same numbers."""

    def code(used: dict[str, str]) -> str:
        return f"{used['graphgrad']} (source {used['source']})"

    ours = code(versions())
    for worker, theirs in client.run(versions).items():
        if code(theirs) != ours:
            raise ValueError(
                f"`--cluster` must have graphgrad {ours} on every worker, got "
                f"{code(theirs)} on {worker}. Install the same there."
            )


def _distributed() -> Any:
    return need("distributed", extra="cluster", who="`--workers` and `--cluster`")
