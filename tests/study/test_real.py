"""The study `real`: its series, forecasts of other methods, scores and page."""

import numpy as np
import pytest
from typer.testing import CliRunner

from graphgrad.cli import app
from graphgrad.study.real import runs
from graphgrad.study.real.page import summary, table
from graphgrad.study.real.peers import PEERS, Linear, autoregression, persistence
from graphgrad.study.real.runs import OURS, Result, ours
from graphgrad.study.real.scores import losses, score_set
from graphgrad.study.real.sets import FORECASTS, SETS, RealSet, Series


def _set(rows=100, columns=("a",), horizons=(1, 3), **options):
    numbers = np.random.default_rng(0).normal(size=(rows, len(columns)))
    return RealSet(
        "noise", "made", "none", "row", columns, horizons, lambda: numbers, **options
    )


def _perfect(of, series):
    """Forecasts that are right, with bands of width 2 about them."""
    origins, ahead = of.origins(len(series.values)), np.arange(max(of.horizons))
    truth = series.values[origins[:, None] + ahead]
    return np.stack([truth, truth - 1, truth + 1], axis=-1)


@pytest.mark.parametrize("name", SETS)
def test_sets_are_whole_and_have_enough_forecasts(name):
    of = SETS[name]
    values, inputs = of.series()
    assert values.shape[1] == len(of.columns)
    assert np.isfinite(values).all()
    assert (inputs is None) == (not of.input_names)
    assert inputs is None or inputs.shape == (len(values), len(of.input_names))
    origins = of.origins(len(values))
    assert len(origins) >= FORECASTS
    assert origins[-1] + max(of.horizons) == len(values)
    assert of.licence
    assert of.source


def test_sets_have_the_published_numbers():
    first = {name: of.series().values[0].tolist() for name, of in SETS.items()}
    assert first["sunspots"] == [5]
    assert first["nile"] == [1120]
    assert first["pelts"] == [19.58, 30.09]
    assert first["sales"] == [200.1]
    assert len(SETS["co2"].series().values) == 522
    inputs = SETS["nino"].series().inputs
    assert inputs is not None
    sine, cosine = inputs[3]
    assert (sine, cosine) == (1, pytest.approx(0))


def test_a_linear_forecast_is_its_recursion():
    rng = np.random.default_rng(1)
    of = _set(columns=("a", "b"))
    ys, driving = of.series().values, rng.normal(size=(100, 1))
    model = Linear(
        rng.normal(size=2),
        rng.normal(size=(2, 2, 2)) / 2,
        rng.normal(size=(2, 1)),
        np.diag([1.0, 4.0]),
    )
    made = model.forecasts(of, ys, driving)
    for i, origin in enumerate(of.origins(100)):
        path = [*ys[:origin]]
        for h in range(3):
            path.append(
                model.constant
                + model.lags[0] @ path[-1]
                + model.lags[1] @ path[-2]
                + model.drive @ driving[origin + h]
            )
        np.testing.assert_allclose(made[i, :, :, 0], path[origin:], atol=1e-12)
    first, second = (made[0, h, :, 2] - made[0, h, :, 0] for h in (0, 1))
    np.testing.assert_allclose(first, 1.6448536 * np.array([1, 2]))
    spread = model.noise + model.lags[0] @ model.noise @ model.lags[0].T
    np.testing.assert_allclose(second, 1.6448536 * np.sqrt(np.diag(spread)))


def test_autoregressions_find_a_delayed_input():
    rng = np.random.default_rng(2)
    lead, y = rng.normal(size=200), np.zeros(200)
    for t in range(3, 200):
        y[t] = 0.5 * y[t - 1] + lead[t - 3] + 0.01 * rng.normal()
    of = _set()._replace(measured=("lead",))
    series = Series(y[:, None], lead[:, None])
    square, held = losses(of, series, autoregression(of, series))
    assert held is not None
    assert np.sqrt(square.mean(axis=0)).max() < 0.02
    assert 0.8 < held.mean() < 1


