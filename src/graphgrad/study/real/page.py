"""The page of the study `real`: its table, and each set with its equations."""

from collections.abc import Mapping, Sequence

from ..study_page import toctree
from .runs import MEMBERS, OURS, SETTINGS, Results
from .scores import HELD, Interval, Score, SetScores
from .sets import DEVELOPED_ON, FORECASTS, SETS

GOOD = "no autocorrelation"
"""Beginning of a verdict without faults."""

NOTE = (
    "<!-- Written by `graphgrad reproduce real --out docs/scoreboards`; changes belong "
    "there. -->"
)

SEEN = ", ".join(DEVELOPED_ON)

HEAD = f"""\
# Forecasts of real series

{NOTE}

```
graphgrad reproduce real --out docs/scoreboards
```

Ten real series. Each method is fitted once, to the first rows; the last quarter is held
out, or as many rows as {FORECASTS} forecasts need, and forecast from every row in it.
Ours has the same settings for all: `GraphGrad({{settings}})`, and forecasts are medians
and bands of {MEMBERS} members. Everything else that the methods were given is listed
with [each set](real/sets.md), beside the equations. Inputs and the sine and cosine of a
declared season are given to every method, also for the rows that are forecast. No fit
used held-out rows. But defaults, such as how many recent rows set the width of bands,
were settled with a view to the held-out forecasts of five sets: {SEEN}.
The other five are also counted apart.

- persistence: the last row.
- AR: statsmodels' `AutoReg` of each column, with the inputs as regressors; its order,
  and the delays of a measured input, are those of lowest AIC.
- VAR: statsmodels' `VAR` of all columns, of the order with the lowest AIC; a measured
  input is one of its columns, not known in advance. There is none for a single column.
- PySINDy: STLSQ on finite differences, with the same terms and the threshold of lowest
  BIC.

Errors are root mean squares over columns and forecasts, in standard deviations of each
column in training. Intervals of 90 % are by a bootstrap of blocks of neighbouring
forecasts.
"""

Scores = Mapping[str, SetScores]


def page(scores: Scores, results: Results) -> str:
    """The page in Markdown.

    Args:
        scores: Scores by set.
        results: What the store has.
    """
    settings = ", ".join(f"{name}={value!r}" for name, value in SETTINGS.items())
    parts = [
        HEAD.replace("{settings}", settings),
        summary(scores, results),
        table(scores, results),
        "![Errors by horizon](real/errors.png)\n",
        "![Forecasts of the longest horizon](real/forecasts.png)\n",
        toctree(["real/sets"]),
    ]
    return "\n".join(parts)


def sets_page(scores: Scores, results: Results) -> str:
    """The page of the sets, each with its equations and checks, in Markdown."""
    head = f"""\
# The real series, and the equations found

{NOTE}

Each set of [the forecasts](../real.md) with its source, what was declared, the outcome,
the equations and the checks of the residuals.
"""
    return "\n".join([head, *(_of_set(name, results) for name in scores)])


def table(scores: Scores, results: Results) -> str:
    """One row per set and horizon."""
    head = ["set", "outcome", "steps", "ours", "in 90 % bands"]
    others = [m for m in _methods(scores) if m != OURS]
    rows: list[list[str]] = []
    for name, one in scores.items():
        facts = results[name, OURS].facts
        for i, horizon in enumerate(SETS[name].horizons):
            first = [name, facts["outcome"]] if i == 0 else ["", ""]
            score = one.scores[OURS][i]
            rows.append(
                [
                    *(*first, str(horizon), _number(score.error), _share(score)),
                    *(_value(one, method, i) for method in others),
                    _number(one.ratios[i]),
                ]
            )
    return markdown_table([*head, *others, "ours / best"], rows)


def summary(scores: Scores, results: Results) -> str:
    """The counts by which the study is judged."""
    judged = {name: one for name, one in scores.items() if one.judged}
    apart = {name: one for name, one in judged.items() if name not in DEVELOPED_ON}
    return (
        f"{_counts(judged, results)}\nThe same of the sets that were not looked at:\n\n"
        f"{_counts(apart, results)}"
    )


def _counts(judged: Scores, results: Results) -> str:
    n = len(judged)

    def said(names: Sequence[str]) -> str:
        return f"{len(names)} of {n}" + (f" ({', '.join(names)})" if names else "")

    low, high = (round(100 * end) for end in HELD)
    over = [
        name
        for name in judged
        if results[name, OURS].facts["outcome"] == "converged"
        and failed_checks(results, name)
    ]
    return f"""\
- At most 5 % worse than the best of the others at every horizon: \
{said([k for k, one in judged.items() if one.as_good])}.
- Better than all others at every horizon: \
{said([k for k, one in judged.items() if one.better])}.
- 90 % bands hold {low} to {high} % at every horizon: \
{said([k for k, one in judged.items() if one.held])}.
- `converged` although a check of the residuals fails: {said(over)}.
"""


def failed_checks(results: Results, name: str) -> list[str]:
    """Verdicts on the residuals that are not good."""
    lines = results[name, OURS].facts["verdicts"].splitlines()
    return [line for line in lines if GOOD not in line]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _of_set(name: str, results: Results) -> str:
    of, facts = SETS[name], results[name, OURS].facts
    rows = len(of.series().values)
    said = f"{facts['doubts']}\n{facts['verdicts']}".strip()
    checks = "\n".join(f"- {line}" for line in said.splitlines())
    return f"""\
## {name}

{of.title}. {rows} rows, {of.first_origin(rows)} of them for the fit. Source:
{of.source}. Licence: {of.licence}. Declared: {of.declared}.

Outcome: `{facts["outcome"]}`.

```
{facts["equations"]}
```

{checks}
"""


def _methods(scores: Scores) -> list[str]:
    return list(dict.fromkeys(m for one in scores.values() for m in one.scores))


def _value(one: SetScores, method: str, i: int) -> str:
    if method not in one.scores:
        return "-"
    value = f"{one.scores[method][i].error.value:.3f}"
    return f"**{value}**" if one.best[i] == method else value


def _number(value: Interval) -> str:
    return f"{value.value:.3f} ({value.low:.2f} to {value.high:.2f})"


def _share(score: Score) -> str:
    if score.held is None:
        return "-"
    value, low, high = (round(100 * part) for part in score.held)
    return f"{value} % ({low} to {high})"
