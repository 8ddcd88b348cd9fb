"""Studies: chunks, the store, processes that are killed, tables, figures, the page."""

import csv
import io
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from scipy import stats
from typer.testing import CliRunner

from graphgrad.cli import app
from graphgrad.study import cluster, credentials, evidence
from graphgrad.study.blocks import blocks
from graphgrad.study.checks_page import checks_page
from graphgrad.study.credentials import temporary_security
from graphgrad.study.figures import FIGURES, png, ribbon
from graphgrad.study.methods import METHODS
from graphgrad.study.page import page
from graphgrad.study.plan import Cell, Fits, Study
from graphgrad.study.records import as_csv, from_csv
from graphgrad.study.running import run
from graphgrad.study.store import Store
from graphgrad.study.studies import STUDIES
from graphgrad.study.study_page import study_page
from graphgrad.study.summary import interval, merged, summarise
from graphgrad.study.tables import latex, markdown
from graphgrad.study.tasks import Row, run_task, tasks_of
from helpers import CACHE, studies

SEVERAL = 12
"""Realisations: four chunks."""


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Other processes read what tests have compiled."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(CACHE))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "study.sqlite") as made:
        yield made


def _run(study, store, realisations=SEVERAL, **options):
    tasks = tasks_of(study, realisations)
    return run(tasks, store, methods=studies.METHODS, **options)


def _fits(values, seconds=None, coefficients=None):
    n = len(values)
    return Fits(
        seeds=np.arange(n),
        metrics={"rmse": np.array(values), "rejected": np.ones(n)},
        seconds=np.ones(n) if seconds is None else np.array(seconds),
        coefficients=coefficients,
        versions=({"graphgrad": "0", "device": "abacus"},),
    )


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_every_study_can_be_run(study):
    assert study.figure in FIGURES
    assert set(study.methods) <= set(METHODS)
    assert set(study.most) <= set(METHODS)
    labels = [cell.label for cell in study.cells]
    assert len(set(labels)) == len(labels)
    assert not any("," in label for label in labels)  # `--cells` has commas between
    for row in study.paper.values():
        assert {len(values) for values in row.values()} == {len(study.columns)}
    again = pickle.loads(pickle.dumps(study))
    digests = [[t.digest for t in tasks_of(s, 1)] for s in (study, again)]
    assert digests[0] == digests[1]


def test_whole_chunks_are_the_same_however_many_are_asked_for():
    study = studies.study("sizes")
    few, many = (tasks_of(study, n, cells=["T=9"]) for n in (4, 7))
    seeds = [[task.seeds.tolist() for task in tasks] for tasks in (few, many)]
    assert seeds == [[[0, 1, 2], [3]], [[0, 1, 2], [3, 4, 5], [6]]]
    assert len({task.digest for task in (*few, *many)}) == 1
    rare = Study("rare", "", study.cells, ("sizes",), most={"sizes": 4}, chunk=3)
    assert len(tasks_of(rare, 100)) == 2 * 2


def test_a_chunk_that_was_cut_short_is_run_again_whole(store):
    study = studies.study("sizes")
    asked = {"methods": ["sizes"], "cells": ["T=9"]}
    for realisations, stored in ((2, 2), (4, 4), (3, 4), (6, 6)):
        tasks = tasks_of(study, realisations, **asked)
        run(tasks, store, methods=studies.METHODS)
        assert store.missing(tasks) == []
        assert len(store.found(study, 99)["T=9", "sizes"].seeds) == stored


def test_rows_come_back_to_the_last_bit(store):
    study = studies.study("sizes")
    task = tasks_of(study, 1)[0]
    numbers = [0.1 + 0.2, np.nan, -np.inf]
    C = np.random.default_rng(0).normal(size=(3, 2, 4))
    used = {"graphgrad": "1"}
    rows = [Row(i, {"rmse": numbers[i]}, 0.1 * i, used, C[i]) for i in range(3)]
    store.add(task, rows)
    fits = store.found(study, 2)["T=5", "sizes"]
    np.testing.assert_array_equal(fits.metrics["rmse"], numbers[:2])
    assert fits.coefficients is not None
    np.testing.assert_array_equal(fits.coefficients, C[:2])
    assert fits.seconds.tolist() == [0, 0.1]
    assert fits.versions == (used,)
    assert store.missing([task]) == []