def test_persistence_is_the_last_row():
    of = _set()
    series = of.series()
    made = persistence(of, series)
    np.testing.assert_array_equal(
        made[..., 0, 0], np.tile(series.values[of.origins(100) - 1], 3)
    )


def test_scores_of_forecasts_that_are_known():
    of = _set(columns=("a", "b"))
    series = of.series()
    right = _perfect(of, series)
    square, held = losses(of, series, right)
    assert held is not None
    assert (square == 0).all()
    assert (held == 1).all()
    size = series.values[: of.origins(100)[0]].std(axis=0)
    off = right + np.array([2.0, 0.0])[:, None] * size[:, None]
    square, held = losses(of, series, off)
    assert held is not None
    np.testing.assert_allclose(square, 2)  # the mean of 4 and 0
    assert (held == 0.5).all()
    right[0, 0, 0] = np.nan
    assert np.isinf(losses(of, series, right)[0][0, 0])


def _results():
    """Ours is right and its bands are too wide; a check fails."""
    results = {}
    for name in ("nile", "pelts"):
        of = SETS[name]
        series = of.series()
        facts = {
            "outcome": "converged",
            "equations": "dflow/dt = 0",
            "verdicts": "flow: autocorrelated (p = 0.001): terms may be missing.",
            "doubts": "",
            "diverged": "0",
        }
        results[name, OURS] = Result(_perfect(of, series), facts)
        results[name, "persistence"] = Result(persistence(of, series), {})
    return results


def test_counts_say_how_ours_did():
    results = _results()
    found = {name: score_set(name, SETS[name], results) for name in ("nile", "pelts")}
    scores = {
        name: one for name, one in found.items() if one is not None and one.judged
    }
    assert list(scores) == ["nile", "pelts"]
    said = summary(scores, results)
    assert "at every horizon: 2 of 2 (nile, pelts)" in said
    assert "hold 80 to 97 % at every horizon: 0 of 2." in said
    assert "although a check of the residuals fails: 2 of 2" in said
    assert table(scores, results).count("\n") == 2 + 3 + 3
    low, high = scores["nile"].scores["persistence"][0].error[1:]
    assert low < scores["nile"].scores["persistence"][0].error.value < high


def test_the_command_stores_resumes_and_writes_the_page(monkeypatch, tmp_path):
    calls = []

    def fit(of, series):
        calls.append(of)
        facts = {
            "outcome": "converged",
            "equations": "a",
            "verdicts": "b",
            "doubts": "",
            "diverged": "0",
        }
        return Result(_perfect(of, series), facts)

    monkeypatch.setattr(runs, "ours", fit)
    arguments = ["reproduce", "real", "--cells", "nile", "--methods"]
    places = ["--store", str(tmp_path / "s"), "--out", str(tmp_path)]
    for _ in range(2):
        result = CliRunner().invoke(app, [*arguments, "ours,persistence,AR", *places])
        assert result.exit_code == 0, result.output
    assert len(calls) == 1
    page = (tmp_path / "real.md").read_text()
    assert "| nile | converged | 1 | 0.000" in page
    assert "## nile" in (tmp_path / "real" / "sets.md").read_text()
    assert (tmp_path / "real" / "errors.png").stat().st_size > 1000
    wrong = CliRunner().invoke(app, [*arguments, "AR", *places[:2], "--cells", "x"])
    assert wrong.exit_code != 0


@pytest.mark.slow
def test_every_method_forecasts_a_set():
    rng, y = np.random.default_rng(3), np.zeros((120, 1))
    for t in range(1, 120):
        y[t] = 0.8 * y[t - 1] + rng.normal()
    of = _set(horizons=(1, 2))._replace(load=lambda: y)
    series = of.series()
    shape = (len(of.origins(120)), 2, 1, 3)
    for peer in PEERS.values():
        assert peer(of, series).shape == shape
    made, facts = ours(of, series)
    assert made.shape == shape
    assert facts["outcome"]
    square, _ = losses(of, series, made)
    last, _ = losses(of, series, persistence(of, series))
    assert square[:, 1].mean() < last[:, 1].mean()
