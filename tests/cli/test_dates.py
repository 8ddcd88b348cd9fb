"""Dates from file to folder: unit, step, states, forecasts, and older runs."""

import csv
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import graphgrad as gg
from graphgrad.cli import app
from graphgrad.estimator import fitting
from helpers import FIXTURES
from helpers.stubs import least_squares

OLD = FIXTURES / "format2-dates"


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """Fits by a stub, in an empty folder."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    monkeypatch.chdir(tmp_path)


def _invoke(*arguments):
    run = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert run.exit_code == 0, run.output
    return run


def _first_column(path: str) -> list[str]:
    with Path(path).open() as file:
        return [row[0] for row in csv.reader(file)]


@pytest.mark.slow
def test_dates_from_file_to_forecast():
    """`--dt 1` on daily dates is a day, not a second."""
    shutil.copy(OLD / "data.csv", "data.csv")
    run = _invoke("fit", "data.csv", "--degree", "1", "--dt", "1", "--out", "run")
    assert run.stdout.startswith("time: column time, 30 rows every day, unit day\n")
    assert "dt = 1 (as given)" in run.stdout
    assert "Variance of the process noise per day: " in run.stdout
    assert _first_column("run/states.csv")[:3] == ["time", "2024-05-01", "2024-05-02"]
    assert _first_column("run/states.csv")[-1] == "2024-05-30"
    _invoke("forecast", "run", "--steps", "2", "--members", "5", "--out", "ahead.csv")
    assert _first_column("ahead.csv") == ["time", "2024-05-31", "2024-06-01"]
    config = tomllib.loads(Path("run/config.toml").read_text())
    assert (config["time_unit"], config["dt"]) == ("day", 1.0)
    again = _invoke("fit", "--config", "run/config.toml", "--out", "again")
    assert "unit day" in again.stdout
    for name in ("model.json", "states.csv", "config.toml"):
        ours, theirs = (Path(folder) / name for folder in ("run", "again"))
        assert ours.read_bytes() == theirs.read_bytes()


def test_old_runs_keep_their_seconds():
    """A run of version 0.2.0 and dates: loaded, and given other dates."""
    model = gg.GraphGrad.load(OLD)
    assert (model.dt_, model.time_unit, model.time_unit_) == (86400, "second", "second")
    assert np.abs(model.coef_).max() < 1e-4  # rates per second
    frame = pd.read_csv(OLD / "data.csv", parse_dates=["time"])
    np.testing.assert_allclose(
        model.smooth(frame).mean, model.state_means_, rtol=1e-3, atol=1e-3
    )
    assert model.forecast(1, members=3).times.tolist() == [30 * 86400]


@pytest.mark.slow
def test_old_configurations_keep_their_seconds():
    shutil.copytree(OLD, "old")
    config = Path("old/config.toml")
    assert "time_unit" not in config.read_text()
    config.write_text(
        config.read_text().replace('data = "../data.csv"', 'data = "data.csv"')
    )
    run = _invoke("fit", "--config", config, "--out", "run")
    assert "30 rows every 86400 seconds, unit second" in run.stdout
    assert "dt = 86400 (as given)" in run.stdout
    assert gg.storage.read("run")[0]["dt"] == 86400


def test_a_step_of_another_unit_is_refused():
    """Before memory is allocated: three years of daily rows in seconds."""
    days = pd.date_range("2001-01-01", periods=1000)
    values = np.random.default_rng(0).normal(size=(1000, 1))
    frame = pd.DataFrame(values, columns=["x"], index=days)
    for dynamics, steps in (("map", "8.63e+07"), ("flow", "4.32e+07")):
        model = gg.GraphGrad(dt=1, time_unit="second", dynamics=dynamics)
        with pytest.raises(
            ValueError, match=r"near the intervals .* 86400, got 1"
        ) as it:
            model.fit(frame)
        assert steps in str(it.value)
    with pytest.raises(ValueError, match=r"9.99e\+08 steps for 1000 rows"):
        gg.GraphGrad(dt=1e-6, dynamics="flow").fit(values, times=np.arange(1000) * 2.0)
    # A short series may have a long gap.
    gap = np.r_[np.arange(20.0), 9000 + np.arange(20.0)]
    assert gg.GraphGrad(degree=1, dynamics="map").fit(values[:40], times=gap).dt_ == 1
