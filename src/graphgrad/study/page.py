"""The page "Reproducing the paper", from the stored results."""

from collections.abc import Iterable, Mapping, Sequence

from .evidence import Below, RanAway, Scores, errors, ran_away, scores
from .plan import Study
from .printed import not_stated
from .summary import Summaries, Summary
from .tables import made_with, markdown

HEAD = """\
# Reproducing the paper

<!-- Written by `graphgrad reproduce page --out docs`; changes belong there. -->

Every table and figure of the paper's numerical study, reproduced with the paper's
solvers, with ours, with peers, and with two yardsticks: `support-known` is given the
support of the coefficients, `states-known` sees the states without noise. A row named
after a method is a method of this project or of a peer; rows that begin with "paper:"
are as printed.

```
graphgrad reproduce list
graphgrad reproduce lorenz63-d2 --realisations 4
graphgrad reproduce all --workers 8
graphgrad reproduce all --cluster tcp://10.0.0.1:8786
```

Results are stored in `study.sqlite`, one row per fit; stored fits are not run again.
For each method and cell this page has the version with more fits, the stored results or
the table written before, so that it can be extended on another machine. The numbers of
a realisation depend on its study, method and index, and in the last digits on the other
realisations of its chunk, but not on where it is run, given the same versions and kind
of device.
"""


def page(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> str:
    """The page in Markdown.

    Args:
        studies: All studies.
        tables: Summaries of the fits of each, by its name.
    """
    run = [study for study in studies if tables[study.name]]
    parts = [HEAD, what_was_run(studies, tables)]
    if run:
        parts.append("## Where the printed numbers and settings cannot hold\n")
        parts.append(_ran_away(ran_away(run, tables)))
        parts.append(_errors(errors(run, tables)))
        parts.append(_scores(scores(run)))
        parts.append(_not_stated())
    for study in run:
        parts.append(f"## {study.name}: {study.title}\n")
        parts.append(markdown(study, tables[study.name]))
        parts.append(f"![{study.title}]({study.folder}/{study.name}.png)\n")
    return "\n".join(part for part in parts if part)


def what_was_run(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> str:
    """Numbers of fits and hours per study, and versions."""
    rows = []
    for study in studies:
        summaries = tables[study.name].values()
        counts = [summary.fits for summary in summaries]
        said = f"{min(counts)} to {max(counts)}" if counts else "not run yet"
        if len(set(counts)) == 1:
            said = f"{counts[0]}"
        hours = sum(map(_seconds, summaries)) / 3600
        rows.append((study.name, study.title, said, sum(counts), f"{hours:.2f}"))
    head = ("study", "what it is", "realisations", "fits", "hours")
    made = sorted({text for s in studies for text in made_with(tables[s.name])})
    versions = "\n".join(f"- {text}" for text in made)
    said = f"\nMade with:\n\n{versions}\n" if made else ""
    return f"## What was run\n\n{_table(head, rows)}{said}"


def _seconds(summary: Summary) -> float:
    """Hours of all fits; none if the table was written without times."""
    mean = summary.values.get("seconds")
    return 0.0 if mean is None else summary.fits * mean.value


def _ran_away(cells: Sequence[RanAway]) -> str:
    if not cells:
        return ""
    worst = max(cells, key=lambda cell: cell.share)
    rows = [(c.study, c.cell, f"{100 * c.share:.0f} %", c.draws) for c in cells]
    return f"""\
### Divergent draws

With the step that is stated, a trajectory of the discretised system may leave the
attractor and diverge. The paper does not say how such draws were treated. We reject and
redraw them, so that all data are bounded trajectories. The rejected share is
highest in {worst.study}, {worst.cell}: {100 * worst.share:.0f} %.

{_table(("study", "cell", "rejected", "draws"), rows)}"""


def _errors(cells: Sequence[Below]) -> str:
    if not cells:
        return ""
    rows = [
        (
            *(c.study, c.cell, c.row, f"{1e3 * c.printed:.3g}"),
            *(f"{1e3 * c.yardstick.value:.3g}", f"{1e3 * c.median:.3g}"),
            f"{c.printed / c.yardstick.value:.2g}",
        )
        for c in cells
    ]
    head = (
        *("study", "cell", "row of the paper", "printed"),
        *("yardstick, mean", "yardstick, median", "printed / mean"),
    )
    return f"""\
### Errors compared with a method that knows the support

`support-known` estimates only the nonzero coefficients. A method that also has to
select them has more to estimate from the same data.

{_counted(cells)}

RMSE in 1e-3, over all entries of C; the paper's RMSE may have another scale or another
average, which we could not find in the text.

{_table(head, rows)}"""


def _counted(cells: Sequence[Below]) -> str:
    """Number of printed errors below the yardstick, by origin of its data."""
    said = []
    for stated, whose in ((True, "as stated"), (False, "of the `-stable` studies")):
        ones = [c for c in cells if c.stated == stated]
        mean = sum(c.printed < c.yardstick.value for c in ones)
        middle = sum(c.printed < c.median for c in ones)
        if ones:
            said.append(
                f"- With data {whose}, {mean} of {len(ones)} printed errors are below "
                f"the yardstick's mean, and {middle} are below its median."
            )
    return "\n".join(said)


def _not_stated() -> str:
    listed = "\n".join(f"- {one}" for one in not_stated())
    return f"""\
### Choices that the paper leaves open

The paper does not state everything needed to reproduce it; our choices are listed below
the tables of the studies concerned.

{listed}
"""


def _scores(cells: Sequence[Scores]) -> str:
    if not cells:
        return ""
    apart = [
        c
        for c in cells
        if min(abs(c.printed - c.nonzero), abs(c.printed - c.zero)) > 0.02
    ]
    rows = [
        (c.study, c.cell, f"{c.printed:.2f}", f"{c.nonzero:.3f}", f"{c.zero:.3f}")
        for c in cells
    ]
    head = ("study", "cell", "printed", "if nonzeros are positive", "if zeros are")
    return f"""\
### Specificity compared with recall and precision

Given the numbers of true nonzeros and zeros, recall and precision determine the number
of false positives, and so the specificity. (For averages of scores this holds
approximately.) In {len(apart)} of {len(cells)} cells the printed specificity is more
than 0.02 away from both readings of "positive".

{_table(head, rows)}"""


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
