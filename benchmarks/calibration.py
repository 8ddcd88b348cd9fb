"""Whether probabilities of edges and intervals of coefficients hold.

`python benchmarks/calibration.py` fits random systems drawn from the priors of the
criteria (`prior_systems.py`) and four known systems with the defaults, adds each fit to
`docs/scoreboards/calibration.csv` and writes `calibration.md` beside it. A run that was
cut off goes on where it ended. `--draws N` sets the draws of each cell (default 200),
`--cells NAME ...` selects cells by the start of their names, `--minutes M` ends the run
after that time, `--page` only writes the page. `--first N` is the first seed: methods
were developed on seeds from 10000, never on those of the page, from 0.
"""

import argparse
import time
import warnings
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

import graphgrad as gg
from graphgrad.diagnostics.choices import Choices
from graphgrad.diagnostics.term_confidence import criterion_confidence
from prior_systems import DT, LIBRARY, N_STATES, Drawn, draw
from wrong_models import PAGES, Rows, append, stored

FILE = "calibration.csv"
FIELDS = (
    *("cell", "seed", "system", "rejected", "outcome", "right", "alternatives"),
    *("truth_weight", "true_terms", "found_terms", "terms", "edges"),
    *("covered_given", "covered_chosen"),
)
BIN = 400
"""Edges in a bin of probabilities."""
LEVEL = 0.9
EVERY = ("noise", "coefficients", "terms")
ENTERS = np.asarray(LIBRARY.incidence) != 0


class Cell(NamedTuple):
    """What is fitted.

    Attributes:
        kind: `"prior"`, `"moved"` or `"zoo"`.
        dynamics: `"map"` or `"flow"`.
        rows: Rows of a series.
    """

    kind: str
    dynamics: str
    rows: int

    @property
    def name(self) -> str:
        """Its name in the file."""
        return f"{self.kind} {self.dynamics} {self.rows}"


CELLS = {
    cell.name: cell
    for cell in (
        Cell(*each)
        for each in product(("prior", "moved", "zoo"), ("map", "flow"), (25, 100))
    )
}

KINDS = {
    "prior": "drawn from the prior of the criterion",
    "moved": "the same, where every equation has a term that is not a constant",
    "zoo": "Lorenz 63, Rössler, SIR, and the paper's random sparse systems",
}


