"""The short part of the campaigns: `make soak` runs them at length."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.outcomes import faults
from soak import fits, tables


def test_damaged_files_are_read_or_refused():
    found = tables.campaign(200)
    assert faults(found) == []
    assert found["answer"] > 5
    assert found["error"] > 100


def test_a_fit_without_numbers_is_a_fault(monkeypatch):
    class Empty:
        outcome_, coef_ = "converged", np.array([np.nan])
        standard_errors_ = state_means_ = np.zeros(1)

        def fit(self, _):
            return self

    monkeypatch.setattr(fits.gg, "GraphGrad", lambda **_: Empty())
    assert "ArithmeticError: NaN" in faults(fits.campaign(1))[0]


@pytest.mark.slow
def test_fits_on_eight_threads_are_those_of_one():
    assert fits.threads(8)


@pytest.mark.slow
def test_all_campaigns_find_no_fault():
    """In a process without type checks at run time, as users have it."""
    folders = [str(Path(__file__).parents[1]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-m", "soak", "--most", "60", "--minutes", "4"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]
    table = [line for line in run.stdout.splitlines() if line.startswith("|")]
    assert [line.split("|")[1].strip() for line in table[2:]] == [
        *("inputs", "tables", "headers", "kills", "fits")
    ]