def test_a_changed_study_and_a_part_of_a_chunk_begin_anew(store):
    study = studies.study("sizes")
    task = tasks_of(study, 3)[0]
    rows = [Row(i, {"rmse": 1.0}, 1.0, {}, None) for i in range(3)]
    store.add(task, rows[:2])
    assert store.missing([task]) == [task]
    store.add(task, rows)
    assert store.missing([task]) == []
    changed = studies.study("sizes", level=2)
    assert store.missing(tasks_of(changed, 1)[:1])
    assert store.found(changed, 3) == {}


def test_a_chunk_is_written_whole_or_not_at_all(store):
    task = tasks_of(studies.study("sizes"), 1)[0]
    good = Row(0, {"rmse": 1.0}, 1.0, {}, None)
    with pytest.raises(ValueError, match="`--store` must be a file of results that"):
        store.add(task, [good, good._replace(seed=1, seconds=None)])
    assert store.found(studies.study("sizes"), 3) == {}


def test_other_files_are_refused(tmp_path):
    text, other, newer = (tmp_path / name for name in ("text", "other", "newer"))
    text.write_text("not a database, and long enough to be sure of that" * 30)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE fits (a)")
    Store(newer).__exit__()
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 9")
    faults = {
        text: "not a database",
        other: "something else",
        newer: "version is 9",
        tmp_path / "no" / "folder": "unable to open",
    }
    for path, fault in faults.items():
        with pytest.raises(ValueError, match=f"`--store` .*{fault}"):
            Store(path)
    with pytest.raises(ValueError, match="no such file"):
        Store(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_full_locked_and_damaged_stores_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("graphgrad.study.store.PATIENCE", 0.01)
    study = studies.study("sizes")
    task = tasks_of(study, 1)[0]
    row = Row(0, {"rmse": 1.0}, 1.0, {}, np.zeros(10_000))
    path = tmp_path / "study.sqlite"
    with Store(path) as store, sqlite3.connect(path) as other:
        [pages] = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(ValueError, match=r"is full. Free some space; the same"):
            store.add(task, [row])
        store._connection.execute("PRAGMA max_page_count = 1000000")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ValueError, match=r"locked. Another process writes it"):
            store.add(task, [row])
        other.rollback()
        store.add(task, [row])
        store._connection.execute("UPDATE fits SET metrics = 'no JSON'")
        with pytest.raises(ValueError, match=r"`--store` .* Name another file"):
            store.found(study, 1)
    other.close()
    content = bytearray(path.read_bytes())
    content[200:] = b"x" * (len(content) - 200)
    path.write_bytes(content)
    with (
        pytest.raises(ValueError, match=r"`--store` .* Name another file"),
        Store(path) as store,
    ):
        store.missing([task])


def test_a_realisation_does_not_depend_on_its_chunk_and_keeps_what_is_asked():
    study = studies.study("sizes")
    first, second = tasks_of(study, 6, cells=["T=5"])
    rows = run_task(second, studies.METHODS)
    assert [row.seed for row in rows] == [3, 4, 5]
    assert rows[0].metrics["rmse"] != rows[1].metrics["rmse"]
    assert rows[0].metrics["rejected"] == 0
    assert rows[0].metrics["threads"] == 1
    assert {"graphgrad", "source", "device"} <= set(rows[0].versions)
    assert rows[0].coefficients is None
    larger = Study(
        "large", "", study.cells, ("sizes",), chunk=6, keep_coefficients=True
    )
    [whole] = tasks_of(larger, 6, cells=["T=5"])
    again = run_task(whole, studies.METHODS)[3:]
    assert [row.metrics for row in again] == [row.metrics for row in rows]
    assert again[0].coefficients is not None
    assert again[0].coefficients.dtype == np.float64
    assert first.digest != whole.digest


def test_a_task_that_fails_is_named_and_others_go_on(store):
    study = studies.study("failing", "sizes")
    told = []
    faults = _run(study, store, 6, callback=told.append)
    assert len(faults) == 2
    assert faults[0].startswith(
        "small, T=5, failing, realisations 3 to 5: RuntimeError: no luck today ("
    )
    assert "studies.py" in faults[0]
    found = store.found(study, 6)
    assert [len(fits.seeds) for fits in found.values()] == [3, 6, 3, 6]
    # They share the data, and what one does to them is nothing to the other.
    ours, theirs = (found["T=5", name].metrics["rmse"] for name in study.methods)
    assert ours.tolist() == theirs[:3].tolist()
    assert ours.all()
    assert [str(p.task).split(", ")[2:] for p in told[1:4]] == [
        ["failing", "realisations 0 to 2"],
        ["sizes", "realisations 0 to 2"],
        ["failing", "realisations 3 to 5"],
    ]
    assert [p.done for p in told] == list(range(9))
    assert told[0].left is None
    assert told[-1].left == 0
    assert sum(p.fault is not None for p in told) == 2
    assert len(store.missing(tasks_of(study, 6))) == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of connections that are refused
