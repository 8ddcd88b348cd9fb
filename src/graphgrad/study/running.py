"""Runs tasks, stores their results, and estimates the time left."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .store import Store
from .tasks import Methods, Outcome, Task, attempt

Executor = Callable[[Sequence[Task], Methods], Iterable[tuple[Task, Outcome]]]
"""Executes tasks, in any order, and yields each with its outcome."""


class Progress(NamedTuple):
    """Progress of a run.

    Attributes:
        done: Number of finished tasks.
        total: Tasks of this run.
        left: Estimated seconds left; None before the first task has finished.
        task: The last finished task.
        fault: Error of that task, or None.
    """

    done: int
    total: int
    left: float | None
    task: Task | None
    fault: str | None


def here(
    tasks: Sequence[Task], methods: Methods = None
) -> Iterator[tuple[Task, Outcome]]:
    """One task after another, in this process."""
    for task in tasks:
        yield task, attempt(task, methods)


def run(
    tasks: Sequence[Task],
    store: Store,
    *,
    execute: Executor = here,
    methods: Methods = None,
    callback: Callable[[Progress], None] = lambda _: None,
) -> list[str]:
    """Run the tasks that are not stored yet, and store each when it is done.

    Args:
        tasks: The requested tasks.
        store: The store; only this process writes to it.
        execute: Executes the tasks.
        methods: Methods by name; by default those of the project.
        callback: Called before the first task and after each.

    Returns:
        Errors, one line for each task that failed.
    """
    missing = store.missing(tasks)
    faults = []
    if not missing:
        return faults
    clock = _Clock(missing)
    callback(Progress(0, len(missing), None, None, None))
    for done, (task, outcome) in enumerate(execute(missing, methods), start=1):
        if outcome.fault is None:
            store.add(task, outcome.rows)
        else:
            faults.append(f"{task}: {outcome.fault}")
        left = clock.after(task, outcome.seconds)
        callback(Progress(done, len(missing), left, task, outcome.fault))
    return faults


class _Clock:
    """Time left, from the times of the same method, in this cell if known."""

    def __init__(self, tasks: Iterable[Task]):
        self._left = {}
        self._spent = {}
        self._begin = time.monotonic()
        for task in tasks:
            key = (task.cell.label, task.method)
            self._left[key] = self._left.get(key, 0) + 1

    def after(self, task: Task, seconds: float) -> float:
        key = (task.cell.label, task.method)
        self._left[key] -= 1
        self._spent.setdefault(key, []).append(seconds)
        work = sum(n * self._usual(*key) for key, n in self._left.items() if n)
        done = sum(map(sum, self._spent.values()))
        # Parallelism shows in the amount of work done per time.
        return work * (time.monotonic() - self._begin) / max(done, 1e-9)

    def _usual(self, cell: str, method: str) -> float:
        """Seconds of a task: mean of this cell, of this method, or of all so far."""
        spent = self._spent
        near = [times for key, times in spent.items() if key == (cell, method)]
        near = near or [times for key, times in spent.items() if key[1] == method]
        near = near or list(spent.values())
        return sum(map(sum, near)) / sum(map(len, near))
