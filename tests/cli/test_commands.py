"""The real commands in a real shell."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import graphgrad as gg
from graphgrad.cli import app
from graphgrad.cli.job import fit_and_write
from graphgrad.cli.options import gather
from graphgrad.demo import hare_lynx_book, hare_lynx_data
from graphgrad.estimator import fitting
from graphgrad.fits import task
from graphgrad.solvers import AdaptiveProgress
from helpers import CACHE, FIXTURES
from helpers.stubs import least_squares

COMMAND = Path(sys.executable).parent / "graphgrad"
# Commands read what tests have compiled.
ENVIRONMENT = {
    **os.environ,
    "JAX_COMPILATION_CACHE_DIR": str(CACHE),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3",
}


def _run(*arguments, cwd=None):
    command = [COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=ENVIRONMENT
    )


def _invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data of prey and predators and a fit to them."""
    folder = tmp_path_factory.mktemp("cli")
    options = ("--steps", "100", "--seed", "1", "--out", "data.csv")
    made = _run("simulate", "lotka_volterra", *options, cwd=folder)
    assert made.returncode == 0, made.stderr
    assert made.stdout == "Wrote data.csv: 100 rows of prey, predator.\n"
    fitted = _run("fit", "data.csv", "--out", "run/", cwd=folder)
    assert fitted.returncode == 0, fitted.stderr
    (folder / "said").write_text(fitted.stdout)
    (folder / "complained").write_text(fitted.stderr)
    return folder