def test_strangers_cannot_command_a_local_cluster():
    distributed = pytest.importorskip("distributed")
    others = temporary_security(distributed)
    with cluster.local_cluster(1):
        address = distributed.get_client().scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        for stranger, security in (
            (address.replace("tls", "tcp"), None),
            (address, others),
        ):
            with pytest.raises(OSError, match=r"closed|certificate"):
                distributed.Client(
                    stranger, timeout=2, security=security, set_as_default=False
                )


def test_without_credentials_there_is_no_local_cluster(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.setattr(credentials, "OPENSSL", ("no-such-command",))
    with pytest.raises(ValueError, match=r"`--workers` must have .* pip install crypt"):
        temporary_security(distributed)


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_its_own_chunk_alone(tmp_path, store):
    study = studies.study("lingering", folder=str(tmp_path), seconds=0.4)
    killed, over = [], []

    def tell(progress):
        """After the first chunk, end the process that is at another one."""
        if killed or progress.done == 0:
            return
        over.append(f"{progress.task.seeds[0]}")
        while not killed:
            for note in tmp_path.glob("* *"):
                begun, pid = note.name.split()
                if begun not in over:
                    os.kill(int(pid), signal.SIGKILL)
                    killed.append(begun)
                    break
            time.sleep(0.01)

    tasks = tasks_of(study, SEVERAL, cells=["T=5"])
    with cluster.local_cluster(2) as execute:
        faults = run(
            *(tasks, store), execute=execute, methods=studies.METHODS, callback=tell
        )
    assert faults == []
    assert store.missing(tasks) == []
    notes = [note.name.split() for note in tmp_path.glob("* *")]
    assert str(os.getpid()) not in [pid for _, pid in notes]
    begun = Counter(begun for begun, _ in notes)
    assert begun[over[0]] == 1
    assert begun[killed[0]] == 2

    with Store(tmp_path / "undisturbed.sqlite") as undisturbed:
        run(tasks, undisturbed, methods=studies.METHODS)
        expected = summarise(undisturbed.found(study, SEVERAL))
    found = summarise(store.found(study, SEVERAL))
    for write in (as_csv, markdown, latex):
        assert write(study, found, times=False) == write(study, expected, times=False)


def test_a_scheduler_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    with (
        pytest.raises(ValueError, match="`--cluster` must be the address"),
        cluster.at("tcp://127.0.0.1:9"),
    ):
        pass


def _command(*arguments, cwd):
    code = "from graphgrad.cli import app; app()"
    words = [sys.executable, "-c", code, "reproduce", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=cwd, stdout=pipe, stderr=pipe, text=True)


def _stored(path):
    if not path.exists():
        return 0
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        try:
            return connection.execute("SELECT count(*) FROM fits").fetchone()[0]
        except sqlite3.OperationalError:  # not yet made
            return 0


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path):
    """Ctrl-C, then kill -9, then to the end on another process."""
    name, chunk = "lorenz63-d2", STUDIES["lorenz63-d2"].chunk
    many = 10 * chunk
    few = ("--methods", "lasso", "--cells", "T=25", "--realisations", many)
    path = tmp_path / "study.sqlite"
    for end in (signal.SIGINT, signal.SIGKILL):
        before = _stored(path)
        process = _command(name, *few, cwd=tmp_path)
        while _stored(path) == before and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(end)
        said, told = process.communicate()
        assert before < _stored(path) < many
        assert _stored(path) % chunk == 0
        assert not (tmp_path / "reproduced").exists()
        assert said == ""
        if end == signal.SIGINT:
            assert process.returncode == 130
            assert "the same command resumes" in told.splitlines()[-1]

    left = many // chunk - _stored(path) // chunk
    process = _command(name, *few, "--workers", 1, "--no-times", cwd=tmp_path)
    said, told = process.communicate()
    assert process.returncode == 0, told
    assert f"{10 - left} of 10 chunks are stored" in told
    arguments = ["reproduce", name, *map(str, few), "--no-times"]
    arguments += ["--store", str(tmp_path / "b.sqlite"), "--out", str(tmp_path / "b")]
    whole = CliRunner().invoke(app, arguments)
    assert whole.exit_code == 0, whole.output
    assert said == whole.stdout
    for ending in ("md", "csv", "tex", "png"):
        ours = (tmp_path / "reproduced" / f"{name}.{ending}").read_bytes()
        assert ours == (tmp_path / "b" / f"{name}.{ending}").read_bytes()