def main() -> None:
    """Fit what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cells", nargs="*", default=[""])
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--out", type=Path, default=PAGES)
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    file = options.out / FILE
    done = {(row["cell"], int(row["seed"])) for row in stored(file)}
    until = time.monotonic() + 60 * options.minutes
    for seed in range(options.first, options.first + options.draws):
        for name, cell in CELLS.items():
            wanted = name.startswith(tuple(options.cells)) and not options.page
            if wanted and (name, seed) not in done and time.monotonic() < until:
                append(file, judged(cell, seed), FIELDS)
    (options.out / "calibration.md").write_text(page(stored(file)), encoding="utf-8")


def judged(cell: Cell, seed: int) -> dict[str, object]:
    """What one fit says, and whether that is true."""
    system, drawn, dt = drawn_for(cell, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gg.GraphGrad(dynamics=cell.dynamics, dt=dt).fit(drawn.rows)
        given = model.confidence_intervals(LEVEL)
        chosen = model.confidence_intervals(LEVEL, sources=EVERY)
        edges = model.edge_probabilities()
    truth, found = drawn.coefficients, model._fit
    choices, there = Choices.of(found), truth != 0
    same = (choices.present == there).all(axis=-1)
    values = (
        *(cell.name, seed, system, drawn.rejected, model.outcome_),
        *(int(same[0].all()), len(same) - 1),
        f"{np.prod(np.sum(choices.weights * same, axis=0)):.3f}",
        *(_bits(there), _bits(choices.present[0])),
        *(_shares(criterion_confidence(found)), _shares(edges)),
        *(_bits(_inside(ends, truth)) for ends in (given, chosen)),
    )
    return dict(zip(FIELDS, values, strict=True))


def drawn_for(cell: Cell, seed: int) -> tuple[str, Drawn, float | None]:
    """The name of a system, a draw of it, and the interval between its rows."""
    flow = cell.dynamics == "flow"
    if cell.kind != "zoo":
        moved = cell.kind == "moved"
        rng = np.random.default_rng([seed, cell.rows, flow, moved])
        drawn = draw(rng, cell.dynamics, cell.rows, moved=moved)
        return "random", drawn, DT if flow else None
    key = jax.random.key(seed)
    names = "lorenz63", "rossler", "sir", "random_sparse"
    name, rejected = names[seed % 4], 0
    while True:
        keyed = jax.random.fold_in(key, rejected)
        system = {
            "lorenz63": lambda: gg.systems.lorenz63(dt=0.05 if flow else 0.02),
            "rossler": lambda: gg.systems.rossler(dt=0.2 if flow else 0.05),
            "sir": lambda: gg.systems.sir(dt=1.0 if flow else 0.5),
            "random_sparse": lambda: gg.systems.random_sparse(keyed),  # noqa: B023
        }[name]()
        scheme = "flow" if flow else "euler"
        series = system.simulate(keyed, cell.rows, scheme=scheme)
        if series.diverged_at is None:
            break
        rejected += 1
    coefficients = np.asarray(system.coefficients(dynamics=cell.dynamics))
    rows = np.asarray(series.observations, float)
    return name, Drawn(coefficients, rows, rejected), system.dt if flow else None


def _inside(ends: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return (ends[..., 0] <= truth) & (truth <= ends[..., 1])


def _bits(flags: np.ndarray) -> str:
    return "b" + "".join("01"[int(flag)] for flag in flags.ravel())


def _shares(values: np.ndarray) -> str:
    return " ".join(f"{value:.3g}" for value in values.ravel())


class Found(NamedTuple):
    """The fits of a cell as arrays.

    Attributes:
        outcomes: How they ended.
        right: Whether the terms are exactly right.
        empty: Whether the system has no term but constants.
        edges: Probabilities of edges.
        true_edges: Whether they exist.
        terms: Probabilities of terms.
        true_terms: Whether they exist.
        selected: Whether the fit has them.
        given: Whether their intervals given the terms cover the truth.
        chosen: The same of intervals with the choice of terms.
        weight: Weight of the true terms.
        rejected: Series that left the bound.
    """

    outcomes: np.ndarray
    right: np.ndarray
    empty: np.ndarray
    edges: np.ndarray
    true_edges: np.ndarray
    terms: np.ndarray
    true_terms: np.ndarray
    selected: np.ndarray
    given: np.ndarray
    chosen: np.ndarray
    weight: np.ndarray
    rejected: int

    @classmethod
    def of(cls, rows: Rows) -> "Found":
        """The rows of a cell."""

        def bits(name: str) -> np.ndarray:
            return np.array([[c == "1" for c in row[name][1:]] for row in rows])

        def numbers(name: str) -> np.ndarray:
            return np.array([row[name].split() for row in rows], float)

        terms = bits("true_terms")
        there = terms.reshape(len(rows), N_STATES, 1, -1)
        return cls(
            np.array([row["outcome"] for row in rows]),
            np.array([row["right"] == "1" for row in rows]),
            ~(there & ENTERS.any(axis=0)).any(axis=(1, 2, 3)),
            numbers("edges"),
            (there & ENTERS).any(axis=-1).reshape(len(rows), -1),
            numbers("terms"),
            terms,
            bits("found_terms"),
            bits("covered_given"),
            bits("covered_chosen"),
            np.array([row["truth_weight"] for row in rows], float),
            sum(int(row["rejected"]) for row in rows),
        )


def binned(p: np.ndarray, true: np.ndarray, size: int = BIN) -> list[tuple[float, ...]]:
    """Mean probability and share that is true of bins of so many, from low to high."""
    order = np.argsort(p.ravel(), kind="stable")
    parts = np.array_split(order, max(len(order) // size, 1))
    return [(p.ravel()[i].mean(), true.ravel()[i].mean()) for i in parts]


def page(rows: Rows) -> str:
    """The page in Markdown."""
    cells = {
        name: Found.of(mine)
        for name in CELLS
        if (mine := [row for row in rows if row["cell"] == name])
    }
    all_cells = dict(cells)
    for kind in KINDS:
        if mine := [row for row in rows if row["cell"].startswith(kind)]:
            all_cells[f"all of {kind}"] = Found.of(mine)
    kinds = "\n".join(f"- **{kind}**: {text}." for kind, text in KINDS.items())
    return f"""\
# Calibration

<!-- Written by `python benchmarks/calibration.py`; changes belong there. -->

```
python benchmarks/calibration.py
```

Do probabilities of edges agree with how often they exist, and do {LEVEL:.0%} intervals
cover? Fits by `GraphGrad` with its defaults, all noise learnt, degree 2, to 25 and 100
rows of systems of three states; maps with Gaussian noise, and flows. Each fit is a line
of [{FILE}]({FILE}); the draws are in `benchmarks/prior_systems.py`. Methods were
developed on seeds from 10000; these are seeds from 0.

{kinds}

The criterion's prior expects about one term in the three equations of the first kind,
beside states in their own equations, which is what simulation-based calibration asks
for. The others have more, as real systems do, and show what the probabilities are worth
if the prior is wrong.

## Edges

`edge_probabilities()` of all nine possible edges, in bins of {BIN} or more edges of
increasing probability: mean probability / share that exists. The aim is a difference of
at most 0.06 in each bin of the first kind.

{edge_table(all_cells)}
In bins of fixed ends, all lengths and dynamics together: mean probability / share that
exists (number of edges).

