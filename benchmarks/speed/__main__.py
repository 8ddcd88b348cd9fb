"""Measure speed, and write tables and a picture into docs/scoreboards/speed.md.

    make bench                                  # up to T = 10 000: some minutes
    python -m benchmarks.speed --long           # up to T = 100 000
    python -m benchmarks.speed --quick --docs /tmp/speed   # does it work?

Needs a machine with nothing else to do.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .fits import (
    ROOT,
    Row,
    arguments,
    cold_table,
    compiled_rows,
    compiled_table,
    rows,
    terms,
)

Points = list[tuple[int, float]]
BEGIN, END = "<!-- measured -->", "<!-- end measured -->"
STYLES = ("o-", "s--", "^:")
PACKAGES = ("jax", "jaxlib", "numpy", "pysindy")
ONE_CORE = {
    "JAX_ENABLE_X64": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


def shown(measured: Iterator[Row]) -> Iterator[Row]:
    """The same rows, each named on the screen when it is there."""
    for row in measured:
        print(
            f"{row['system']}, {row['dynamics']}, {row['states']} states, "
            f"T = {row['steps']}, programs on disk: {row['on_disk']}: first fit "
            f"{row['first']:.1f} s, compiled {min(row['repeats']):.3g} s",
            file=sys.stderr,
            flush=True,
        )
        yield row


def particles_table(repeats: int | None) -> str:
    """The table of `particles`, from a process on one core where that can be had."""
    pinned = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    command = [*pinned, sys.executable, "-m", "benchmarks.speed.particles"]
    if repeats is not None:
        command += ["--repeats", str(repeats)]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | ONE_CORE,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()


def conditions() -> str:
    """Command, versions and number of cores."""
    size = [word for word in sys.argv[1:] if word in ("--long", "--quick")]
    command = " ".join(["python -m benchmarks.speed", *size])
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return f"`{command}`, {os.cpu_count()} cores:\n{', '.join(found)}."


def section(measured: list[Row], particles: str) -> str:
    """All that is between the two markers."""
    return f"""{conditions()}

The first fit of a process, Lorenz 63, T = 100, `degree=2`, without compiled programs on
the disk and with all of them; beside it the same fit repeated, and a fit of a series
with one more row in the same process:

{cold_table(measured)}

Compiled fits: best and slowest of the repeats, F1 of the support, and peak memory of
the process with its compilation. Beside them PySINDy's STLSQ on the same data: one fit
with its default threshold, and the threshold with the lowest BIC on the grid of the
[scoreboards](flows.md). A ratio above 1 means that graphgrad takes longer.

{compiled_table(measured)}

![Time against length, states, terms and particles](speed.png)

Value and gradient of the log-likelihood by a particle filter, on one core, in double
precision ([particle filters](speed-particles.md)):

{particles}"""


def write_section(page: Path, text: str) -> None:
    """Replace what is between the markers of a page."""
    before = page.read_text("utf-8")
    between = re.compile(f"{BEGIN}.*{END}", re.DOTALL)
    if not between.search(before):
        raise SystemExit(f"{page} has no line {BEGIN} and none {END} after it.")
    after = between.sub(lambda _: f"{BEGIN}\n{text}\n{END}", before)
    page.write_text(after, "utf-8")


def draw(measured: list[Row], particles: str, file: Path) -> None:
    """Time against length, states, terms and particles."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(8, 6.4), layout="constrained")
    done = compiled_rows(measured)
    plain = [row for row in done if row["system"] == "Lorenz 63"]
    curves: list[tuple[str, dict[str, Points]]] = [
        (
            "Lorenz 63, 3 states: length T",
            {
                dynamics: _points(plain, "steps", dynamics=dynamics, degree=2)
                for dynamics in ("map", "flow")
            },
        ),
        (
            "Lorenz 96, T = 200: number of states",
            {"map": _points([r for r in done if r not in plain], "states")},
        ),
        (
            "Lorenz 63, T = 100: terms of an equation",
            {"map": _points(plain, "terms", dynamics="map", steps=100)},
        ),
        ("value and score of a particle filter: particles", _particles(particles)),
    ]
    for axes, (title, lines) in zip(panels.flat, curves, strict=True):
        for (label, points), style in zip(lines.items(), STYLES, strict=False):
            axes.loglog(*zip(*points, strict=True), style, label=label)
        axes.set_title(title, fontsize="medium")
        ticks = sorted({x for points in lines.values() for x, _ in points})
        axes.set_xticks(ticks, [f"{tick:,}".replace(",", " ") for tick in ticks])
        low, high = axes.get_ylim()
        low, high = min(low, high / 30), high * 3  # with room for the legend
        axes.set_ylim(low, high)
        seconds = [f * 10.0**e for e in range(-4, 4) for f in (1, 3)]
        seconds = [each for each in seconds if low <= each <= high]
        axes.set_yticks(seconds, [f"{each:g}" for each in seconds])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left", fontsize="small")
    figure.supylabel("compiled, s")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def _points(measured: list[Row], quantity: str, **given: Any) -> Points:
    """Times of the rows with given settings, against one of them."""
    rows: list[Row] = [{**row, "terms": terms(row)} for row in measured]
    return [
        (row[quantity], min(row["repeats"]))
        for row in rows
        if all(row[name] == value for name, value in given.items())
    ]


def _particles(table: str) -> dict[str, Points]:
    """Seconds by number of particles, of each program of the table that was run."""
    found: dict[str, Points] = {}
    for line in table.splitlines()[2:]:
        name, size, best = (cell.strip() for cell in line.split("|")[1:4])
        if best != "not installed":
            found.setdefault(name, []).append((int(size), float(best) / 1e3))
    return found


def main() -> None:
    parser = arguments("Measure speed, and write it into docs/scoreboards/speed.md.")
    parser.add_argument(
        "--docs",
        type=Path,
        default=ROOT / "docs" / "scoreboards",
        help="folder with speed.md",
    )
    options = parser.parse_args()
    # Fits first: this process must be small for their peak memory.
    measured = list(shown(rows(long=options.long, quick=options.quick)))
    particles = particles_table(3 if options.quick else None)
    draw(measured, particles, options.docs / "speed.png")
    write_section(options.docs / "speed.md", section(measured, particles))


if __name__ == "__main__":
    main()
