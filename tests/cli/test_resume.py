"""A fit that was stopped goes on by `--resume`, from its own state alone."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

from graphgrad import journal, storage
from graphgrad.cli import app, job
from graphgrad.cli.terminal import reported
from graphgrad.estimator import fitting
from helpers.stubs import least_squares

STAGES = 5


class Solver:
    """The stub after five stages, which may be stopped while one is computed."""

    def __init__(self):
        self.computed = []
        self.stop = {}

    def __call__(self, key, ys, *arguments, journal, **options):
        total = np.zeros(2)
        for number in range(STAGES):
            stage = journal.stage("stage", (key, ys, total), total)
            total = np.asarray(stage.state)
            if not stage.over:
                self.computed.append(number)
                self.stop.get(number, lambda: None)()
                total = total + number
            stage.ended(total)
        assert (total == sum(range(STAGES))).all()
        return least_squares(key, ys, *arguments, **options)


def _interrupt():
    raise KeyboardInterrupt


@pytest.fixture
def solver(tmp_path, monkeypatch):
    """A table, a solver of stages, each of which is saved, and no reports."""
    made = Solver()
    monkeypatch.setattr(fitting, "adaptive", made)
    monkeypatch.setattr(journal, "PATIENCE", 0.0)
    for name in ("report.html", "states.csv"):
        monkeypatch.setitem(job._OTHERS, name, lambda path, _: path.write_text(""))
    monkeypatch.chdir(tmp_path)
    _table(0)
    return made


def _table(seed):
    rows = np.cumsum(np.random.default_rng(seed).standard_normal((40, 2)), axis=0)
    np.savetxt("data.csv", rows, delimiter=",", header="x,y", comments="")


def _fit(monkeypatch, *arguments):
    """A command; what ends a process at once ends the command."""

    def leave(status):
        raise SystemExit(status)

    monkeypatch.setattr(os, "_exit", leave)
    options = ["fit", "data.csv", "--degree", "1", *arguments]
    return CliRunner().invoke(app, options)


@pytest.fixture
def stopped(solver, monkeypatch):
    """The state of a fit that was stopped in its fourth stage."""
    solver.stop = {3: _interrupt}
    run = _fit(monkeypatch)
    state = Path.cwd() / "run.state"
    assert run.exit_code == 130
    assert (
        "nothing was written to run, and the same command with --resume goes on from "
        f"{state}."
    ) in run.stderr
    assert sorted(os.listdir()) == ["data.csv", "run.state"]
    solver.stop, solver.computed[:] = {}, []
    return state


def test_a_stopped_fit_goes_on_to_the_same_result(stopped, solver, monkeypatch):
    assert _fit(monkeypatch, "--resume").exit_code == 0
    assert solver.computed == [3, 4]
    assert not stopped.exists()
    assert _fit(monkeypatch, "--out", "again").exit_code == 0
    assert solver.computed == [3, 4, *range(STAGES)]
    (one, first), (two, second) = map(storage.read, ("run", "again"))
    assert one == two
    for each, other in zip(
        jax.tree.leaves(first), jax.tree.leaves(second), strict=True
    ):
        np.testing.assert_array_equal(each, other)
    assert sorted(os.listdir()) == ["again", "data.csv", "run"]


def test_a_stopped_fit_is_not_lost_by_another_one(stopped, solver, monkeypatch):
    run = _fit(monkeypatch)
    assert run.exit_code == 2
    assert run.stderr == (
        "graphgrad: `--out` must be a folder without a stopped fit, got run with "
        f"{stopped}. Go on with that fit by --resume, or begin anew by --force.\n"
    )
    assert stopped.exists()
    assert _fit(monkeypatch, "--force").exit_code == 0
    assert solver.computed == list(range(STAGES))
    assert not stopped.exists()


@pytest.mark.parametrize(
    ("what", "arguments"), [("data", ()), ("settings", ("--seed", "1"))]
)
def test_a_state_of_another_fit_is_refused(stopped, monkeypatch, what, arguments):
    _table(1 if what == "data" else 0)
    run = _fit(monkeypatch, "--resume", *arguments)
    assert run.exit_code == 2
    assert run.stderr == (
        "graphgrad: `--resume` must be the state of the same fit as it was saved, got "
        f"{stopped}: it is of a fit with other {what}. Remove this folder to fit from "
        "the start.\n"
    )
    assert not Path("run").exists()


def test_an_edited_state_is_refused(stopped, monkeypatch):
    name = sorted(each.name for each in stopped.iterdir())[0]
    content = bytearray((stopped / name).read_bytes())
    content[-1] ^= 1
    (stopped / name).write_bytes(content)
    run = _fit(monkeypatch, "--resume")
    assert run.exit_code == 2
    assert run.stderr.count("\n") == 1
    assert f"got {stopped}: {name} has changed. Remove this folder" in run.stderr


def test_without_a_state_a_fit_begins_anew(solver, monkeypatch):
    run = _fit(monkeypatch, "--resume")
    assert run.exit_code == 0
    assert f"There is no {Path.cwd() / 'run.state'}: the fit begins" in run.stdout
    assert "Wrote run" in run.stdout


def test_a_state_that_cannot_be_saved_costs_no_fit(solver, monkeypatch):
    solver.stop = {2: lambda: Path("run.state").rename("moved")}
    run = _fit(monkeypatch)
    assert run.exit_code == 0
    assert run.stderr == (
        f"The state of the fit cannot be saved in {Path.cwd() / 'run.state'}: No such "
        "file or directory. The fit goes on.\n"
    )
    assert "Wrote run" in run.stdout


def test_sigterm_stops_a_fit_like_ctrl_c(solver, monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_DFL)
    before, done = signal.signal(signal.SIGTERM, signal.SIG_DFL), threading.Event()

    def killed():
        os.kill(os.getpid(), signal.SIGTERM)
        done.wait(20)
        raise KeyboardInterrupt

    solver.stop = {2: killed}
    try:
        run = _fit(monkeypatch)
    finally:
        done.set()
        signal.signal(signal.SIGTERM, before)
    assert run.exit_code == 143
    assert "with --resume goes on from" in run.stderr
    solver.stop, solver.computed[:] = {}, []
    assert _fit(monkeypatch, "--resume").exit_code == 0
    assert solver.computed == [2, 3, 4]


def test_a_command_leaves_the_handler_of_sigterm_as_it_was(monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    reported(lambda: None)()
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_interrupt_that_an_import_would_swallow_ends_the_command(tmp_path):
    """As JAX does, whose callback of the garbage collection ignores exceptions."""
    (tmp_path / "swallow.py").write_text(
        "import os, signal, time\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(5)\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
    )
    source = (
        "import signal, sys; sys.path.insert(0, sys.argv[1])\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from graphgrad.cli.terminal import reported\n"
        "def command():\n"
        "    import swallow\n"
        "    print('it went on')\n"
        "reported(command)()\n"
    )
    command = [sys.executable, "-c", source, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (130, "")
    assert run.stderr == "\ngraphgrad: stopped.\n"


def test_an_interrupt_of_a_command_that_has_ended_is_no_traceback():
    source = (
        "import atexit, os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "from graphgrad.cli import main\n"
        "sys.argv[1:] = ['version']\n"
        "main()\n"
    )
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
