"""Fits that are killed and go on: the result of a fit that is left alone, bit for bit.

`PYTHONPATH=tests python -m soak.resumes --kills 20` kills `graphgrad fit` by SIGKILL at
random times, from its start to its end, and goes on by `--resume` until it has ended.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import jax
import numpy as np

import graphgrad as gg
from graphgrad import storage
from helpers.outcomes import Tally

SAVES_AT_ONCE = (
    "from graphgrad import journal; journal.PATIENCE = 0.0\n"
    "from graphgrad.cli import main; main()"
)
"""The command line, which saves a fit after every step of the solver."""


def _begin(folder: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-c", SAVES_AT_ONCE, "fit", "data.csv", *options]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet)


def _table(path: Path, seed: int) -> None:
    """Prey and predators with noise."""
    system = gg.systems.lotka_volterra()
    y = system.simulate(jax.random.key(seed), steps=110).observations
    rows = np.column_stack([0.03 * np.arange(len(y)), y])
    np.savetxt(path, rows, delimiter=",", header="t,prey,predator", comments="")


def _fault(folder: Path) -> str | None:
    """What is wrong with the run that was killed, if anything."""
    (one, first), (other, second) = (
        storage.read(folder / name) for name in ("whole", "killed")
    )
    if one != other:
        return f"other {[name for name in one if one[name] != other.get(name)]}"
    if any(not np.array_equal(first[n], second[n], equal_nan=True) for n in first):
        return "other arrays"
    left = sorted({*os.listdir(folder)} - {"data.csv", "whole", "killed"})
    return f"left {left}" if left else None


def campaign(kills: int, seed: int = 0) -> Tally:
    """Kill fits at random times, and look at what comes out in the end.

    Args:
        kills: Number of kills.
        seed: Seed of the data and of the times.
    """
    found: Tally = Counter()
    chance = random.Random(seed)
    while found["kill"] < kills:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _table(folder / "data.csv", seed + found.total() - found["kill"])
            begin = time.monotonic()
            if _begin(folder, "--out", "whole").wait():
                raise RuntimeError("a fit that is left alone fails")
            seconds = time.monotonic() - begin
            status = -9
            while status == -9:
                process = _begin(folder, "--out", "killed", "--resume")
                try:
                    status = process.wait(seconds * chance.random())
                except subprocess.TimeoutExpired:
                    process.kill()
                    status = process.wait()
                found["kill"] += status == -9
                if found["kill"] >= kills and status == -9:
                    status = _begin(folder, "--out", "killed", "--resume").wait()
            fault = f"status {status}" if status else _fault(folder)
            found["answer" if fault is None else f"fault: {fault}"] += 1
    return found


def main() -> None:
    """Print how often fits were killed, and how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = campaign(options.kills, options.seed)
    print(*(f"{count} {what}" for what, count in found.most_common()), sep="\n")


if __name__ == "__main__":
    main()
