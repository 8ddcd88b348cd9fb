"""Pages of single studies, and what all pages of studies share."""

from collections.abc import Iterable, Mapping, Sequence

from .blocks import shown
from .plan import Study
from .summary import Summaries, Summary
from .tables import block_lines, made_with, markdown

NOTE = (
    "<!-- Written by `graphgrad reproduce page --out docs/scoreboards`; changes belong "
    "there. -->"
)


def study_page(study: Study, found: Summaries, more: str = "") -> str:
    """The page of one study: its whole table, notes, figure and files.

    Args:
        study: The study.
        found: Summary of its fits.
        more: Text between notes and figure.
    """
    files = (f"[{kind}]({study.name}.{kind.lower()})" for kind in ("CSV", "TeX"))
    parts = [
        f"# {study.name}: {study.title}\n",
        f"{NOTE}\n",
        f"`graphgrad reproduce {study.name}` repeats it. The table as a file: "
        f"{', '.join(files)}.\n",
        markdown(study, found),
        more,
        f"![{study.title}]({study.name}.png)\n",
    ]
    return "\n".join(part for part in parts if part)


def first_block(study: Study, found: Summaries) -> str:
    """The first block of a study's table, for pages that summarise."""
    head = ["", "", "n", *(cell.label for cell in study.columns)]
    rows = block_lines(shown(study, found, times=False)[0])
    return table(head, rows, words=2)


def toctree(names: Iterable[str]) -> str:
    """A list of pages for the site's menu, which does not show it."""
    listed = "\n".join(names)
    return f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def what_was_run(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> str:
    """Numbers of fits and hours per study, each with a link to its page."""
    rows = []
    for study in studies:
        summaries = tables[study.name].values()
        counts = [summary.fits for summary in summaries]
        said = f"{min(counts)} to {max(counts)}" if counts else "not run yet"
        if len(set(counts)) == 1:
            said = f"{counts[0]}"
        hours = sum(map(_seconds, summaries)) / 3600
        name = f"[{study.name}]({study.folder}/{study.name}.md)"
        rows.append(
            (
                *(name if counts else study.name, study.title),
                *(said, sum(counts), f"{hours:.2f}"),
            )
        )
    head = ("study", "what it is", "realisations", "fits", "hours")
    return f"## What was run\n\n{table(head, rows)}"


def versions(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> str:
    """Versions and devices of all fits."""
    made = sorted({text for s in studies for text in made_with(tables[s.name])})
    listed = "\n".join(f"- {text}" for text in made)
    return f"## Made with\n\n{listed}\n" if made else ""


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], words: int | None = None
) -> str:
    """A table in Markdown.

    Args:
        head: Its headings.
        rows: Its rows.
        words: Number of columns of words, before those of numbers; all if None.
    """
    words = len(head) if words is None else words
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    lines = [head, rule, *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _seconds(summary: Summary) -> float:
    """Seconds of all fits; none if the table was written without times."""
    mean = summary.values.get("seconds")
    return 0.0 if mean is None else summary.fits * mean.value
