"""Checks of a fit on its data, and where a doubtful fit says so."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import graphgrad as gg
from graphgrad.cli import app
from graphgrad.confidence import Stability
from graphgrad.diagnostics.doubts import (
    Doubt,
    find_doubts,
    free_run_doubt,
    memory,
    skill_doubts,
    with_stability,
)
from graphgrad.diagnostics.skill import one_step_skill, worse
from graphgrad.estimator import fitting
from graphgrad.model import Schedule
from graphgrad.solution import Outcome
from graphgrad.solution.outcome import REMEDIES
from graphgrad.solvers.adaptive.finish import moves_states
from graphgrad.solvers.persistence import (
    against_persistence,
    persistence_ratio,
    random_walk_log_likelihood,
)
from helpers.stubs import least_squares


def predicting(*args, **options):
    """The stub, with one-step predictions of a map of the rows as they are."""
    solution = least_squares(*args, **options)
    ys, model = args[1], args[2]
    before = np.asarray(solution.states)[:-1]
    terms = np.asarray(jax.jit(model.library.__call__)(before))
    ahead = terms @ np.asarray(solution.coefficients).T
    assert ahead.shape == np.shape(ys)
    return replace(solution, predicted=jnp.asarray(ahead))


def series(weights, rows=200, seed=0):
    """An autoregression, of which a map of one state knows the first lag only."""
    rng, x = np.random.default_rng(seed), np.zeros(rows + 50)
    for t in range(len(weights), len(x)):
        x[t] = sum(w * x[t - k - 1] for k, w in enumerate(weights)) + rng.normal()
    return x[50:, None]


@pytest.fixture(scope="module")
def stubbed():
    patch = pytest.MonkeyPatch()
    patch.setattr(fitting, "adaptive", predicting)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def doubtful(stubbed):
    return gg.GraphGrad(degree=1, states=["stock"]).fit(series([1.3, -0.7]))


@pytest.fixture(scope="module")
def right(stubbed):
    return gg.GraphGrad(degree=1, states=["stock"]).fit(series([0.8]))


def test_a_right_fit_has_no_doubts(right):
    assert (right.outcome_, right.doubts_) == ("converged", [])
    assert right.advice_ == Outcome.converged.advice


def test_a_fit_that_forgets_is_doubtful_with_its_reasons_first(doubtful):
    assert doubtful.outcome_ == "doubtful"
    assert doubtful.solution_.outcome is Outcome.converged
    kept, better = doubtful.doubts_
    assert kept.startswith("Residuals of stock remember the rows before: ")
    assert "An autoregression of order" in better
    assert doubtful.advice_.startswith(f"{kept} {better} ")
    assert "`degree`" in doubtful.advice_
    first, equations, *_ = doubtful.summary().split("\n\n")
    assert first == f"Outcome: doubtful. {doubtful.advice_}"
    assert equations.startswith("1 state from 200 rows")
    # Its number is the autocorrelation of the errors at the first lag.
    errors = (doubtful._fit.data.ys - np.asarray(doubtful.solution_.predicted))[1:, 0]
    found = np.corrcoef(errors[1:], errors[:-1])[0, 1]
    assert abs(doubtful._fit.doubts[0].number - found) < 0.02


def test_solver_failures_outrank_doubts(doubtful):
    fit = doubtful._fit
    for outcome, expected in (
        (Outcome.undecided, Outcome.doubtful),
        (Outcome.not_determined, Outcome.not_determined),
        (Outcome.nothing_left, Outcome.nothing_left),
    ):
        ended = fit._replace(solution=fit.solution.with_outcome(outcome))
        assert ended.outcome is expected
        assert fit.doubts[0].text in ended.advice
    only_said = [doubt._replace(decisive=False) for doubt in fit.doubts]
    assert fit._replace(doubts=tuple(only_said)).outcome is Outcome.converged


def test_doubts_survive_a_file_and_old_files_have_none(doubtful, tmp_path):
    doubtful.save(tmp_path / "run")
    again = gg.GraphGrad.load(tmp_path / "run")
    assert (again.outcome_, again.advice_) == ("doubtful", doubtful.advice_)
    assert again._fit.doubts == doubtful._fit.doubts
    header, arrays = gg.storage.read(tmp_path / "run")
    del header["doubts"], arrays["solution_predicted"]
    gg.storage.write(tmp_path / "old", header, arrays)
    assert gg.GraphGrad.load(tmp_path / "old").outcome_ == "converged"
    header["doubts"] = [{"check": "magic", "number": 1, "text": "", "decisive": True}]
    gg.storage.write(tmp_path / "odd", header, arrays)
    with pytest.raises(ValueError, match="its doubts must be known checks"):
        gg.GraphGrad.load(tmp_path / "odd")


def test_the_command_line_says_it_first_with_its_own_options(doubtful, tmp_path):
    doubtful.save(tmp_path / "run")
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "run")]).stdout
    assert shown.startswith("Outcome: doubtful. Residuals of stock remember")
    assert "`--degree`" in shown
    assert "`degree`" not in shown
    found = json.loads(
        CliRunner().invoke(app, ["show", str(tmp_path / "run"), "--json"]).stdout
    )
    assert [each["check"] for each in found["doubts"]] == ["memory", "autoregression"]


def test_no_confidence_beside_a_doubtful_fit(doubtful, right, tmp_path):
    for model, sure in ((doubtful, False), (right, True)):
        model.report(tmp_path / "report.html", forecast=0)
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert ("Hide arrows with confidence" in page) is sure
        assert ("100 %" in page.split("<script")[0]) is False
    model = gg.GraphGrad(degree=1, states=["stock"]).fit(series([1.3, -0.7]))
    model.edge_confidence_ = np.ones((1, 1))
    assert "confidence 100 %" not in model.summary()


def refits(terms):
    return Stability(*(jnp.asarray(part) for part in (terms, terms[:, 1:], [terms])))


def test_unstable_refits_make_a_fit_doubtful(right):
    fit = right._fit
    often = np.where(fit.coefficients != 0, 0.4, 0.0)
    found = with_stability(fit, refits(often))
    assert found.outcome is Outcome.doubtful
    assert "find 40 % of the terms again" in found.advice
    again = with_stability(found, refits(often + 0.2))
    assert again.outcome is Outcome.converged


def free(fit, coefficients, means):
    """The fit with other coefficients and smoothed states."""
    solution = replace(fit.solution, coefficients=jnp.asarray(coefficients))
    smoothed = [fit.smoothed[0]._replace(mean=np.asarray(means)[:, None])]
    return fit._replace(solution=solution, smoothed=smoothed)


def test_equations_that_run_away_are_said_to(right):
    fit = right._fit
    doubt = free_run_doubt(free(fit, [[0.0, 1.5]], np.linspace(-1, 1, 50)))
    # From 1, 1.5^n passes 10 times the range, 20, after 8 steps; so it does from -1.
    assert doubt is not None
    assert (doubt.number, doubt.decisive) == (8, True)
    assert "leave 10 times the range of the data after 8 steps" in doubt.text
    assert free_run_doubt(free(fit, [[0.0, 0.9]], np.linspace(-1, 1, 50))) is None
    # A series that grows leaves its range from its end, but not from its start.
    grown = 1.1 ** np.arange(50)
    doubt = free_run_doubt(free(fit, [[0.0, 1.1]], grown))
    assert doubt is not None
    assert not doubt.decisive


def test_no_advice_is_to_lower_a_degree_of_1():
    """Which is the lowest: of 0 there is no fit."""
    texts = [*(outcome.advice for outcome in Outcome), *REMEDIES.values()]
    lower = [text for text in texts if "lower `degree`" in text]
    assert len(lower) == 4
    assert all("above 1" in text for text in lower)


def test_memory_has_its_level():
    rng = np.random.default_rng(0)
    found = [memory([rng.normal(size=100)]).p_value for _ in range(2000)]
    # 5 % are 100, give or take 10; the tails of few rows are somewhat heavier.
    assert 60 < np.sum(np.array(found) < 0.05) < 160
    assert memory([rng.normal(size=12)]).p_value == 1.0
    gaps = np.cumsum(rng.normal(size=200))
    gaps[::7] = np.nan
    assert memory([gaps, gaps]).p_value < 1e-9


def test_errors_are_compared_in_pairs():
    rng = np.random.default_rng(1)
    p = [
        worse(rng.normal(size=80), rng.normal(size=80), np.ones(80))
        for _ in range(2000)
    ]
    assert 60 < np.sum(np.array(p) < 0.05) < 160
    one = rng.normal(size=100)
    assert worse(1.5 * one, one, np.ones(100)) < 1e-4 < worse(one, 1.5 * one, one**2)


def test_skill_has_the_errors_of_all(doubtful):
    (found,) = one_step_skill(doubtful._fit)
    y = doubtful._fit.data.ys[:, 0]
    assert np.isclose(found.persistence, np.sqrt(np.mean(np.diff(y) ** 2)))
    assert found.autoregression < found.error < found.persistence
    ratio = skill_doubts([found])[0].number
    assert np.isclose(ratio, found.error / found.autoregression)
    assert 0 < found.r2 < 1
    assert find_doubts(doubtful._fit) == doubtful._fit.doubts
    assert isinstance(doubtful._fit.doubts[0], Doubt)


def test_a_random_walk_over_the_real_intervals():
    rng = np.random.default_rng(2)
    ys = rng.normal(size=(7, 2))
    ys[2, 0] = np.nan
    pace = np.array([1.0, 0.5, 2.0, 1.0, 1.0, 3.0, 1.0])
    fresh = np.array([False] * 4 + [True] + [False] * 2)
    schedule = Schedule(jnp.asarray(pace), jnp.asarray(fresh), jnp.zeros((7, 2)))
    clock, total = np.cumsum(pace), 0.0
    for j in range(2):
        moves, lone = [], []
        for part in (range(4), range(4, 7)):
            seen = [t for t in part if np.isfinite(ys[t, j])]
            lone.append(ys[seen[0], j])
            moves += [
                (ys[b, j] - ys[a, j], clock[b] - clock[a]) for a, b in pairwise(seen)
            ]
        d, time = np.array(moves).T
        for values, variance in (
            (d, np.mean(d**2 / time) * time),
            (np.array(lone) - np.nanmean(ys[:, j]), np.nanvar(ys[:, j])),
        ):
            total -= np.sum(np.log(2 * np.pi * variance) + values**2 / variance) / 2
    found = random_walk_log_likelihood(jnp.asarray(ys), schedule)
    assert np.isclose(float(found), total, rtol=1e-4)
    still = jnp.zeros_like(jnp.asarray(ys))
    for gain, better in ((3.0, True), (-3.0, False)):
        ratio = persistence_ratio(schedule, found + gain, still, jnp.asarray(ys))
        assert (float(ratio) < 1) is better


def test_no_series_is_compared_with_the_end_of_another():
    ys = jnp.asarray([[0.0], [1.0], [100.0], [101.0]])
    fresh = jnp.asarray([True, False, True, False])
    ratio = against_persistence(ys[1:] + 0.5, ys, 4, fresh)
    assert np.isclose(float(ratio), 0.25)


def test_constants_are_nothing_left():
    library = gg.Polynomial(1, 2)
    none = jnp.zeros((1, 3), bool)
    assert not moves_states(library, jnp.asarray([[2.0, 0.0, 0.0]]), none)
    assert moves_states(library, jnp.asarray([[0.0, 0.0, 0.1]]), none)
    assert moves_states(library, jnp.asarray([[2.0, 0.9, 0.0]]), none)
    last = jnp.asarray([[False, True, False]])
    assert not moves_states(library, jnp.asarray([[2.0, 0.9, 0.0]]), last)
    assert moves_states(library, jnp.asarray([[0.0, 0.9, 0.1]]), last)


def test_a_report_of_dates_has_dates(stubbed):
    begin = datetime(2001, 1, 31, tzinfo=UTC)
    dates = pd.date_range("2001-01-31", periods=200, freq="7D")
    frame = pd.DataFrame(series([0.8]), columns=["stock"], index=dates)
    model = gg.GraphGrad(degree=1, dynamics="map").fit(frame)
    found = model._findings(forecast=2)
    assert (found.dated, found.time_name, found.time_unit) == (True, "date", "day")
    assert found.times is not None
    assert found.forecast_times is not None
    assert found.free_times is not None
    assert found.edge_sign is not None
    first = begin.timestamp() * 1000
    assert found.times[0] == first
    assert found.forecast_times[1] == first + (199 + 2) * 7 * 86_400_000
    assert found.free_times[0] == first + 7 * 86_400_000
    assert np.array_equal(found.edge_sign, [[1.0]])
    assert found.skills[0]["column"] == "stock"


def test_heavy_tails_are_a_doubt(stubbed):
    # Of 20000 normal samples of 50 to 300 values, 0.2 to 0.3 % were called not normal.
    rng, x = np.random.default_rng(0), np.zeros((200, 1))
    for t in range(1, 200):
        x[t] = 0.8 * x[t - 1] + rng.standard_t(2)
    model = gg.GraphGrad(degree=1, states=["stock"]).fit(x)
    texts = model.doubts_
    said = "Residuals of stock are not normal: skewness"
    assert sum(text.startswith(said) for text in texts) == 1
    assert model.outcome_ == "doubtful"
    assert "logarithms" in model.advice_