@pytest.fixture
def quick(monkeypatch, place):
    """Fits by a stub, in the folder of the data."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    monkeypatch.chdir(place)


@pytest.mark.slow
def test_fit_prints_data_and_results(place):
    said = (place / "said").read_text()
    first, *lines = said.splitlines()
    assert first == "time: column t, 100 rows every 0.03"
    assert lines[0] == (
        "Read data.csv: 2 states prey, predator; 100 rows, dt = 0.03 (from column t); "
        "nothing missing."
    )
    assert "6 terms up to degree 2" in lines[1]
    assert lines[2] == (
        "Dynamics: flow, dx/dt = A phi(x), since column t has the times; use "
        "--dynamics map for x[t+1] = C phi(x)."
    )
    assert "Equations of a flow, dx/dt = A phi(x)" in said
    assert "  dprey/dt = " in said
    assert "Variance of the process noise per unit of time: " in said
    assert "  predator     1         1" in said
    assert "Outcome: converged. " in said
    # The output is not a terminal, so there is no progress line.
    assert (place / "complained").read_text() == ""


@pytest.mark.slow
def test_the_folder_of_a_run(place):
    run = place / "run"
    assert {path.name for path in place.iterdir()} == {
        *("data.csv", "run", "said", "complained")
    }
    header, arrays = gg.storage.read(run)
    truth = gg.systems.lotka_volterra().coefficients()
    C = np.array(header["coefficients"])
    assert ((C != 0) == (truth != 0)).all()
    assert (header["dt"], header["dynamics"]) == (0.03, "flow")
    assert header["states"] == ["prey", "predator"]
    assert header["degrees"] == gg.degree_matrix(2, 2).tolist()
    assert header["adjacency"] == [[1, 1], [1, 1]]
    assert header["outcome"] == "converged"
    assert arrays
    graph = nx.read_graphml(run / "graph.graphml")
    assert graph.edges["predator", "prey"]["terms"] == "prey predator"
    with (run / "states.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 100
    assert rows[0]["t"] == "0.03"
    assert all(
        float(r["prey_low"]) < float(r["prey"]) < float(r["prey_high"]) for r in rows
    )
    config = tomllib.loads((run / "config.toml").read_text())
    assert (config["data"], config["dt"], config["seed"]) == ("../data.csv", 0.03, 0)
    report = (run / "report.html").read_text(encoding="utf-8")
    assert "What acts on what in data.csv" in report
    assert "prey depends on predator" in report
    assert len(report) < 6_000_000


@pytest.mark.slow
def test_show_prints_the_summary_of_fit(place):
    shown = _run("show", place / "run")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout in (place / "said").read_text()
    found = json.loads(_invoke("show", place / "run", "--json").stdout)
    assert found["equations"][0].startswith("dprey/dt = ")
    assert found["equations"][0].endswith(" prey predator")
    assert (found["dynamics"], found["substeps"]) == ("flow", 1)


@pytest.mark.slow
def test_forecast(place):
    options = ("--steps", "5", "--out", place / "forecast.csv", "--members", "50")
    run = _run("forecast", place / "run", *options)
    assert run.returncode == 0, run.stderr
    rows = list(csv.DictReader((place / "forecast.csv").read_text().splitlines()))
    assert [float(r["t"]) for r in rows] == pytest.approx(3 + 0.03 * np.arange(1, 6))
    assert all(float(r["prey_low"]) < float(r["prey_high"]) for r in rows)
    assert _invoke("forecast", place / "run", *options).exit_code == 2
    assert "5 steps of a flow, dx/dt = A phi(x), with bands of 90%" in run.stdout
    again = _invoke("forecast", place / "run", "--steps", "5", "--members", "50")
    assert again.stdout == (place / "forecast.csv").read_text()
    assert again.stderr == "Forecast of a flow, dx/dt = A phi(x).\n"
    (place / "forecast.csv").unlink()


@pytest.mark.slow
def test_compare(place, quick):
    options = ("--degree", "1", "--out", place / "line")
    assert _invoke("fit", place / "data.csv", *options).exit_code == 0
    compared = _invoke("compare", place / "run", place / "line")
    assert compared.exit_code == 0, compared.output
    assert "log-lik." in compared.stdout
    assert "Only in some runs: prey predator in prey: -0." in compared.stdout
    assert f"{place / 'line'} is a flow, dx/dt = A phi(x)." in compared.stdout
    found = json.loads(
        _invoke("compare", place / "run", place / "line", "--json").stdout
    )
    assert len(found["rows"]) == 2
    assert set(found["dynamics"].values()) == {"flow"}


@pytest.mark.slow
def test_only_runs_on_the_same_data_are_compared(place, quick, tmp_path):
    lines = (place / "data.csv").read_text().splitlines(keepends=True)
    (tmp_path / "fewer.csv").write_text("".join(lines[:60]))
    options = ("--degree", "1", "--out", tmp_path / "fewer")
    assert _invoke("fit", tmp_path / "fewer.csv", *options).exit_code == 0
    refused = _invoke("compare", place / "run", tmp_path / "fewer")
    assert refused.exit_code == 2
    assert "must be fits to the same data" in refused.stderr


@pytest.mark.slow
def test_a_config_repeats_a_fit_exactly(quick, tmp_path, monkeypatch):
    options = ("--degree", "1", "--observation-noise", "0.25,0.5")
    options += ("--dynamics", "difference")
    first = _invoke("fit", "data.csv", *options, "--seed", "3", "--out", tmp_path / "a")
    assert first.exit_code == 0, first.output
    assert (
        "Dynamics: difference, x[t+1] - x[t] = A phi(x), as requested." in first.stdout
    )
    assert "prey[t+1] - prey[t] = " in first.stdout
    monkeypatch.chdir(tmp_path)
    second = _invoke("fit", "--config", "a/config.toml", "--out", "b")
    assert second.exit_code == 0, second.output
    for name in ("model.json", "arrays.npz", "states.csv", "config.toml"):
        assert (tmp_path / "a" / name).read_bytes() == (
            tmp_path / "b" / name
        ).read_bytes()
    third = _invoke("fit", "--config", "a/config.toml", "--degree", "2", "--out", "c")
    assert "6 terms up to degree 2" in third.stdout


@pytest.mark.slow
def test_json_is_all_there_is(quick, tmp_path):
    run = _invoke("fit", "data.csv", "--json", "--out", tmp_path / "run")
    found = json.loads(run.stdout)
    shown = json.loads(_invoke("show", tmp_path / "run", "--json").stdout)
    assert {name: found[name] for name in shown} == shown
    assert run.stderr == ""
    assert found["states"] == ["prey", "predator"]
    assert found["outcome"] == "converged"
    assert found["advice"]
    assert len(found["equations"]) == 2
    assert found["dynamics"] == "flow"


@pytest.mark.slow
def test_rows_without_times_are_a_map_unless_dt_is_given(quick, tmp_path):
    lines = Path("data.csv").read_text().splitlines()
    untimed = "\n".join(line.split(",", 1)[1] for line in lines)
    (tmp_path / "data.csv").write_text(untimed)
    data, out = tmp_path / "data.csv", tmp_path / "run"
    run = _invoke("fit", data, "--degree", "1", "--out", out)
    assert run.exit_code == 0, run.output
    assert (
        "Dynamics: map, x[t+1] = C phi(x), since there are no times; "
        "give --dt or a column t for a flow, dx/dt = A phi(x)." in run.stdout
    )
    assert "  prey[t+1] = " in run.stdout
    assert "Variance of the process noise per step: " in run.stdout
    config = tomllib.loads((out / "config.toml").read_text())
    assert "dt" not in config  # or it would be a flow the next time
    assert config["dynamics"] == "auto"
    again = _invoke("fit", "--config", out / "config.toml", "--out", tmp_path / "again")
    assert again.exit_code == 0, again.output
    assert gg.storage.read(tmp_path / "again")[0]["dynamics"] == "map"
    timed = _invoke("fit", data, "--dt", "0.5", "--out", tmp_path / "timed")
    assert timed.exit_code == 0, timed.output
    assert "Dynamics: flow, dx/dt = A phi(x), since --dt is given;" in timed.stdout
    states = (tmp_path / "timed" / "states.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in states[:3]] == ["t", "0.0", "0.5"]


@pytest.mark.slow
def test_changed_dynamics_are_printed(quick, tmp_path, monkeypatch):
    """As if intervals are too long for a flow, and a map has the lower BIC."""
    chosen = task.choose_dynamics

    def mapped(_, *rest, **options):
        return chosen("map", *rest, **options)

    monkeypatch.setattr(task, "choose_dynamics", mapped)
    run = _invoke("fit", "data.csv", "--degree", "1", "--out", tmp_path / "run")
    assert run.exit_code == 0, run.output
    assert (
        "Dynamics changed to map, x[t+1] = C phi(x): the interval is too long for a "
        "flow, and the extended BIC is lower." in run.stdout
    )


@pytest.mark.parametrize("kind", ["map", "rate"])
def test_runs_of_format_1_are_shown(kind):
    run = FIXTURES / f"format1-{kind}"
    shown = _invoke("show", run)
    assert shown.exit_code == 0, shown.output
    motion = {"map": "map, x[t+1] =", "rate": "difference, x[t+1] - x[t] ="}[kind]
    assert f"Equations of a {motion}" in shown.stdout
    left = {"map": "prey[t+1]", "rate": "prey[t+1] - prey[t]"}[kind]
    assert f"  {left} = " in shown.stdout


@pytest.mark.slow
def test_a_run_is_replaced_only_with_force(quick, tmp_path):
    out = tmp_path / "run"
    assert _invoke("fit", "data.csv", "--out", out).exit_code == 0
    (out / "notes").mkdir()
    (out / "notes" / "mine.txt").write_text("mine")
    before = (out / "model.json").read_bytes()
    refused = _invoke("fit", "data.csv", "--degree", "1", "--out", out)
    assert refused.exit_code == 2
    assert "replace it with --force" in refused.stderr
    assert (out / "model.json").read_bytes() == before
    forced = _invoke("fit", "data.csv", "--degree", "1", "--out", out, "--force")
    assert forced.exit_code == 0, forced.output
    assert (out / "model.json").read_bytes() != before
    assert (out / "notes" / "mine.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_a_fit_that_fails_leaves_nothing(quick, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ValueError("no\nluck")

    monkeypatch.setattr(fitting, "adaptive", fail)
    run = _invoke("fit", "data.csv", "--out", tmp_path / "deep" / "run")
    assert (run.exit_code, run.stderr) == (2, "graphgrad: no luck\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_hidden_states_and_missing_values(quick, tmp_path):
    rows = list(csv.reader(Path("data.csv").read_text().splitlines()))
    table = [[row[0], row[1] if i % 4 else "NA"] for i, row in enumerate(rows)]
    text = "\n".join(";".join(row) for row in [["Time", "prey"], *table[1:]])
    (tmp_path / "gaps.csv").write_text(text)
    options = ("--states", "prey,predator", "--out", tmp_path / "run")
    run = _invoke("fit", tmp_path / "gaps.csv", *options)
    assert run.exit_code == 0, run.output
    assert "2 states prey, predator (predator hidden); 100 rows" in run.stdout
    assert "25.0% missing" in run.stdout
    head = (tmp_path / "run" / "states.csv").read_text().splitlines()[0]
    assert head.startswith("Time,prey,prey_low,prey_high,predator,")


@pytest.mark.slow
def test_ctrl_c_stops_and_writes_nothing(place, tmp_path):
    with subprocess.Popen(
        [COMMAND, "fit", place / "data.csv", "--out", tmp_path / "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("time: column t")
        time.sleep(3)  # long enough to be in the middle of a compilation
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "graphgrad: stopped after" in complaint
    assert "nothing was written" in complaint
    assert "Traceback" not in complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_interrupted_fit_prints_its_equations(quick, tmp_path, monkeypatch):
    def stopped(*_, callback, **__):
        C = np.array([[0, 1.03, 0, 0, -0.03, 0], [0, 0, -0.95, 0, 0.02, 0]])
        callback(AdaptiveProgress("refine", 10, 150, -12.34, 4, C))
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "adaptive", stopped)
    options = gather(None, {"data": "data.csv", "out": str(tmp_path / "run")})
    with pytest.raises(KeyboardInterrupt) as stop:
        fit_and_write(options, force=False, echo=lambda _: None)
    said, note, *lines = stop.value.args
    assert "nothing was written" in said
    assert "log-likelihood -12.3" in note
    assert "not converged" in note
    assert lines[0] == "  dprey/dt = 1.03 prey - 0.03 prey predator"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_inputs_and_constraints(place, tmp_path, monkeypatch):
    asked = {}

    def listening(key, ys, model, **options):
        asked.update(options)
        return least_squares(key, ys, model, **options)

    monkeypatch.setattr(fitting, "adaptive", listening)
    known = ("--constraint", "known(prey, prey, 1.0)", "--constraint")
    known += ("only_edges(prey > prey, predator > prey)",)
    run = _invoke(
        *("fit", place / "data.csv", "--inputs", "predator", "--degree", "1"),
        *(*known, "--inputs-between", "linear", "--out", tmp_path / "run"),
    )
    assert run.exit_code == 0, run.output
    assert "1 state prey;" in run.stdout
    assert "driven by predator" in run.stdout
    assert asked["constraints"] == (
        gg.known("prey", "prey", 1.0),
        gg.only_edges([("prey", "prey"), ("predator", "prey")]),
    )
    assert asked["states"] == ("prey", "predator")
    config = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    assert config["inputs"] == ["predator"]
    assert config["inputs_between"] == "linear"
    assert gg.GraphGrad.load(tmp_path / "run").inputs_between == "linear"
    assert config["constraints"] == [known[1], known[3]]


@pytest.mark.slow
def test_a_velocity_is_a_state_that_need_not_be_named(quick, tmp_path):
    options = ("--columns", "prey", "--degree", "1", "--out", tmp_path / "run")
    known = ("--constraint", "velocity(prey, speed)")
    run = _invoke("fit", "data.csv", *options, *known)
    assert run.exit_code == 0, run.output
    assert "2 states prey, speed (speed hidden)" in run.stdout
    assert "Selecting among 3 terms" in run.stdout
    assert "  dprey/dt = 1 speed" in run.stdout


def test_the_same_seed_simulates_the_same(tmp_path):
    options = ("lorenz63", "--steps", "4", "--dt", "0.02", "--set", "rho=20")
    first, again = (_invoke("simulate", *options).stdout for _ in range(2))
    other = _invoke("simulate", *options, "--seed", "1").stdout
    assert first == again != other
    euler = _invoke("simulate", *options, "--scheme", "euler").stdout
    assert first != euler
    assert first.splitlines()[0] == "t,x1,x2,x3"
    assert [line.split(",")[0] for line in first.splitlines()[1:]] == [
        *("0.02", "0.04", "0.06", "0.08")
    ]


def test_systems_are_listed():
    listed = _invoke("systems").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(gg.systems.SYSTEMS)
    assert all(line.endswith(".") for line in listed)


@pytest.mark.parametrize(
    "command",
    ["fit", "show", "forecast", "compare", "simulate", "systems", "demo", "version"],
)
def test_every_command_has_help_with_examples(command):
    text = _invoke(command, "--help").stdout
    assert f"Examples:\n    graphgrad {command}" in text
    assert command in _invoke("--help").stdout


@pytest.mark.slow
def test_demo_finds_the_lorenz_equations(tmp_path):
    run = _run("demo", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "200 rows, dt = 0.02 (from column t); 16.0% missing" in run.stdout
    assert (
        "Dynamics: flow, dx/dt = A phi(x), since column t has the times" in run.stdout
    )
    assert "Outcome: converged" in run.stdout
    assert "Of 30 possible terms none is wrong (F1 1.00)" in run.stdout
    true = [line for line in run.stdout.splitlines() if line.startswith("  true")]
    assert true == [
        "  true   dx1/dt = -10 x1 + 10 x2",
        "  true   dx2/dt = 28 x1 - 1 x2 - 1 x1 x3",
        "  true   dx3/dt = -8/3 x3 + 1 x1 x2",
    ]
    assert "open demo/report.html" in run.stdout
    assert (tmp_path / "demo" / "report.html").is_file()


@pytest.mark.slow
def test_demo_finds_lotka_and_volterra_in_pelts(tmp_path):
    run = _run("demo", "hare-lynx", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "21 rows, dt = 1 (from column time); nothing missing" in run.stdout
    header, _ = gg.storage.read(tmp_path / "demo")
    book, library = hare_lynx_book()
    found = np.array(header["coefficients"])
    assert header["terms"] == list(library.names(("hare", "lynx")))
    assert ((found != 0) == (book != 0)).all()
    np.testing.assert_allclose(found[book != 0], book[book != 0], rtol=0.3)
    assert "  book   dhare/dt = 0.55 hare - 0.028 hare lynx" in run.stdout
    assert "  book   dlynx/dt = -0.84 lynx + 0.026 hare lynx" in run.stdout
    assert "90 % intervals, given these terms:\n  hare in hare: 0." in run.stdout


def test_pelts_are_those_of_the_book():
    """The sums were added up by hand from Carpenter's table."""
    with hare_lynx_data().open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["time"]) for row in rows] == list(range(1900, 1921))
    assert np.isclose(sum(float(row["hare"]) for row in rows), 715.7)
    assert np.isclose(sum(float(row["lynx"]) for row in rows), 423.5)


