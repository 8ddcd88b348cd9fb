"""Future inputs of a forecast at the command line."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import graphgrad as gg
from graphgrad.cli import app
from graphgrad.estimator import fitting
from helpers.stubs import least_squares


def _invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with inputs u and v."""
    driving = np.random.default_rng(0).normal(size=(40, 2))
    y = np.zeros((40, 1))
    for t in range(1, 40):
        y[t] = 0.5 * y[t - 1] + driving[t] @ [1, -2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "adaptive", least_squares)
        import polars as pl

        frame = pl.DataFrame(driving, schema=["u", "v"])
        model = gg.GraphGrad(degree=1, states=["x"]).fit(y, inputs=frame)
    folder = tmp_path_factory.mktemp("run")
    model.save(folder)
    return folder, model


@pytest.mark.slow
def test_a_file_of_inputs(run, tmp_path):
    folder, model = run
    future = tmp_path / "future.csv"
    future.write_text("day;v;u\nmonday;1;0\ntuesday;0;3.5\nfriday;2;0\n")
    found = _invoke("forecast", folder, "--inputs", future, "--members", 20)
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader(found.stdout.splitlines()))
    wanted = model.forecast(3, members=20, future_inputs=[[0, 1], [3.5, 0], [0.0, 2]])
    np.testing.assert_allclose(
        [float(row["x"]) for row in rows], wanted.states.median[:, 0]
    )
    fewer = _invoke(
        "forecast", folder, "--inputs", future, "--members", 20, "--steps", 2
    )
    assert len(fewer.stdout.splitlines()) == 3


FAULTS = {
    "u\n1\n": "must have the columns u, v, got",
    "u,v\n1,2\n": "must have a row for each step, 2, got 1",
    "u,v\n1,2\n3,\n": "must have a number in every row, got none in row 2, column 'v'",
    "u,v\n1,2\n3,high\n": "must hold numbers, got String in column 'v'",
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_of_a_file_of_inputs(run, tmp_path, text):
    future = tmp_path / "future.csv"
    future.write_text(text)
    found = _invoke("forecast", run[0], "--steps", 2, "--inputs", future)
    assert found.exit_code == 2
    assert FAULTS[text] in found.stderr
    assert found.stderr.count("\n") == 1


def test_inputs_are_asked_for(run, tmp_path):
    found = _invoke("forecast", run[0], "--steps", 2)
    assert found.exit_code == 2
    assert "`--inputs` must be given for a run with inputs, u, v" in found.stderr
    found = _invoke("forecast", run[0], "--inputs", tmp_path / "nothing.csv")
    assert "no such file" in found.stderr
