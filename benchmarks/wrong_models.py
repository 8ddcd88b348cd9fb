"""What a default fit says of data that no model of the class fits, or that mislead.

`python benchmarks/wrong_models.py` fits draws of the kinds of `wrong_kinds.py`, adds
each to `docs/scoreboards/wrong-models.csv` and writes `wrong-models.md` beside it. A
run that was cut off goes on where it ended. `--draws N` sets the draws of each kind
(default 100), `--kinds NAME ...` selects kinds by the start of their names, `--minutes
M` ends the run after that time, `--page` only writes the page. `--first N` is the first
seed: checks were developed on seeds from 10000, never on those of the page, from 40.
"""

import argparse
import csv
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.stats import beta

import graphgrad as gg
from wrong_kinds import KINDS, ROWS, Kind

PAGES = Path(__file__).parents[1] / "docs" / "scoreboards"
FIELDS: tuple[str, ...] = (
    "kind",
    "seed",
    "outcome",
    "dynamics",
    "false_edges",
    "doubts",
    "seconds",
)
LIMIT = 0.05
"""Highest share of `converged` of a kind that a check can see."""

Rows = list[dict[str, str]]


def main() -> None:
    """Fit what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first", type=int, default=40)
    parser.add_argument("--kinds", nargs="*", default=[""])
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--out", type=Path, default=PAGES)
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    file = options.out / "wrong-models.csv"
    done = {(row["kind"], int(row["seed"])) for row in stored(file)}
    until = time.monotonic() + 60 * options.minutes
    # One draw of every kind after the other: a run that is cut off has some of each.
    for seed in range(options.first, options.first + options.draws):
        for name in KINDS:
            wanted = name.startswith(tuple(options.kinds)) and not options.page
            if wanted and (name, seed) not in done and time.monotonic() < until:
                append(file, judged(name, seed), FIELDS)
    (options.out / "wrong-models.md").write_text(page(stored(file)), encoding="utf-8")


def judged(name: str, seed: int) -> dict[str, object]:
    """How the fit of one draw ends."""
    kind, begin = KINDS[name], time.monotonic()
    y = kind.draw(np.random.default_rng([seed, list(KINDS).index(name)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gg.GraphGrad(**kind.settings).fit(y)
    false = [
        f"x{b + 1}->x{a + 1}"
        for a, b in zip(*np.nonzero(model.adjacency_), strict=True)
        if a != b and (a, b) not in kind.acts
    ]
    checks = [doubt.check for doubt in model._fit.doubts if doubt.decisive]
    seconds = f"{time.monotonic() - begin:.1f}"
    found = (model.outcome_, model.dynamics_, " ".join(false), " ".join(checks))
    return dict(zip(FIELDS, (name, seed, *found, seconds), strict=True))


def stored(file: Path) -> Rows:
    """Results so far."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def append(file: Path, row: dict[str, object], fields: tuple[str, ...]) -> None:
    """Add a result to the file."""
    new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, fields, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def page(rows: Rows) -> str:
    """The page in Markdown."""
    seen = {name: kind for name, kind in KINDS.items() if kind.seen_by}
    rest = {name: kind for name, kind in KINDS.items() if not kind.seen_by}
    return f"""\
# Data that no model fits

<!-- Written by `python benchmarks/wrong_models.py`; changes belong there. -->

```
python benchmarks/wrong_models.py
```

{ROWS} rows of two columns of each kind, fitted by `GraphGrad()` with its defaults; with
`dt`, so that a flow is the default, where *flow* is said. No model of the class is
right, so that `converged` is false, unless *right* is said. An arrow between the
columns is false unless one acts on the other. Each draw is a line of
[wrong-models.csv](wrong-models.csv); in brackets is the upper end of the 95 % interval.

## Kinds that a check can see

Listed, with the check, in `benchmarks/wrong_kinds.py` before the first fit. The aim is
`converged` in {LIMIT:.0%} of the draws at most. {summary(rows, seen)}

{table(rows, seen)}
## Kinds that no check of ours can see

Only reported: a fit that says `converged` on such data looks like any other.

{table(rows, rest)}
## How to read this

- An arrow is predictive under the model. The usual way in which it is wrong is a common
  driver that was not observed (`hidden driver`), which no check can see.
- `doubtful`, `undecided` and all other outcomes but `converged` say not to rely on the
  equations; `nothing_left` says that there are none.
- Checks were developed on other draws, of seeds from 10000, and must call at most 1 %
  of right fits `doubtful` (`python benchmarks/doubts.py`).
- The check of breaks was added when draws of `mean break` with seeds from 0 had passed:
  this page is of later ones.
"""


def summary(rows: Rows, kinds: dict[str, Kind]) -> str:
    """How many kinds are within the limit, and which are not."""
    shares = {name: _share(_of(rows, name)) for name in kinds if _of(rows, name)}
    over = [f"{name} ({share:.0%})" for name, share in shares.items() if share > LIMIT]
    text = f"That holds for {len(shares) - len(over)} of {len(shares)} kinds"
    return f"{text}; not for {', '.join(over)}." if over else f"{text}."


def table(rows: Rows, kinds: dict[str, Kind]) -> str:
    """One line per kind."""
    lines = ["| kind | draws | `converged` | with a false arrow | outcomes | checks |"]
    lines += ["|---|---:|---:|---:|---|---|"]
    for name, kind in kinds.items():
        found = _of(rows, name)
        if not found:
            continue
        converged = sum(row["outcome"] == "converged" for row in found)
        arrows = sum(bool(row["false_edges"]) for row in found)
        how = Counter(row["outcome"] for row in found).most_common()
        checks = Counter(c for row in found for c in row["doubts"].split())
        title = f"**{name}**: {kind.title}{' (flow)' * kind.flow}. "
        title += f"Expected: {kind.seen_by}." if kind.seen_by else f"{kind.remark}."
        right = " (right)" * kind.possible
        cells = [title.replace("|", "/"), str(len(found))]
        cells += [f"{_bounded(converged, len(found))}{right}"]
        cells += [_bounded(arrows, len(found)), _listed(how)]
        cells += [_listed(checks.most_common())]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _of(rows: Rows, name: str) -> Rows:
    return [row for row in rows if row["kind"] == name]


def _share(rows: Rows) -> float:
    return sum(row["outcome"] == "converged" for row in rows) / max(len(rows), 1)


def _bounded(k: int, n: int) -> str:
    """A share, with the upper end of its exact one-sided interval."""
    top = 1.0 if k == n else float(beta.ppf(0.95, k + 1, n - k))
    return f"{k / n:.0%} ({top:.0%})"


def _listed(counts: list[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts)


if __name__ == "__main__":
    main()
