"""The result of a fit is not lost: whatever fails when its folder is written."""

import errno
import json
import os
import shutil
import tomllib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from graphgrad import files, storage
from graphgrad.cli import app, folder, job
from graphgrad.cli.folder import check_out, new_file, new_folder, put
from graphgrad.estimator import fitting
from helpers.stubs import least_squares


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A table of a linear map, fits by a stub, and no reports."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    monkeypatch.setitem(job._OTHERS, "report.html", lambda path, _: path.write_text(""))
    monkeypatch.setitem(job._OTHERS, "states.csv", lambda path, _: path.write_text(""))
    monkeypatch.chdir(tmp_path)
    rng, x = np.random.default_rng(0), np.ones(2)
    rows = []
    for _ in range(40):
        x = np.array([[0.9, 0.2], [-0.2, 0.9]]) @ x + 0.1 * rng.standard_normal(2)
        rows.append(f"{x[0]},{x[1]}")
    Path("data.csv").write_text("\n".join(["x,y", *rows]))
    return "data.csv"


def _fit(*arguments):
    return CliRunner().invoke(
        app, ["fit", "data.csv", "--degree", "1", *map(str, arguments)]
    )


def test_a_run_whose_folder_is_taken_meanwhile_goes_to_another(data, monkeypatch):
    fitted = job._fitted

    def slowly(*arguments):
        found = fitted(*arguments)
        storage.write("run", {"dynamics": "map"}, {})  # another fit is faster
        return found

    monkeypatch.setattr(job, "_fitted", slowly)
    run = _fit("--out", "run")
    assert run.exit_code == 2
    assert "got run, which holds a run" in run.stderr.replace(os.getcwd() + "/", "")
    assert f"The result of the fit is in {Path.cwd() / 'run-2'}." in run.stderr
    assert run.stdout.index("Equations") < run.stdout.index("Wrote")
    assert list(storage.read("run")[0]) == ["format", "dynamics"]
    assert storage.read("run-2")[0]["states"] == ["x", "y"]