@pytest.mark.slow
def test_demo_does_not_overwrite_an_older_one(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = _invoke("demo"), _invoke("demo")
    assert (first.exit_code, second.exit_code) == (0, 0), second.output
    assert "open demo/report.html" in first.stdout
    assert "open demo-2/report.html" in second.stdout
    assert _invoke("demo", "--out", "demo").exit_code == 2
    pelts = _invoke("demo", "hare-lynx")
    assert pelts.exit_code == 0, pelts.output
    assert "Who eats whom?" in pelts.stdout
    assert "with the numbers of Howard (2009)" in pelts.stdout
    assert "open demo-3/report.html" in pelts.stdout
    wrong = _invoke("demo", "rabbits")
    assert "`NAME` must be one of 'lorenz', 'hare-lynx', got 'rabbits'" in wrong.stderr


def test_version_and_completion():
    assert _run("version").stdout.strip() == gg.__version__
    said = _invoke("version", "--verbose").stdout
    assert "jax " in said
    assert "device cpu" in said.lower()


def test_the_package_can_be_run():
    command = [sys.executable, "-m", "graphgrad", "version"]
    run = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert run.stdout.strip() == gg.__version__, run.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("fit data.csv --nope", "graphgrad: No such option: --nope"),
        ("fit data.csv --degree two", "graphgrad: Invalid value for '--degree'"),
        ("nothing", "graphgrad: No such command 'nothing'. See graphgrad --help."),
        ("simulate", "graphgrad: Missing argument 'SYSTEM'. See graphgrad simulate"),
    ],
)
def test_usage_errors_are_one_line(arguments, complaint):
    run = _run(*arguments.split())
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(complaint)
    assert run.stderr.count("\n") == 1


def test_completion_is_there_whatever_shell_runs_the_test():
    asked = os.environ | {"_GRAPHGRAD_COMPLETE": "source_bash"}
    script = subprocess.run([COMMAND], env=asked, capture_output=True, text=True)
    assert "_GRAPHGRAD_COMPLETE=complete_bash" in script.stdout, script.stderr
