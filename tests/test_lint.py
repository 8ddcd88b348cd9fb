"""The linters are tests: style, types, and the one-way dependency rule."""

import subprocess
import sys
from pathlib import Path

import pytest

from helpers import ROOT

BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["pyright"],
        ["lint-imports"],
    ],
    ids=" ".join,
)
def test_linter(command):
    run = subprocess.run(
        [BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
