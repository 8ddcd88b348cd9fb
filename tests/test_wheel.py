"""The wheel, installed where nothing else of the project is, and tried."""

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from helpers import ROOT

SOURCE = ROOT / "src" / "graphgrad"

pytestmark = pytest.mark.slow


def _run(*command, cwd):
    # Not the source of this checkout, wherever the tests have it from.
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=bare | {"PYTHONNOUSERSITE": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A new virtual environment with the wheel, beside the packages that are here."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    alone = ("--no-deps", "--no-index")
    built = ("--no-build-isolation", "-w", folder)
    _run(*pip, "wheel", *alone, *built, ROOT, cwd=folder)
    (wheel,) = folder.glob("graphgrad-*.whl")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    _run(*pip, "--python", python, "install", *alone, wheel, cwd=folder)
    # After the wheel, or pip would take the graphgrad of the tests for an old one. A
    # path in a .pth file is only added: the .pth file of the editable install, which
    # lies there, is not read.
    (site,) = folder.glob("venv/lib/python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"])
    return folder


def test_the_package_is_that_of_the_wheel(place):
    code = "import graphgrad as gg; print(gg.__file__); print(gg.__version__)"
    python = place / "venv" / "bin" / "python"
    file, version = _run(python, "-c", code, cwd=place).splitlines()
    assert Path(file).is_relative_to(place)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert version == project["version"]


def test_every_file_is_in_the_wheel(place):
    """Modules, data of the demo, the paper's numbers, styles and scripts of reports."""
    (package,) = place.glob("venv/lib/python*/site-packages/graphgrad")

    def files(folder):
        found = (path for path in folder.rglob("*") if path.is_file())
        return {
            path.relative_to(folder)
            for path in found
            if path.parts[-2] != "__pycache__"
        }

    assert files(package) == files(SOURCE)
    assert {Path("py.typed"), Path("report/assets/report.js")} <= files(package)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["--help"], "Usage: graphgrad"),
        (["systems"], "lorenz63  "),
        (["simulate", "sir", "--steps", "3"], "t,S,I,R"),
        (["reproduce", "list"], "lorenz63-d2  "),
    ],
    ids=["help", "systems", "simulate", "reproduce"],
)
def test_commands_run(place, command, line):
    shown = _run(place / "venv" / "bin" / "graphgrad", *command, cwd=place)
    assert any(each.strip().startswith(line) for each in shown.splitlines()), shown


def test_data_of_the_package_are_read(place):
    code = (
        "from graphgrad.study.printed import not_stated; "
        "from graphgrad.demo import DEMONSTRATIONS; "
        "assert not_stated(); "
        "assert all(demo.data.is_file() for demo in DEMONSTRATIONS.values())"
    )
    _run(place / "venv" / "bin" / "python", "-c", code, cwd=place)
