"""The linters are tests: style, types, the one-way dependency rule, and words."""

import re
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
        pytest.param(["pyright"], marks=pytest.mark.slow),
        ["lint-imports"],
    ],
    ids=" ".join,
)
def test_linter(command):
    run = subprocess.run(
        [BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


RETIRED = re.compile(r"\b(dearer|laws?|told|knowledge|outdoes|at one stroke)\b", re.I)
"""Words that have a usual one: penalty, distribution, constraints, overrides."""


def test_retired_words_are_absent():
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    assert len(files) > 200
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if RETIRED.search(line)
    ]
    assert not found, "\n".join(found)
