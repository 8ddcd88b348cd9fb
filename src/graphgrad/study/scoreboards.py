"""The page of flows compared with peers, from the stored results."""

from collections.abc import Mapping, Sequence

from .by_system import OfSystem, wrong
from .plan import Study
from .study_page import NOTE, first_block, toctree, versions, what_was_run
from .summary import Summaries

OURS = "flow"
"""The method whose wrong systems are listed."""

HEAD = f"""\
# Flows compared with peers and published numbers

{NOTE}

Equations dx/dt of systems from external sources, estimated from noisy series with
realistic sampling; compared with PySINDy on the same series, and with published
numbers. Rows that begin with "published:" are as printed. The studies run, resume and
distribute over machines like those of [the paper](paper.md):

```
graphgrad reproduce flows --realisations 1 --cells Lorenz,Finance --methods flow
graphgrad reproduce flows --workers 16
graphgrad reproduce lorenz-odr --cells "eps 0.2 time 6" --realisations 20
graphgrad reproduce page --out docs/scoreboards
```

`--cells` takes a column ("100/period 1 %"), a system ("Lorenz"), or one system in one
column ("Lorenz 100/period 1 %"). The table of `lorenz-odr` was measured on a GPU, all
draws of a length in one call: [further measurements](flow-checks.md).
"""


def scoreboards(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> str:
    """The page in Markdown.

    Args:
        studies: Those of the page.
        tables: Summaries of the fits of each, by its name.
    """
    run = [study for study in studies if tables[study.name]]
    parts = [HEAD]
    for study in run:
        parts.append(f"## {study.title}\n")
        parts.append(first_block(study, tables[study.name]))
        parts.append(
            f"[{study.name}]({study.folder}/{study.name}.md) has all metrics and notes."
            f"\n\n![{study.title}]({study.folder}/{study.name}.png)\n"
        )
    parts += [what_was_run(studies, tables), versions(studies, tables)]
    parts.append(toctree([f"{s.folder}/{s.name}" for s in run]))
    return "\n".join(part for part in parts if part)


def wrong_systems(rows: Sequence[OfSystem]) -> str:
    """Systems that are not always recovered, with the number of fits."""
    found = wrong(list(rows), OURS)
    if not found:
        return ""
    lines = [
        f"- {column}: {', '.join(map(_said, ones)) if ones else 'none'}."
        for column, ones in found.items()
    ]
    head = (
        "Systems that `flow` did not recover in every fit, with the number that it did:"
    )
    return f"{head}\n\n" + "\n".join(lines) + "\n"


def _said(row: OfSystem) -> str:
    return f"{row.system} ({row.exact} of {row.fits})"
