"""`graphgrad reproduce`: reproduce the paper's tables and figures."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .terminal import echo, interruptible, reported

if TYPE_CHECKING:
    from ..study.plan import Study
    from ..study.running import Executor
    from ..study.store import Store
    from ..study.summary import Summaries


@reported
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="A study, `all` of them, `list`, or `page`.", metavar="NAME"
        ),
    ],
    realisations: Annotated[
        int, typer.Option(help="Most realisations per method.")
    ] = 150,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods to run, with commas.", show_default="all"),
    ] = None,
    cells: Annotated[
        str | None,
        typer.Option(help="Cells to run: T=25,T=50.", show_default="all"),
    ] = None,
    store: Annotated[
        Path, typer.Option(help="File of results; stored ones are not run again.")
    ] = Path("study.sqlite"),
    workers: Annotated[
        int | None,
        typer.Option(help="Local processes, by Dask.", show_default="this one"),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Dask scheduler: tcp://HOST:8786.", metavar="ADDRESS"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of tables and figures.")] = Path(
        "reproduced"
    ),
    times: Annotated[
        bool, typer.Option("--times/--no-times", help="Show times in tables.")
    ] = True,
) -> None:
    """Run a study of the paper, print its table and plot its figure.

    The same command resumes an interrupted study. `page` writes the pages of the
    documentation from the stored results and the existing tables, and runs nothing.
    `real` forecasts real series, beside other methods, and writes its own page.

    \b
    Examples:
      graphgrad reproduce list
      graphgrad reproduce lorenz63-d2 --realisations 4
      graphgrad reproduce lorenz63-d2 --methods lasso --cells T=25,T=50
      graphgrad reproduce all --workers 8
      graphgrad reproduce all --cluster tcp://10.0.0.1:8786
      graphgrad reproduce page --out docs/scoreboards
      graphgrad reproduce real --out docs/scoreboards
    """  # noqa: D301
    from ..checks import check_at_least

    check_at_least("--realisations", realisations, 1, "The paper has 150.")
    if workers is not None:
        check_at_least("--workers", workers, 1, "It is a number of processes.")
        if cluster is not None:
            raise ValueError("`--workers` and `--cluster` must not both be given.")
    if out.exists() and not out.is_dir():
        raise ValueError(f"`--out` must be a folder, got {out}: a file.")
    studies = _studies(name)
    if name == "list":
        width = max(map(len, (study.name for study in studies)))
        for study in studies:
            echo(f"{study.name:{width}}  {study.title}")
        return
    chosen = (
        _chosen("--methods", methods, [m for study in studies for m in study.methods]),
        _chosen("--cells", cells, *_cells(studies)),
    )

    def work() -> list[str]:
        import jax

        from ..study.store import Store
        from .reproduce_real import run_real

        with Store(store, create=name != "page") as results:
            if name == "page":
                _write_page(studies, results, realisations, out)
                return []
            if name == "real":
                return run_real(*chosen, results, out)
            with _executor(workers, cluster) as execute:
                faults = []
                for study in studies:
                    faults += _run(study, realisations, chosen, results, execute)
                    jax.clear_caches()  # other studies compile other programs
                    _write(study, results, realisations, out, times)
                return faults

    try:
        faults = interruptible(work)
    except KeyboardInterrupt as stop:
        note = f"; {store} has the results so far, and the same command resumes"
        raise type(stop)(note) from None
    for fault in faults:
        echo(f"graphgrad: {fault}", err=True)
    if faults:
        raise typer.Exit(1)


def _studies(name: str) -> "list[Study]":
    from ..checks import check_choice
    from ..study.studies import STUDIES

    if name in ("all", "page"):
        return list(STUDIES.values())
    if name in ("real", "list"):
        from ..study.real.runs import study

        return [*(STUDIES.values() if name == "list" else ()), study()]
    choices = (*STUDIES, "real", "all", "list", "page")
    return [STUDIES[check_choice("NAME", name, choices)]]


def _cells(studies: "list[Study]") -> tuple[list[str], list[str]]:
    """Names by which cells may be selected, and all labels."""
    cells = [cell for study in studies for cell in study.cells]
    short = [name for cell in cells for name in sorted(cell.names - {cell.label})]
    single = [cell.label for cell in cells if cell.names == {cell.label}]
    return [*single, *short], [cell.label for cell in cells]


def _chosen(
    flag: str, text: str | None, names: list[str], others: Sequence[str] = ()
) -> list[str] | None:
    from ..checks import check_choice

    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    return [
        part if part in others else check_choice(flag, part, dict.fromkeys(names))
        for part in parts
    ]


def _executor(
    workers: int | None, cluster: str | None
) -> "AbstractContextManager[Executor]":
    if workers is None and cluster is None:
        from ..study.running import here

        return nullcontext(here)
    from ..study.cluster import at, local_cluster

    return local_cluster(workers) if workers is not None else at(str(cluster))


def _run(
    study: "Study",
    realisations: int,
    chosen: tuple[list[str] | None, list[str] | None],
    store: "Store",
    execute: "Executor",
) -> list[str]:
    """Print what will be run, and run it."""
    from ..study.running import here, run
    from ..study.tasks import tasks_of
    from .terminal import line, show_progress, warn_if_busy

    tasks = tasks_of(study, realisations, methods=chosen[0], cells=chosen[1])
    missing = len(store.missing(tasks))
    fits = sum(len(task.seeds) for task in tasks)
    echo(
        f"{study.name}: {fits} fits in chunks of {study.chunk}; "
        f"{len(tasks) - missing} of {len(tasks)} chunks are stored.",
        err=True,
    )
    if study.alone and execute is not here:
        echo(f"{study.name}: timed, so one fit at a time in this process.", err=True)
        execute = here
    if study.alone and missing:
        warn_if_busy(study.name)
    try:
        return run(tasks, store, execute=execute, callback=show_progress)
    finally:
        line("")


def _write(
    study: "Study", store: "Store", realisations: int, out: Path, times: bool
) -> None:
    """Print the table, and write table and figure."""
    from ..files import write_whole
    from ..study import tables
    from ..study.figures import png
    from ..study.summary import summarise

    found = store.found(study, realisations)
    title, table = f"# {study.title}\n\n", summarise(found)
    shown = tables.markdown(study, table, times=times)
    echo(title + shown)
    names = _files(study, table, out, times)
    write_whole(out / f"{study.name}.png", png(study, table, found))
    text = f"{title}{shown}\n![{study.title}]({study.name}.png)\n"
    write_whole(out / f"{study.name}.md", text.encode())
    names += [f"{study.name}.md", f"{study.name}.png"]
    names += _systems(study, store, realisations, out)
    echo(f"Wrote {out}: {', '.join(sorted(names))}.", err=True)


def _write_page(
    studies: "list[Study]", store: "Store", realisations: int, out: Path
) -> None:
    """Write the pages, with their figures and tables."""
    from ..files import write_whole
    from ..study.by_system import from_systems_csv
    from ..study.checks_page import checks_page
    from ..study.figures import png
    from ..study.page import page
    from ..study.records import from_csv
    from ..study.scoreboards import scoreboards, wrong_systems
    from ..study.study_page import study_page
    from ..study.summary import merged, summarise

    summaries, systems = {}, {}
    for study in studies:
        folder = out / study.folder
        found, before = store.found(study, realisations), {}
        if (file := folder / f"{study.name}.csv").is_file():
            before = from_csv(study, file.read_text())
        summaries[study.name] = table = merged(study, before, summarise(found))
        if table:
            _files(study, table, folder, times=True)
        # Plots of graphs need the coefficients of all fits in the table.
        if found and (study.figure != "graphs" or set(found) == set(table)):
            write_whole(folder / f"{study.name}.png", png(study, table, found))
        _systems(study, store, realisations, folder)
        if (file := folder / f"{study.name}-systems.csv").is_file():
            systems[study.name] = from_systems_csv(file.read_text())
    ours = [study for study in studies if study.folder == "flows"]
    papers = [study for study in studies if study.folder == "paper"]
    made = {
        "paper.md": page(papers, summaries),
        "paper/checks.md": checks_page(
            [study for study in papers if summaries[study.name]], summaries
        ),
        "flows.md": scoreboards(ours, summaries),
    }
    for study in studies:
        if table := summaries[study.name]:
            wrong = wrong_systems(systems.get(study.name, ()))
            file = f"{study.folder}/{study.name}.md"
            made[file] = study_page(study, table, wrong)
    for name, text in made.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(out / name, text.encode())
    echo(
        f"Wrote {out / 'paper.md'}, {out / 'flows.md'} and one page per study.",
        err=True,
    )


def _systems(study: "Study", store: "Store", realisations: int, out: Path) -> list[str]:
    """Write results per system, if the cells of the study are systems."""
    from ..files import write_whole
    from ..study.by_system import is_by_system, systems_csv

    found = store.of_cells(study, realisations) if is_by_system(study) else {}
    if not found:
        return []
    file = out / f"{study.name}-systems.csv"
    before = file.read_text() if file.is_file() else ""
    write_whole(file, systems_csv(study, found, before).encode())
    return [file.name]


def _files(study: "Study", table: "Summaries", out: Path, times: bool) -> list[str]:
    """Write the table as CSV and LaTeX; return the names of the files."""
    from ..files import write_whole
    from ..study.records import as_csv
    from ..study.tables import latex

    out.mkdir(parents=True, exist_ok=True)
    made = {
        f"{study.name}.csv": as_csv(study, table, times=times),
        f"{study.name}.tex": latex(study, table, times=times),
    }
    for name, content in made.items():
        write_whole(out / name, content.encode())
    return list(made)
