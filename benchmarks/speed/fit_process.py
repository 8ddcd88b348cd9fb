"""Fit the series of one case, and print what it took as JSON.

`fit_process '<case as JSON>' FILE`. Nothing of the library is imported before the
import is timed, and PySINDy is imported after peak memory is read, which is in kB as
on Linux.
"""

import json
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from typing import Any

COMPILATION = {
    "tracing": "/jax/core/compile/jaxpr_trace_duration",
    "lowering": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "xla": "/jax/core/compile/backend_compile_duration",
}
"""Events of JAX; loading a program from the disk is part of the last one."""


def timed(function: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """Seconds that a call takes, and what it returns."""
    begin = time.perf_counter()
    returned = function(*args)
    return time.perf_counter() - begin, returned


class Compilation:
    """Seconds of each part of compilation since the last `taken`."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = defaultdict(list)
        monitoring = import_module("jax.monitoring")
        monitoring.register_event_duration_secs_listener(self._add)

    def _add(self, event: str, seconds: float, **_: Any) -> None:
        self._seconds[event].append(seconds)

    def taken(self) -> dict[str, float]:
        """Number of programs and seconds of each part; begins again."""
        found = {part: sum(self._seconds[event]) for part, event in COMPILATION.items()}
        programs = len(self._seconds[COMPILATION["xla"]])
        self._seconds.clear()
        return {"programs": programs} | found


def _estimator() -> Any:
    """The class of the estimator; modules are imported when they are first used."""
    return import_module("graphgrad").GraphGrad


def measured(case: dict[str, Any], file: str) -> dict[str, Any]:
    """All numbers of one case."""
    import_seconds, estimator = timed(_estimator)
    compilation = Compilation()
    data = import_module("numpy").load(file)
    ys, truth = data["ys"], data["truth"]
    settings = {"dt": case["dt"]} if case["dynamics"] == "flow" else {"dynamics": "map"}

    def fit(rows: int) -> Any:
        return estimator(degree=case["degree"], **settings).fit(ys[:rows])

    steps = case["steps"]
    first, model = timed(fit, steps)
    row: dict[str, Any] = {"import": import_seconds, "first": first}
    row |= compilation.taken()
    row["repeats"] = [timed(fit, steps)[0] for _ in range(case["repeats"])]
    compilation.taken()
    if case["other_length"]:
        row["other"] = timed(fit, steps + 1)[0]
        row["other_programs"] = compilation.taken()["programs"]
    row["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    scores = import_module("graphgrad.study.flow_scores")
    row["f1"] = scores.support_f1(model.coef_, truth)
    return row | _stlsq(ys[:steps], truth, case, scores.support_f1)


def _stlsq(ys: Any, truth: Any, case: dict[str, Any], f1: Any) -> dict[str, Any]:
    """Time and F1 of PySINDy, if it is installed."""
    try:
        import_module("pysindy")
    except ImportError:
        return {}
    stlsq = import_module("benchmarks.speed.stlsq")
    row = {}
    for name in ("with_defaults", "selected"):
        fit = getattr(stlsq, name)
        fit(ys, case)
        runs = [timed(fit, ys, case) for _ in range(case["repeats"])]
        seconds = min(run[0] for run in runs)
        row[name] = {"seconds": seconds, "f1": f1(runs[0][1], truth)}
    return row


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]), sys.argv[2])))
