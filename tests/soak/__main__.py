"""All campaigns, bounded in time, for docs/scoreboards/trust.md: `make soak`."""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from graphgrad.estimator import fitting
from helpers.outcomes import Tally, faults
from helpers.stubs import least_squares
from soak import fits, headers, inputs, kills, resumes, tables
from soak.samples import saved_runs

BATCHES = {
    **{"inputs": 1000, "tables": 2500, "headers": 600},
    **{"kills": 20, "fits": 100, "resumes": 3},
}
"""Inputs of a campaign between two looks at the clock."""

SHARES = {"kills": 20, "resumes": 60}
"""Inputs for one of a campaign, where `--most` bounds them: a kill of a process that
writes takes a second, of one that fits a quarter of a minute."""


def main() -> None:
    """Run each campaign for its share of the time, or up to a number of inputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of all campaigns")
    parser.add_argument("--most", type=int, default=10**9, help="inputs of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--campaigns", nargs="+", choices=BATCHES, default=[*BATCHES])
    options = parser.parse_args()
    fitting.adaptive = least_squares
    with tempfile.TemporaryDirectory() as name:
        runs = saved_runs(Path(name))
        campaigns: dict[str, Callable[[int, int], Tally]] = {
            "inputs": inputs.campaign,
            "tables": tables.campaign,
            "headers": lambda most, seed: headers.campaign(runs, most, seed),
            "kills": kills.campaign,
            "fits": fits.campaign,
            "resumes": _resumed,
        }
        print("| campaign | inputs | answers | clear errors | faults | seconds |")
        print("|---|---:|---:|---:|---:|---:|")
        bad = []
        for label in options.campaigns:
            campaign = campaigns[label]
            found: Tally = Counter()
            begin, seed = time.monotonic(), options.seed
            until = begin + 60 * options.minutes / len(options.campaigns)
            most = options.most // SHARES.get(label, 1)
            while time.monotonic() < until and found.total() < most:
                left = most - found.total()
                found += campaign(min(BATCHES[label], left), seed)
                seed += 1
            bad += faults(found)
            clear = found["answer"], found["error"]
            counts = *clear, found.total() - sum(clear)
            seconds = time.monotonic() - begin
            print(f"| {label} | {found.total()} |", end="")
            print(" |".join(f" {n}" for n in counts), f"| {seconds:.0f} |", flush=True)
    for fault in bad:
        print(fault)
    raise SystemExit(1 if bad else 0)


def _resumed(kills: int, seed: int) -> Tally:
    """Fits that were killed, one or several, without the number of kills."""
    found = resumes.campaign(kills, seed)
    del found["kill"]
    return found


if __name__ == "__main__":
    main()
