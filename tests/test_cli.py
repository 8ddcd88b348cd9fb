"""The real commands in a real shell."""

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "graphgrad"


def _run(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True)


@pytest.mark.slow
def test_demo_finds_the_oscillator_and_admits_losing_lorenz():
    run = _run("demo")
    assert run.returncode == 0, run.stderr
    first, second = run.stdout.split("2. The Lorenz system")
    assert "outcome: completed" in first
    assert "scores: F1 1.00" in first
    assert "batch 5 of 5" in first
    assert "outcome: completed" not in second
    assert "x3[t+1] =" in second


def test_version_and_help():
    assert _run("version").stdout.strip() == "0.1.0"
    assert "demo" in _run("--help").stdout
    assert _run("nonsense").returncode == 2
