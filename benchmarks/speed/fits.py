"""Time of fits: the first of a process, of another length, and compiled.

    python -m benchmarks.speed.fits            # up to T = 10 000 and 10 states
    python -m benchmarks.speed.fits --long     # up to T = 100 000 and 20 states
    python -m benchmarks.speed.fits --quick    # one length, one repeat

Every case has a process of its own, with an empty folder of compiled programs; the
first ones are run once more with the folder that they filled. Data are simulated by
another process. This one imports neither JAX nor NumPy: peak memory of a process counts
from that of the one that started it.
"""

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[2]
LENGTHS = (100, 1000, 10_000)
LONGEST = 100_000
STATES = (6, 10)
DEGREES = (3, 4)
MOST_STATES = 20
REPEATS = 3

COLD = (
    "| dynamics | programs on disk | import, s | first fit, s | programs | "
    "tracing, s | lowering, s | XLA or loading, s | repeated, s | T + 1, s | "
    "programs of it |"
)
COMPILED = (
    "| system | dynamics | states | terms | T | best, s | slowest, s | F1 | peak, MB | "
    "STLSQ, s | F1 | times STLSQ | STLSQ by BIC, s | F1 | times STLSQ by BIC |"
)
Row = dict[str, Any]


@dataclass
class Case:
    """A series to fit.

    Attributes:
        system: `Lorenz 63` or `Lorenz 96`.
        dynamics: `map` or `flow`.
        steps: Length, T.
        states: Number of states.
        dt: Time between two observations.
        repeats: How often the compiled fit is run.
        other_length: Whether the series with one more row is fitted, too.
        degree: Degree of the candidate terms.
    """

    system: str
    dynamics: str
    steps: int
    states: int = 3
    dt: float = 0.01
    repeats: int = REPEATS
    other_length: bool = False
    degree: int = 2


def cases(*, long: bool = False, quick: bool = False) -> Iterator[Case]:
    """All cases, the first fits of a process first.

    Args:
        long: Also the longest series and most states.
        quick: Only the shortest series and fewest states, and one repeat.
    """
    repeats = 1 if quick else REPEATS
    lengths = LENGTHS[:1] if quick else (*LENGTHS, LONGEST) if long else LENGTHS
    for steps in lengths:
        for dynamics in ("map", "flow"):
            short = steps == LENGTHS[0]
            yield Case(
                "Lorenz 63",
                dynamics,
                steps,
                dt=0.02 if short else 0.01,
                repeats=repeats,
                other_length=short,
            )
    for states in STATES[:1] if quick else (*STATES, MOST_STATES) if long else STATES:
        yield Case("Lorenz 96", "map", 200, states=states, repeats=repeats)
    for degree in () if quick else DEGREES:
        yield Case("Lorenz 63", "map", 100, dt=0.02, repeats=repeats, degree=degree)


def rows(*, long: bool = False, quick: bool = False) -> Iterator[Row]:
    """One row per process: settings of the case, `on_disk`, and what it took.

    Args:
        long: See `cases`.
        quick: See `cases`.
    """
    for case in cases(long=long, quick=quick):
        with TemporaryDirectory() as folder:
            data = f"{folder}/series.npz"
            settings = json.dumps(asdict(case))
            _python("fit_data", settings, data, cache="off")
            for on_disk in ("none", "all") if case.other_length else ("none",):
                printed = _python("fit_process", settings, data, cache=f"{folder}/c")
                found = json.loads(printed.splitlines()[-1])
                yield asdict(case) | {"on_disk": on_disk} | found


def _python(module: str, *args: str, cache: str) -> str:
    """What a module of this folder prints, run in a process of its own."""
    environment = os.environ | {"GRAPHGRAD_CACHE": cache}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, "-m", f"benchmarks.speed.{module}", *args]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def cold_table(measured: list[Row]) -> str:
    """First fits of a process, as Markdown."""
    lines = [
        f"| {row['dynamics']} | {row['on_disk']} | {row['import']:.1f} | "
        f"{row['first']:.1f} | {row['programs']} | {row['tracing']:.1f} | "
        f"{row['lowering']:.1f} | {row['xla']:.1f} | {min(row['repeats']):.2f} | "
        f"{row['other']:.2f} | {row['other_programs']} |"
        for row in measured
        if "other" in row
    ]
    return _table(COLD, 2, lines)


def compiled_table(measured: list[Row]) -> str:
    """Compiled fits beside PySINDy, as Markdown."""
    return _table(COMPILED, 2, [_compiled_line(row) for row in compiled_rows(measured)])


def terms(row: Row) -> int:
    """Candidate terms of an equation."""
    return comb(row["states"] + row["degree"], row["degree"])


def compiled_rows(measured: list[Row]) -> list[Row]:
    """One row per case."""
    return [row for row in measured if row["on_disk"] == "none"]


def _compiled_line(row: Row) -> str:
    best = min(row["repeats"])
    cells = [
        f"{row['system']} | {row['dynamics']} | {row['states']} | {terms(row)} | "
        f"{row['steps']} | "
        f"{best:.3g} | {max(row['repeats']):.3g} | {row['f1']:.2f} | "
        f"{row['megabytes']:.0f}"
    ]
    for name in ("with_defaults", "selected"):
        if name not in row:
            cells.append("not installed | | ")
            continue
        seconds = row[name]["seconds"]
        ratio = float(f"{best / seconds:.2g}")
        cells.append(f"{seconds:.2g} | {row[name]['f1']:.2f} | {ratio:g}")
    return f"| {' | '.join(cells)} |"


def _table(header: str, words: int, lines: list[str]) -> str:
    """A Markdown table whose first columns are words, and all others numbers."""
    numbers = header.count("|") - 1 - words
    return "\n".join([header, "|---" * words + "|---:" * numbers + "|", *lines])


def arguments(description: str | None) -> ArgumentParser:
    """Options of the benchmarks of fits."""
    parser = ArgumentParser(description=description)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--long", action="store_true", help="longest series, most states")
    size.add_argument("--quick", action="store_true", help="one length, one repeat")
    return parser


def main() -> None:
    options = arguments("Time of fits.").parse_args()
    measured = list(rows(long=options.long, quick=options.quick))
    print(cold_table(measured), compiled_table(measured), sep="\n\n")


if __name__ == "__main__":
    main()
