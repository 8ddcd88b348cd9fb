"""Errors are one line, printed before anything is written."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphgrad import demo, storage, systems
from graphgrad.cli import app, known_systems, options
from graphgrad.model.arrange import INPUTS_BETWEEN

GOOD = "t,x,y\n0,1,2\n1,2,1\n2,1,3\n3,2,2\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(GOOD)
    return tmp_path


def _fails(*arguments):
    """The one line that a command fails with."""
    before = sorted(Path().rglob("*"))
    run = CliRunner().invoke(app, list(arguments))
    assert run.exit_code == 2, run.output
    assert run.stdout == ""
    assert run.stderr.startswith("graphgrad: ")
    assert run.stderr.count("\n") == 1
    assert sorted(Path().rglob("*")) == before
    return run.stderr


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must have rows, got bad.csv: it is empty"),
        ("\n \n", "it is empty"),
        ("x,y\n", "at least 3 rows, got 0"),
        ("x,y\n1,2\n", "at least 3 rows, got 1"),
        ("1,2\n", "at least 3 rows, got 1"),
        ("x,y\n1,2\n2,3\n3,old\n", "got 'old' in row 3, column 'y'"),
        ("x,y\n1,2\n2,3\n3,4,5\n", "each row as in the first, 2, got 3 in line 4"),
        ("x,x\n1,2\n2,3\n3,4\n", "got 'x' more than once"),
        ("x,y\n1,2\n2,2\n3,2\n", "columns that vary, got 2 in all rows of 'y'"),
        (
            "x,y\n1,2\n3,6\n2,4\n5,10\n4,8\n7,14\n",
            "got 2 times column 'x' as column 'y', in all 6 rows with numbers. Leave",
        ),
        ("x,y\n1,\n2,NaN\n3,NA\n", "an observation in every column, got none in 'y'"),
        ("x,y\n1,2\n2,inf\n3,4\n", "finite, got inf in row 2, column 'y'"),
        ("x,\n1,2\n2,3\n3,4\n", "must name each column, got none for column 2"),
        ("t\n1\n2\n3\n", "a column other than the times"),
        ("t,time,x\n1,1,2\n2,2,3\n3,3,4\n", "one column of times, got columns t, time"),
        ("t,x\n1,2\n1,3\n3,4\n", "increasing times, got 1 twice, in rows 1 and 2"),
        ("t,x\n1,2\n3,3\n2,4\n", "got 2 in row 3 after 3, column t: they are not"),
        ("year,x\n1,2\n1,3\n2,4\n", "Give columns beside it that complete the date"),
        ("quarter,x\n1,2\n2,3\n3,4\n", "a column of years beside parts of dates"),
        ("date,year,x\n1,1,2\n2,2,3\n3,3,4\n", "got columns date, year"),
        ("x\n1\n-9999\n2\n3\n", "Give --missing -9999 if it means missing"),
        ("date,x\n1/2/99,1\n2/2/99,2\n3/2/99,4\n", "--day-first or --no-day-first"),
        ("t,x\n1,2\n,3\n3,4\n", "a time for each row, got nan in row 2"),
        ("t,x\n2024-05-31,2\nlater,3\n3,4\n", "got 'later' in row 2, column 't'"),
    ],
)
def test_tables_that_cannot_be_fitted(place, text, complaint):
    Path("bad.csv").write_text(text)
    assert complaint in _fails("fit", "bad.csv")


def test_options_of_files_are_used(place):
    """As the next complaint shows."""
    Path("bad.csv").write_text("x,y\n1,2\n-9999,3\n2,1\n3,4\n")
    complaint = _fails("fit", "bad.csv", "--missing", "-9999", "--dynamics", "flow")
    assert "without times, got flow" in complaint
    Path("bad.csv").write_text("date,x\n1/2/1999,1\n2/2/1999,1\n3/2/1999,1\n")
    assert "columns that vary" in _fails("fit", "bad.csv", "--day-first")
    assert "`--time-unit` must be one of 'auto', 'second'" in _fails(
        "fit", "good.csv", "--time-unit", "fortnight"
    )


def test_files_that_are_no_tables(place):
    assert "got none.csv: no such file" in _fails("fit", "none.csv")
    assert "got .: not a file" in _fails("fit", ".")
    Path("bytes.csv").write_bytes(b"x,y\n\xff\xfe,2\n")
    assert "must be text in UTF-8" in _fails("fit", "bytes.csv")
    Path("no.parquet").write_text(GOOD)
    assert "must be Parquet" in _fails("fit", "no.parquet")
    assert "`data` must be given" in _fails("fit")


def test_paths_that_no_system_has(place):
    Path("loop").symlink_to("loop")
    Path("nul.toml").write_text('data = "good.csv"\nout = "a\\u0000b"\n')
    long = "x" * 300
    for arguments, argument, reason in [
        (["fit", "good.csv", "--out", "loop"], "--out", "symbolic links"),
        (["fit", "good.csv", "--out", "loop/run"], "--out", "symbolic links"),
        (["fit", "good.csv", "--out", long], "--out", "name too long"),
        (["fit", "--config", "nul.toml"], "--out", "null"),
        (["fit", "loop"], "data", "symbolic links"),
        (["fit", long], "data", "name too long"),
        (["fit", "--config", long], "--config", "name too long"),
        (["show", long], "run", "name too long"),
        (["show", "loop"], "run", "symbolic links"),
        (["forecast", "loop"], "run", "symbolic links"),
        (["simulate", "lorenz63", "--out", "loop"], "--out", "symbolic links"),
        (["simulate", "lorenz63", "--out", long], "--out", "name too long"),
    ]:
        complaint = _fails(*arguments)
        assert f"`{argument}` must be a path of the system, got " in complaint
        assert reason in complaint
    complaint = _fails("simulate", "lorenz63", "--out", "/proc/x")
    assert "must be in a folder that can be written, got /proc/x" in complaint


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--dt -0.1", "`--dt` must be a positive finite number, got -0.1"),
        ("--degree 0", "`--degree` must be a whole number of at least 1, got 0"),
        ("--refits -1", "`--refits` must be a whole number of at least 0, got -1"),
        ("--inputs z", "`--inputs` must be one of 'x', 'y', got 'z'"),
        ("--inputs x,y", "a column that is not an input, got x, y alone"),
        ("--constraint knwon(x,y,1)", "`--constraint` must be one of 'known'"),
        ("--constraint known(x,y,1", "the parentheses do not match"),
        ("--constraint known(x,y,one)", "'one' is not a number"),
        ("--constraint forbid(x)", "must be like forbid(x1, x3), got 'forbid(x)'"),
        ("--constraint only_edges(x)", "'x' has no >"),
        ("--seed -1", "`--seed` must be a whole number of at least 0"),
        ("--columns x,z", "`--columns` must be one of 'x', 'y', got 'z'"),
        ("--columns x,x", "distinct names, got 'x,x'"),
        ("--time when", "`--time` must be one of 't', 'x', 'y', got 'when'"),
        ("--observation-noise loud", "`--observation-noise` must be a positive"),
        ("--state-noise 1,-1", "`--state-noise` must be a positive finite number"),
        ("--form rate", "`--form` must be left out, got 'rate'. Use `--dynamics`: 'fl"),
        ("--dynamics rate", "`--dynamics` must be one of 'auto', 'flow', 'map'"),
        ("--inputs-between up", "`--inputs-between` must be one of 'held', 'linear'"),
        ("--constraint velocity(x)", "must be like velocity(x, v), got 'velocity(x)'"),
        ("--observation-noise 0", "`--observation-noise` must be a positive"),
        ("--engine steam", "`--engine` must be one of 'auto'"),
        ("--solver none", "`--solver` must be one of 'adaptive', 'paper'"),
        ("--out good.csv", "`--out` must be a folder, got good.csv: a file"),
        ("--out good.csv/run", "`--out` must be a folder that can be written"),
        ("--out /proc/run", "`--out` must be a folder that can be written"),
        ("--out .", "`--out` must be a folder of its own, got ."),
        ("--out other", "which holds other files"),
        ("--out other --force", "which holds other files"),
        ("--out old", "which holds a run"),
        ("--config none.toml", "`--config` must be a file"),
    ],
)
def test_options_that_cannot_be_met(place, arguments, complaint):
    Path("other").mkdir()
    Path("other/novel.txt").write_text("It was a dark night.")
    Path("old").mkdir()
    Path("old/model.json").write_text("{}")
    assert complaint in _fails("fit", "good.csv", *arguments.split())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("degre = 2", "`key in my.toml` must be one of 'data', 'out', 'degree'"),
        ("degree = ", "`--config` must be TOML, got my.toml: Invalid value"),
        ("degree = '2'", "`--degree` must be a whole number of at least 1, got '2'"),
        ("columns = 3", "`columns` must be names, got 3"),
        ("data = 3", "`data` must be text, got 3"),
        ("form = 'map'", "`form in my.toml` must be left out, got 'map'. Use `dyn"),
    ],
)
def test_configs_that_cannot_be_read(place, text, complaint):
    Path("my.toml").write_text(text)
    assert complaint in _fails("fit", "good.csv", "--config", "my.toml")


def test_a_flow_needs_times(place):
    Path("rows.csv").write_text("x,y\n1,2\n2,1\n1,3\n3,2\n")
    complaint = _fails("fit", "rows.csv", "--dynamics", "flow")
    assert "without times, got flow. Give --dt" in complaint


def test_errors_of_the_estimator_are_one_line(place):
    complaint = _fails("fit", "good.csv", "--solver", "paper", "--json")
    assert "`state_noise` must be given for the paper's solver" in complaint


@pytest.mark.parametrize(
    ("constraints", "complaint"),
    [
        (["known(CO2,x,1)"], "`target` must be one of 'x', 'y', got 'CO2'"),
        (["forbid(x,CO2)"], "`term` must be one of the library's 6 names, got 'CO2'"),
        (["only_edges(CO2 > x)"], "`only_edges` must be one of 'x', 'y', got 'CO2'"),
        (["forbid(x,y)", "known(x,y,1)"], "`--constraint` must agree, got 0 and 1 for"),
    ],
)
def test_constraints_that_do_not_suit_the_fit(place, constraints, complaint):
    options = [part for each in constraints for part in ("--constraint", each)]
    found = _fails("fit", "good.csv", *options)
    assert f"`--constraint` must suit the fit: {complaint}" in found


@pytest.mark.parametrize("command", ["show", "forecast", "compare"])
def test_folders_that_are_no_runs(place, command):
    assert "got nowhere: no such folder" in _fails(command, "nowhere")
    assert "it has no model.json" in _fails(command, ".")
    Path("model.json").write_text("{}")
    Path("arrays.npz").write_text("")
    assert "has no 'format' of graphgrad" in _fails(command, ".")
    storage.write("other", {"dt": 1.0}, {})
    assert "unknown dynamics, None" in _fails(command, "other")


def test_systems_that_cannot_be_simulated(place):
    assert "`SYSTEM` must be one of 'lorenz63'" in _fails("simulate", "lorenz64")
    assert "`--dt` must be a positive" in _fails("simulate", "sir", "--dt", "-1")
    assert "at least 1, got 0" in _fails("simulate", "sir", "--steps", "0")
    assert "there is no =" in _fails("simulate", "sir", "--set", "rho")
    assert "'much' is not a number" in _fails("simulate", "sir", "--set", "rho=much")
    assert "option of sir" in _fails("simulate", "sir", "--set", "rho=1")
    assert "which exists" in _fails("simulate", "sir", "--out", "good.csv")
    assert "can be written" in _fails("simulate", "sir", "--out", "none/data.csv")


def test_options_are_those_of_the_estimator():
    assert options.INPUTS_BETWEEN == INPUTS_BETWEEN
    assert known_systems.SCHEMES == systems.base.SCHEMES
    assert tuple(demo.DEMONSTRATIONS) == known_systems.DEMOS
