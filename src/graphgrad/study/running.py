"""Runs tasks, keeps what they give, and says how long it will take."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .store import Store
from .tasks import Methods, Outcome, Task, attempt

Executor = Callable[[Sequence[Task], Methods], Iterable[tuple[Task, Outcome]]]
"""Does tasks, in any order, and gives each with what came of it."""


class Progress(NamedTuple):
    """Where a run is.

    Attributes:
        done: Tasks that are over.
        total: Tasks of this run.
        left: Seconds left, by the times of tasks that are over; None before the first.
        task: The last one that ended.
        fault: What went wrong with it, or None.
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
    tell: Callable[[Progress], None] = lambda _: None,
) -> list[str]:
    """Run tasks that the store lacks, and store each as soon as it is done.

    Args:
        tasks: What is wanted.
        store: Where rows go; this process alone writes there.
        execute: How tasks are done.
        methods: Methods by name; those of the project if None.
        tell: Called before the first task and after each.

    Returns:
        What went wrong, one line for each task that failed.
    """
    missing = store.missing(tasks)
    faults = []
    if not missing:
        return faults
    clock = _Clock(missing)
    tell(Progress(0, len(missing), None, None, None))
    for done, (task, outcome) in enumerate(execute(missing, methods), start=1):
        if outcome.fault is None:
            store.add(task, outcome.rows)
        else:
            faults.append(f"{task}: {outcome.fault}")
        left = clock.after(task, outcome.seconds)
        tell(Progress(done, len(missing), left, task, outcome.fault))
    return faults


class _Clock:
    """Time left, from what the same method took so far, in this cell if it was seen."""

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
        # How many work at once shows in how much was done in the time.
        return work * (time.monotonic() - self._begin) / max(done, 1e-9)

    def _usual(self, cell: str, method: str) -> float:
        """Seconds of a task: as in this cell, as by this method, or as all so far."""
        spent = self._spent
        near = [times for key, times in spent.items() if key == (cell, method)]
        near = near or [times for key, times in spent.items() if key[1] == method]
        near = near or list(spent.values())
        return sum(map(sum, near)) / sum(map(len, near))
