"""The page of what cannot hold in the paper, from the stored results."""

from collections.abc import Mapping, Sequence

from .evidence import Below, RanAway, Scores, errors, ran_away, scores
from .plan import Study
from .printed import not_stated
from .study_page import NOTE, table
from .summary import Summaries

HEAD = f"""\
# Where the printed numbers and settings cannot hold

{NOTE}

What the [paper](../paper.md) prints, compared with what its own settings allow.
"""


def checks_page(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> str:
    """The page in Markdown.

    Args:
        studies: Those that were run.
        tables: Summaries of the fits of each, by its name.
    """
    parts = [
        HEAD,
        _ran_away(ran_away(studies, tables)),
        _errors(errors(studies, tables)),
        _scores(scores(studies)),
        _not_stated(),
    ]
    return "\n".join(part for part in parts if part)


def checks_in_brief(studies: Sequence[Study], tables: Mapping[str, Summaries]) -> str:
    """What the page finds, as a list."""
    away, printed = ran_away(studies, tables), scores(studies)
    parts = [
        f"- Divergent draws: {_worst(away)}" if away else "",
        _counted(errors(studies, tables)),
        f"- {_apart(printed)}" if printed else "",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _ran_away(cells: Sequence[RanAway]) -> str:
    if not cells:
        return ""
    rows = [(c.study, c.cell, f"{100 * c.share:.0f} %", c.draws) for c in cells]
    return f"""\
## Divergent draws

With the step that is stated, a trajectory of the discretised system may leave the
attractor and diverge. The paper does not say how such draws were treated. We reject and
redraw them, so that all data are bounded trajectories.
T{_worst(cells)[1:]}

{table(("study", "cell", "rejected", "draws"), rows)}"""


def _worst(cells: Sequence[RanAway]) -> str:
    worst = max(cells, key=lambda cell: cell.share)
    return (
        f"the rejected share is highest in {worst.study}, {worst.cell}: "
        f"{100 * worst.share:.0f} %."
    )


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
        *("oracle, mean", "oracle, median", "printed / mean"),
    )
    return f"""\
## Errors compared with a method that knows the support

`support-known` estimates only the nonzero coefficients. A method that also has to
select them has more to estimate from the same data.

{_counted(cells)}

RMSE in 1e-3, over all entries of C; the paper's RMSE may have another scale or another
average, which we could not find in the text.

{table(head, rows)}"""


def _counted(cells: Sequence[Below]) -> str:
    """Number of printed errors below the oracle, by origin of its data."""
    said = []
    for stated, whose in ((True, "as stated"), (False, "of the `-stable` studies")):
        ones = [c for c in cells if c.stated == stated]
        mean = sum(c.printed < c.yardstick.value for c in ones)
        middle = sum(c.printed < c.median for c in ones)
        if ones:
            said.append(
                f"- With data {whose}, {mean} of {len(ones)} printed errors are below "
                f"the oracle's mean, and {middle} are below its median."
            )
    return "\n".join(said)


def _not_stated() -> str:
    listed = "\n".join(f"- {one}" for one in not_stated())
    return f"""\
## Choices that the paper leaves open

The paper does not state everything needed to reproduce it; our choices are listed below
the tables of the studies concerned.

{listed}
"""


def _scores(cells: Sequence[Scores]) -> str:
    if not cells:
        return ""
    rows = [
        (c.study, c.cell, f"{c.printed:.2f}", f"{c.nonzero:.3f}", f"{c.zero:.3f}")
        for c in cells
    ]
    head = ("study", "cell", "printed", "if nonzeros are positive", "if zeros are")
    return f"""\
## Specificity compared with recall and precision

Given the numbers of true nonzeros and zeros, recall and precision determine the number
of false positives, and so the specificity. (For averages of scores this holds
approximately.)
{_apart(cells)}

{table(head, rows)}"""


def _apart(cells: Sequence[Scores]) -> str:
    apart = [
        c
        for c in cells
        if min(abs(c.printed - c.nonzero), abs(c.printed - c.zero)) > 0.02
    ]
    return (
        f"In {len(apart)} of {len(cells)} cells the printed specificity is more than "
        '0.02 away from both readings of "positive".'
    )
