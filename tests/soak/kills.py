"""Processes that are killed as they write: the old or the new run, never neither."""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from graphgrad import storage
from graphgrad.cli.folder import check_out, new_folder, put, sweep_folders
from helpers.outcomes import Tally

LONGEST = 0.3
"""Most seconds for which a process writes before it is killed."""


def write_forever(out: Path) -> None:
    """Replace a run again and again, until killed."""
    number = 0
    while True:
        former = check_out(out, force=True)
        with new_folder(out) as made:
            arrays = {"a": np.full(2000, float(number))}
            storage.write(made, {"number": number}, arrays)
            (made / "report.html").write_text("x" * 10_000)
            put(made, out, force=True, former=former)
        if number == 0:
            print("begun", flush=True)
        number += 1


def campaign(kills: int, seed: int = 0) -> Tally:
    """Kill processes at random times, and look at what they leave.

    Args:
        kills: Number of processes.
        seed: Seed of the times.
    """
    found: Tally = Counter()
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "run"
        storage.write(out, {"number": -1}, {"a": np.zeros(3)})
        (out / "notes").write_text("mine")
        for _ in range(kills):
            command = [sys.executable, "-m", "soak.kills", str(out)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                process.stdout.readline()
                time.sleep(LONGEST * chance.random())
                process.kill()
            found[_state(out)] += 1
    return found


def _state(out: Path) -> str:
    """`answer`, or a fault: what is wrong with a run after a kill."""
    try:
        header, arrays = storage.read(out)
    except (OSError, ValueError) as error:
        return f"fault: {error}"
    if header["number"] >= 0 and arrays["a"][0] != header["number"]:
        return "fault: a mixture"
    sweep_folders(out)
    left = sorted(set(os.listdir(out.parent)) - {"run"})
    if left:
        return f"fault: left {left}"
    if (out / "notes").read_text() != "mine":
        return "fault: no notes"
    return "answer"


if __name__ == "__main__":
    write_forever(Path(sys.argv[1]))