{fixed_table(cells)}
The known systems one by one; `systems.random_sparse` has eight terms that are weak
beside its noise:

{zoo_table(rows)}
## Outcomes

*Right* are fits with exactly the right terms, among systems that have any but
constants. The weight is that of the true terms among the fit and its alternatives, in
the mean over all fits.

{outcome_table(all_cells)}
## Intervals

Share of true coefficients in their {LEVEL:.0%} intervals: `confidence_intervals(0.9)`,
given the terms, and with `sources=("noise", "coefficients", "terms")`, after the
selection. *Selected*: of the terms that fits have, true ones or not; this is what
Bayesian intervals promise if the prior is right. *True terms*: of the terms that
systems have, where one that was not found counts as zero.

{interval_table(all_cells)}"""


def edge_table(cells: dict[str, Found]) -> str:
    """One line per cell."""
    lines = ["| systems | fits (rejected series) | bins | largest difference |"]
    lines += ["|---|---:|---|---:|"]
    for name, found in cells.items():
        bins = binned(found.edges, found.true_edges)
        most = max(abs(p - share) for p, share in bins)
        text = ", ".join(f"{p:.2f} / {share:.2f}" for p, share in bins)
        fits = f"{len(found.right)} ({found.rejected})"
        lines.append(f"| {name} | {fits} | {text} | {most:.2f} |")
    return "\n".join(lines) + "\n"


def fixed_table(cells: dict[str, Found]) -> str:
    """One column per kind."""
    ends = (0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.001)
    kinds = [kind for kind in KINDS if any(n.startswith(kind) for n in cells)]
    lines = [f"| probability | {' | '.join(kinds)} |", "|---|" + "---:|" * len(kinds)]
    for low, high in pairwise(ends):
        entries = []
        for kind in kinds:
            mine = [found for name, found in cells.items() if name.startswith(kind)]
            p = np.concatenate([found.edges.ravel() for found in mine])
            true = np.concatenate([found.true_edges.ravel() for found in mine])
            here = (p >= low) & (p < high)
            mean = (
                f"{p[here].mean():.2f} / {true[here].mean():.2f}" if here.any() else ""
            )
            entries.append(f"{mean} ({here.sum()})")
        lines.append(f"| {low:g} to {min(high, 1):g} | {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


def zoo_table(rows: Rows) -> str:
    """One line per known system: how many of the terms and edges are found."""
    lines = ["| system | fits | terms found / true | all edges | those below 0.05 |"]
    lines += ["|---|---:|---:|---:|---:|"]
    zoo = [row for row in rows if row["cell"].startswith("zoo")]
    for cell, name in product(CELLS, dict.fromkeys(row["system"] for row in zoo)):
        mine = [r for r in zoo if (r["cell"], r["system"]) == (cell, name)]
        if not mine:
            continue
        found = Found.of(mine)
        low = found.edges < 0.05
        numbers = (
            part.sum() / len(mine) for part in (found.selected, found.true_terms)
        )
        entries = [f"{name}, {cell.removeprefix('zoo ')}", str(len(mine))]
        entries += [" / ".join(f"{number:.1f}" for number in numbers)]
        entries += [f"{found.edges.mean():.2f} / {found.true_edges.mean():.2f}"]
        below = f"{found.edges[low].mean():.2f} / {found.true_edges[low].mean():.2f}"
        entries += [f"{below} ({low.sum()})" if low.any() else "none"]
        lines.append(f"| {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


def outcome_table(cells: dict[str, Found]) -> str:
    """One line per cell."""
    lines = ["| systems | right | right and `converged`, of right | wrong and "]
    lines[0] += "`converged`, of all | `undecided` | weight of the true terms |"
    lines += ["|---|---:|---:|---:|---:|---:|"]
    for name, found in cells.items():
        ended = found.outcomes == "converged"
        right = found.right & ~found.empty
        decided = f"{(right & ended).sum()} of {right.sum()}"
        entries = [name, f"{right.sum()} of {(~found.empty).sum()}", decided]
        entries += [f"{np.mean(~found.right & ended):.1%}"]
        entries += [f"{np.mean(found.outcomes == 'undecided'):.0%}"]
        entries += [f"{found.weight.mean():.2f}"]
        lines.append(f"| {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


def interval_table(cells: dict[str, Found]) -> str:
    """One line per cell."""
    lines = ["| systems | selected: given the terms | after selection | number | "]
    lines[0] += "true terms: given the terms | after selection | number |"
    lines += ["|---|---:|---:|---:|---:|---:|---:|"]
    for name, found in cells.items():
        entries = [name]
        for which in (found.selected, found.true_terms):
            for covered in (found.given, found.chosen):
                share = covered[which].mean() if which.any() else np.nan
                entries.append(f"{share:.3f}")
            entries.append(str(which.sum()))
        lines.append(f"| {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