def test_mistakes_are_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    mistakes = {
        ("nothing",): "`NAME` must be one of 'flows', ",
        ("lorenz63-d2", "--realisations", "0"): "`--realisations` must be",
        ("lorenz63-d2", "--methods", "magic"): "`--methods` must be one of",
        ("lorenz63-d2", "--cells", "T=25,T=26"): "`--cells` must be one of 'T=25'",
        ("lorenz63-d2", "--workers", "0"): "`--workers` must be",
        ("lorenz63-d2", "--workers", "2", "--cluster", "a"): "not both",
        ("lorenz63-d2", "--out", "file"): "`--out` must be a folder",
        ("page",): "study.sqlite: no such file",
    }
    for arguments, fault in mistakes.items():
        result = CliRunner().invoke(app, ["reproduce", *arguments])
        assert result.exit_code == 2
        [line] = result.stderr.splitlines()
        assert fault in line
    assert not (tmp_path / "reproduced").exists()
    listed = CliRunner().invoke(app, ["reproduce", "list"])
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert names == [*STUDIES, "real"]


def test_intervals_are_those_of_student():
    values = np.random.default_rng(0).normal(size=7)
    low, high = stats.t.interval(*(0.95, 6), loc=values.mean(), scale=stats.sem(values))
    assert interval(values) == pytest.approx((high - low) / 2)
    assert np.isnan(interval(values[:1]))


def test_tables_say_what_was_found_and_what_was_not():
    study = studies.study("sizes", "lingering")
    found = summarise({("T=5", "sizes"): _fits([0.001, 0.003, 0.005, np.nan])})
    text = markdown(study, found)
    rows = [
        [part.strip() for part in line.split("|")[1:-1]] for line in text.split("\n")
    ]
    assert ["**RMSE (1e-3)**", "paper: theirs", "", "2", ""] in rows
    assert ["", "sizes", "4", "3 ± 4.97", ""] in rows
    assert ["**RMSE (1e-3), median**", "sizes", "4", "3", ""] in rows
    assert ["**share of draws that ran away**", "data", "4", "0.50", ""] in rows
    assert ["**seconds a fit**", "sizes", "4", "1", ""] in rows
    notes = [line for line in text.split("\n") if line.startswith("- ")]
    assert "- It means nothing." in notes
    assert "- Not run: lingering." in notes
    assert "- RMSE (1e-3), sizes: no number in 1 of 4 fits at T=5." in notes
    assert "- Made with graphgrad 0, device abacus." in notes
    assert "seconds a fit" not in markdown(study, found, times=False)

    lines = list(csv.DictReader(io.StringIO(as_csv(study, found))))
    [ours] = [r for r in lines if r["metric"] == "rmse" and r["source"] == "ours"]
    assert (ours["row"], ours["cell"], ours["n"]) == ("sizes", "T=5", "3")
    assert float(ours["value"]) == np.mean([0.001, 0.003, 0.005])
    tex = latex(study, found)
    assert r"3 $\pm$ 4.97" in tex
    assert all(line.count("&") == 4 for line in tex.split("\n") if "&" in line)


def test_a_table_tells_the_next_page_what_it_was_made_of():
    study = replace(studies.study("sizes", "lingering"), metrics=("rmse", "f1"))
    place = ("T=5", "sizes")
    table = summarise({place: _fits([0.001, 0.003, 0.005, np.nan])})
    back = from_csv(study, as_csv(study, table))
    assert set(back) == {place}
    for write in (as_csv, markdown, latex):
        assert write(study, back) == write(study, table)
    # Configured anew, a cell begins anew.
    assert from_csv(replace(study, chunk=4), as_csv(study, table)) == {}
    with pytest.raises(ValueError, match=r"small\.csv must have the columns study, "):
        from_csv(study, "study,metric\nsmall,rmse\n")


