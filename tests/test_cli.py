"""The real commands in a real shell."""

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "graphgrad"


def _run(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True)


@pytest.mark.slow
def test_demo_finds_the_lorenz_equations():
    run = _run("demo")
    assert run.returncode == 0, run.stderr
    assert "Outcome: converged" in run.stdout
    assert "Scores: F1 1.00" in run.stdout
    assert "anneal: 10 of at most 60 sweeps" in run.stdout
    assert "x3[t+1] =" in run.stdout


def test_version_and_help():
    assert _run("version").stdout.strip() == "0.1.0"
    assert "demo" in _run("--help").stdout
    assert _run("nonsense").returncode == 2
