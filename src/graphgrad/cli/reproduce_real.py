"""`graphgrad reproduce real`: forecasts of real series, and their page."""

from pathlib import Path
from typing import TYPE_CHECKING

from .terminal import echo, line, show_progress

if TYPE_CHECKING:
    from ..study.store import Store


def run_real(
    methods: list[str] | None, cells: list[str] | None, store: "Store", out: Path
) -> list[str]:
    """Run what is not stored, and write the page; return the errors.

    Args:
        methods: Names of the methods; all if None.
        cells: Names of the sets; all if None.
        store: The results.
        out: Folder of the page.
    """
    from ..study.real.runs import execute, tasks
    from ..study.running import run

    wanted = tasks(methods, cells)
    missing = len(store.missing(wanted))
    echo(
        f"real: {len(wanted)} sets and methods; {len(wanted) - missing} are stored.",
        err=True,
    )
    try:
        faults = run(wanted, store, execute=execute, callback=show_progress)
    finally:
        line("")
    write_real(store, out)
    return faults


def write_real(store: "Store", out: Path) -> None:
    """Print the table, and write the page with its figures."""
    from ..files import write_whole
    from ..study.real.figures import errors, forecasts
    from ..study.real.page import page, sets_page, summary, table
    from ..study.real.runs import stored
    from ..study.real.scores import score_set
    from ..study.real.sets import SETS

    results = stored(store)
    found = {name: score_set(name, of, results) for name, of in SETS.items()}
    scores = {name: one for name, one in found.items() if one is not None}
    if not scores:
        return
    echo(f"{summary(scores, results)}\n{table(scores, results)}")
    (out / "real").mkdir(parents=True, exist_ok=True)
    write_whole(out / "real.md", page(scores, results).encode())
    write_whole(out / "real" / "sets.md", sets_page(scores, results).encode())
    write_whole(out / "real" / "errors.png", errors(scores))
    write_whole(out / "real" / "forecasts.png", forecasts(results))
    echo(f"Wrote {out / 'real.md'} and its figures.", err=True)