def test_of_two_tables_the_one_with_more_fits_counts():
    study = studies.study("sizes")
    short, long = (
        summarise({(cell, "sizes"): _fits([0.001] * n) for cell, n in counts.items()})
        for counts in ({"T=5": 2, "T=9": 3}, {"T=9": 4})
    )
    both = merged(study, short, long)
    assert [(cell, s.fits) for (cell, _), s in both.items()] == [("T=5", 2), ("T=9", 4)]
    assert merged(study, long, short) == {**short, **long}
    equal = summarise({("T=9", "sizes"): _fits([0.009] * 4)})
    assert merged(study, long, equal) == equal
    # Times of two runs do not go together.
    timed = replace(study, alone=True)
    assert merged(timed, short, long) == long
    assert merged(timed, short, {}) == short


def test_times_are_relative_to_where_the_paper_has_one():
    cells = tuple(Cell(f"d={d}", d, "lorenz63", degree=d) for d in (1, 2))
    paper = {"theirs": {"relative_seconds": (0.4, 1.0)}}
    timed = Study(
        *("timed", "", cells, ("sizes",)),
        metrics=("relative_seconds",),
        paper=paper,
        chunk=1,
        alone=True,
    )
    found = summarise(
        {
            ("d=1", "sizes"): _fits([1.0, 1, 1], seconds=[1, 2, 9]),
            ("d=2", "sizes"): _fits([1.0, 1, 1], seconds=[4, 8, 8]),
        }
    )
    [block] = [b for b in blocks(timed, found) if b.name == "relative_seconds"]
    assert [v.value for v in block.lines[1].values if v] == [0.25, 1]


def test_figures_show_means_ribbons_and_what_was_printed():
    study = studies.study("sizes")
    found = summarise(
        {
            ("T=5", "sizes"): _fits([0.001, 0.003] * 3),
            ("T=9", "sizes"): _fits([0.002] * 6),
        }
    )
    [panel] = [ax for ax in ribbon(study, found, {}).axes if ax.lines]
    drawn = {
        line.get_label(): np.array(line.get_ydata(), float) for line in panel.lines
    }
    np.testing.assert_allclose(drawn["sizes"], [2, 2])
    np.testing.assert_array_equal(drawn["paper: theirs"], [2, np.nan])
    [band] = panel.collections
    heights = np.array(band.get_paths()[0].vertices)[:, 1]
    half = 1e3 * interval(np.array([0.001, 0.003] * 3))
    assert heights.max() == pytest.approx(2 + half)
    # Medians have no interval, and stand beside the means that were printed.
    medians = ribbon(replace(study, drawn=("rmse_median",)), found, {}).axes[0]
    assert [line.get_label() for line in medians.lines] == ["paper: theirs", "sizes"]
    # A few fits have bars.
    few = summarise({("T=5", "sizes"): _fits([0.001, 0.003])})
    [bars] = ribbon(study, few, {}).axes[0].collections
    assert isinstance(bars, LineCollection)
    assert png(study, {}, {}).startswith(b"\x89PNG")
    one = Study("one", "", study.cells[:1], ("sizes",), metrics=("rmse",))
    assert png(one, found, {}).startswith(b"\x89PNG")


def test_specificity_follows_from_counts():
    rng = np.random.default_rng(0)
    truth, guess = rng.random((2, 200)) < 0.3
    hits = np.sum(truth & guess)
    expected = np.sum(~truth & ~guess) / np.sum(~truth)
    found = evidence.implied_specificity(
        *(hits / truth.sum(), hits / guess.sum()),
        positives=int(truth.sum()),
        negatives=int((~truth).sum()),
    )
    assert found == pytest.approx(expected)


def test_the_page_says_what_the_numbers_say():
    study = STUDIES["lorenz63-d2"]
    idle = studies.study("sizes")
    found = {
        study.name: summarise({("T=25", evidence.YARDSTICK): _fits([0.001, 0.0022])}),
        "small": {},
    }
    with_yardstick = replace(study, methods=(evidence.YARDSTICK,))
    text = page([with_yardstick, idle], found)
    checks = checks_page([with_yardstick], found)
    assert "| small | A small study | not run yet | 0 | 0.00 |" in text
    assert "[lorenz63-d2](paper/lorenz63-d2.md)" in text
    assert "paper/small" not in text
    for said in (text, checks):
        assert "highest in lorenz63-d2, T=25: 50 %." in said
        # Printed: 1.6 by B-GraphGrad, 2.4 by pMLE; the yardstick: 1.6.
        assert "0 of 2 printed errors are below" in said
    assert "| lorenz63-d2 | T=25 | 0.90 | 0.988 | 0.874 |" in checks
    whole = study_page(with_yardstick, found[study.name], "more")
    assert "](lorenz63-d2.png)" in whole
    assert "](lorenz63-d2.csv)" in whole
    assert "\nmore\n" in whole
