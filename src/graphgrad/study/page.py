"""The page "Reproducing the paper", from the stored results."""

import math
from collections.abc import Mapping, Sequence

from .checks_page import checks_in_brief
from .plan import Cell, Study
from .study_page import NOTE, table, toctree, versions, what_was_run
from .summary import Summaries

HEAD = f"""\
# The paper's tables and figures, reproduced

{NOTE}

Every table and figure of the paper's numerical study, reproduced with the paper's
solvers, with ours, with peers, and with two oracles: `support-known` is given the
support of the coefficients, `states-known` sees the states without noise. A row named
after a method is a method of this project or of a peer; rows that begin with "paper:"
are as printed.

```
graphgrad reproduce list
graphgrad reproduce lorenz63-d2 --realisations 4
graphgrad reproduce all --workers 8
graphgrad reproduce all --cluster tcp://10.0.0.1:8786
graphgrad reproduce page --out docs/scoreboards
```

Results are stored in `study.sqlite`, one row per fit; stored fits are not run again.
For each method and cell the pages have the version with more fits, the stored results
or the table written before, so that they can be extended on another machine. The
numbers of a realisation depend on its study, method and index, and in the last digits
on the other realisations of its chunk, but not on where it is run, given the same
versions and kind of device.

[Explained elsewhere](../explanation/paper.md): why its recipe does not converge.
"""

COLUMNS = {
    "paper's solver, as printed": "",
    "paper's solver, run": "b-graphgrad",
    "adaptive, noise known": "adaptive",
    "adaptive, noise learnt": "adaptive-learnt",
    "PySINDy (STLSQ by BIC)": "sindy-stlsq",
    "lasso": "lasso",
    "states known": "states-known",
}
"""Methods of the table in brief; the first is what the paper prints."""

PREFERRED = "T=100"
"""The column that the table in brief shows, where a study has it."""


def page(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> str:
    """The page in Markdown.

    Args:
        studies: All studies.
        tables: Summaries of the fits of each, by its name.
    """
    run = [study for study in studies if tables[study.name]]
    parts = [HEAD, _in_brief(run, tables)]
    if run:
        parts.append("## Where the printed numbers and settings cannot hold\n")
        parts.append(checks_in_brief(run, tables))
        parts.append("The [checks](paper/checks.md) have the tables.\n")
    parts += [what_was_run(studies, tables), versions(studies, tables)]
    parts.append(toctree(["paper/checks", *(f"paper/{s.name}" for s in run)]))
    return "\n".join(part for part in parts if part)


def _in_brief(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> str:
    """F1 of the main methods, one row per study."""
    rows = []
    for study in studies:
        cell = _column(study)
        values = [
            _f1(tables[study.name], cell, method) if method else _printed(study, cell)
            for method in COLUMNS.values()
        ]
        if any(values[1:]):
            link = f"[{study.name}]({study.folder}/{study.name}.md)"
            rows.append([link, cell.label, *values])
    if not rows:
        return ""
    head = table(["study", "data", *COLUMNS], rows, words=2)
    return f"""\
## In brief

F1 of the terms, mean over realisations; 1 is all terms right and no other.

{head}"""


def _column(study: Study) -> Cell:
    named = [cell for cell in study.columns if cell.label == PREFERRED]
    return (named or list(study.columns))[-1]


def _printed(study: Study, cell: Cell) -> str:
    """What the paper prints for its solver, if it does."""
    printed = study.paper.get("B-GraphGrad", {}).get("f1", ())
    labels = [column.label for column in study.columns]
    value = dict(zip(labels, printed, strict=False)).get(cell.label, math.nan)
    return "" if math.isnan(value) else f"{value:.2f}"


def _f1(found: Summaries, cell: Cell, method: str) -> str:
    summary = found.get((cell.label, method))
    value = None if summary is None else summary.values.get("f1")
    if value is None or math.isnan(value.value):
        return ""
    return f"{value.value:.2f}"