def test_a_full_disk_costs_no_fit(data, monkeypatch, tmp_path):
    """Nothing can be written next to the folder; the temporary folder is used."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    monkeypatch.setattr(folder, "gettempdir", lambda: str(other))
    written = files.put

    def full(path, content):
        if other not in path.parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        written(path, content)

    monkeypatch.setattr(storage.writing, "put", full)
    run = _fit("--out", "run", "--json")
    assert run.exit_code == 2
    assert "No space left on device" in run.stderr
    found = json.loads(run.stdout)
    assert found["out"] == str(other / "graphgrad-run")
    assert storage.read(found["out"])[0]["coefficients"] == found["coefficients"]
    config = tomllib.loads(Path(found["out"], "config.toml").read_text())
    assert Path(found["out"], config["data"]).resolve() == Path(data).resolve()
    assert sorted(os.listdir()) == ["data.csv", "elsewhere"]
    monkeypatch.setattr(storage.writing, "put", lambda *_: full(Path("x"), b""))
    run = _fit("--out", "run")
    assert run.exit_code == 2
    assert "dy/dt" in run.stdout or "y[t+1] = " in run.stdout
    assert "No other place could be written either" in run.stderr
    assert sorted(os.listdir()) == ["data.csv", "elsewhere"]


def test_a_report_that_fails_costs_no_fit(data, monkeypatch):
    def fail(path, _):
        path.write_text("half")
        raise RuntimeError("no ink")

    monkeypatch.setitem(job._OTHERS, "report.html", fail)
    run = _fit("--out", "run")
    assert run.exit_code == 2
    assert "graphgrad: report.html could not be written: RuntimeError('no ink')" in (
        run.stderr
    )
    assert set(os.listdir("run")) == set(folder.FILES) - {"report.html"}


def test_a_file_on_a_full_disk_names_the_option(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    out = tmp_path / "forecast.csv"
    complaint = r"`--out` must be .* No space left on device"
    with pytest.raises(ValueError, match=complaint), new_file(out) as file:
        file.write("x")
    assert os.listdir(tmp_path) == []


def _run(path, number):
    storage.write(path, {"number": number}, {"a": np.ones(2)})


def _write(out, number, *, force=False, meanwhile=lambda: None):
    former = check_out(out, force=force)
    meanwhile()
    with new_folder(out) as made:
        _run(made, number)
        put(made, out, force=force, former=former)


def _number(out):
    return storage.read(out)[0]["number"]


def test_links_and_foreign_entries_are_kept_as_they_are(tmp_path):
    out = tmp_path / "run"
    _write(out, 1)
    out.chmod(0o750)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "big").write_text("big")
    (out / "link").symlink_to(tmp_path / "far")
    (out / "broken").symlink_to("nowhere")
    os.mkfifo(out / "pipe")
    (out / "notes").mkdir()
    (out / "notes" / "mine").write_text("mine")
    (tmp_path / "name").symlink_to("run")
    _write(tmp_path / "name", 2, force=True)
    assert _number(out) == 2
    assert (tmp_path / "name").is_symlink()
    assert (out / "link").readlink() == tmp_path / "far"
    assert (out / "broken").is_symlink()
    assert (out / "pipe").is_fifo()
    assert (out / "notes" / "mine").read_text() == "mine"
    assert out.stat().st_mode & 0o777 == 0o750
    assert sorted(os.listdir(tmp_path)) == ["far", "name", "run"]


def test_two_that_replace_a_run_do_not_replace_each_other(tmp_path):
    out = tmp_path / "run"
    _write(out, 1)
    with pytest.raises(ValueError, match="another fit wrote meanwhile"):
        _write(out, 3, force=True, meanwhile=lambda: _write(out, 2, force=True))
    assert _number(out) == 2
    assert os.listdir(tmp_path) == ["run"]


def test_a_file_of_a_run_that_is_something_else_is_refused(tmp_path):
    out = tmp_path / "run"
    _write(out, 1)
    (out / "report.html").mkdir()
    with pytest.raises(ValueError, match=r"whose report.html is a link or a folder"):
        check_out(out, force=True)


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_fault_at_any_call_leaves_the_old_or_the_new_run(
    tmp_path, monkeypatch, exchanged
):
    """Each call of the system that changes names fails once."""
    if not exchanged:
        monkeypatch.setattr(files, "_exchanged", lambda *_: False)
    outcomes, failing = set(), 0
    for failing in range(20):
        out = tmp_path / f"run{failing}"
        _write(out, 1)
        (out / "notes").write_text("mine")
        calls = []

        def fault(call, calls=calls, failing=failing):
            def wrapped(*arguments, **options):
                calls.append(call)
                if len(calls) - 1 == failing:
                    raise OSError(errno.EIO, "injected")
                return call(*arguments, **options)

            return wrapped

        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", fault(os.rename))
            patch.setattr(os, "replace", fault(os.replace))
            patch.setattr(folder, "exchange", fault(files.exchange))
            patch.setattr(shutil, "copymode", fault(shutil.copymode))
            patch.setattr(os, "fsync", fault(os.fsync))
            with suppress(OSError):
                _write(out, 2, force=True)
            outcomes.add(_number(out))
        assert (out / "notes").read_text() == "mine"
        if len(calls) <= failing:
            break
    assert failing > 5
    assert outcomes == {1, 2}
    assert all(not name.startswith(".") for name in os.listdir(tmp_path))


def test_what_killed_runs_left_is_swept(tmp_path):
    out = tmp_path / "run"
    _write(out, 1)
    left = tmp_path / ".run.0123abcd"
    _run(left, 0)
    (left / "notes").write_text("mine")  # killed before it was moved
    (left / ".arrays.npz.0123abcd").write_text("half")
    ours, foreign = tmp_path / ".run.89abcdef", tmp_path / ".run.backup"
    _run(ours, 7)
    foreign.mkdir()
    (tmp_path / ".run.11111111").symlink_to(foreign)
    with files.held(ours):  # by a process that still writes it
        check_out(out, force=True)
    assert (out / "notes").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {
        *("run", ".run.89abcdef", ".run.backup", ".run.11111111")
    }
    check_out(out, force=True)
    assert not ours.exists()


def test_an_empty_folder_that_is_swept_is_made_again(tmp_path, monkeypatch):
    """A process that was killed as it began left one; another one begins now."""
    (tmp_path / ".run.0123abcd").mkdir()
    check_out(tmp_path / "run", force=False)
    assert os.listdir(tmp_path) == []
    opened, ours = os.open, tmp_path / ".run.89abcdef"

    def late(path, *flags):
        monkeypatch.setattr(os, "open", opened)
        files.abandoned_folders(tmp_path / "run")
        assert not ours.exists()
        return opened(path, *flags)

    monkeypatch.setattr(os, "open", late)
    with files.held(ours):
        assert files.abandoned_folders(tmp_path / "run") == []
        assert ours.is_dir()


def test_a_run_between_two_renames_is_put_back(tmp_path):
    _run(tmp_path / ".run.0123abcd.old", 5)
    with pytest.raises(ValueError, match="which holds a run"):
        check_out(tmp_path / "run", force=False)
    assert _number(tmp_path / "run") == 5


def test_old_temporary_files_are_swept(tmp_path):
    old, young = (tmp_path / f".note.{digit * 8}" for digit in "01")
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (0, 0))
    files.write_whole(tmp_path / "note", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"note", young.name}
