"""The estimator: scikit-learn's conventions, and the fitted attributes."""

import io
import json
import pickle
import re
import time
from typing import Any

import jax
import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone as sklearn_clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.utils.estimator_checks import check_estimator

import graphgrad as gg
from graphgrad.diagnostics.uncertainty import fit_covariance
from graphgrad.estimator import fitting
from graphgrad.estimator.progress import ProgressLine
from graphgrad.selection import Choice
from graphgrad.solvers import AdaptiveProgress
from helpers.stubs import least_squares

LOTKA = gg.systems.lotka_volterra()
NAMES = ["prey", "predator"]


def clone(model) -> Any:
    return sklearn_clone(model)


@pytest.fixture
def quick(monkeypatch):
    """Fits by a stub."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)


@pytest.fixture(scope="module")
def y():
    with jax.enable_x64(True):
        return np.asarray(LOTKA.simulate(jax.random.key(3), steps=100).observations)


@pytest.fixture(scope="module")
def fitted(y):
    return gg.GraphGrad(dt=LOTKA.dt, states=NAMES).fit(y)


@pytest.mark.slow
def test_finds_the_equations_with_everything_learnt(fitted, y):
    # So it does for 18 of 20 seeds; two have a constant too many and are undecided.
    truth = LOTKA.coefficients()
    assert ((fitted.coef_ != 0) == (truth != 0)).all()
    away = np.abs(fitted.coef_ - truth)
    assert (away[truth != 0] < 4 * fitted.standard_errors_[truth != 0]).all()
    assert fitted.outcome_ == "converged"
    assert fitted.advice_
    assert fitted.terms_ == [
        *("1", "prey", "predator"),
        *("prey^2", "prey predator", "predator^2"),
    ]
    assert (fitted.degrees_ == gg.degree_matrix(2, 2)).all()
    assert (fitted.adjacency_ == LOTKA.adjacency).all()
    assert fitted.equations(digits=1) == [
        "dprey/dt = 1 prey - 0.1 prey predator",
        "dpredator/dt = -2 predator + 0.08 prey predator",
    ]
    assert isinstance(fitted.graph(), nx.DiGraph)
    assert fitted.graph().edges["predator", "prey"]["terms"] == ("prey predator",)
    assert (np.abs(np.log(fitted.observation_noise_ / 0.25)) < 0.7).all()
    assert fitted.state_means_.shape == y.shape
    assert (fitted.smooth().mean == fitted.state_means_).all()
    assert fitted.n_iter_ >= 1
    assert fitted.dt_ == LOTKA.dt
    assert (np.asarray(fitted.model_.coefficients) == fitted.coef_).all()


@pytest.mark.slow
def test_the_same_seed_gives_the_same(fitted, y):
    again = clone(fitted).fit(y)
    assert (again.coef_ == fitted.coef_).all()
    assert again.log_likelihood_ == fitted.log_likelihood_
    for name in ("states", "observations"):
        one, two = (getattr(m.forecast(5, members=20), name) for m in (fitted, again))
        assert (one.members == two.members).all()
    other = fitted.forecast(5, members=20, random_state=1).states.members
    assert (other != fitted.forecast(5, members=20).states.members).any()


@pytest.mark.slow
def test_constraints_refer_to_states_by_name(y):
    fixed = gg.known("predator", "prey predator", 0.0025)
    model = gg.GraphGrad(states=NAMES, constraints=[fixed]).fit(y)
    at = model.terms_.index("prey predator")
    assert model.coef_[1, at] == 0.0025
    assert model.standard_errors_[1, at] == 0
    # A given coefficient has no uncertainty.
    assert (model.forecast(1, members=5, sources=()).diverged == 0).all()
    with pytest.raises(ValueError, match=r"`target` must be one of 'prey', 'predator'"):
        gg.GraphGrad(states=NAMES, constraints=[gg.forbid("x1", "prey")]).fit(y)


@pytest.mark.slow
def test_intervals_are_those_of_the_standard_errors(fitted):
    intervals = fitted.confidence_intervals(level=0.6827)
    assert intervals.shape == (*fitted.coef_.shape, 2)
    half = (intervals[..., 1] - intervals[..., 0]) / 2
    np.testing.assert_allclose(half, fitted.standard_errors_, rtol=1e-3)
    np.testing.assert_allclose(intervals.mean(axis=-1), fitted.coef_)
    # The covariance that forecasts draw from is the solver's own.
    with jax.enable_x64(True):
        variances = np.diag(fit_covariance(fitted._fit))
    errors = fitted.standard_errors_[fitted.coef_ != 0]
    np.testing.assert_allclose(np.sqrt(variances), errors, rtol=1e-4)


@pytest.mark.slow
def test_the_paper_s_solver(y):
    model = gg.GraphGrad(
        degree=1,
        solver="paper",
        state_noise=0.1,
        observation_noise=0.25,
        n_particles=20,
    )
    model.fit(y[:15])
    assert model.coef_.shape == (2, 3)
    assert model.state_means_.shape == (15, 2)
    assert (model.standard_errors_[model.coef_ != 0] > 0).all()
    assert isinstance(model.solution_, gg.PaperSolution)
    assert model.n_iter_ == 1000
    for options, name in (
        ({"state_noise": "learn"}, "state_noise"),
        ({"dynamics": "flow", "dt": 1.0}, "dynamics"),
        ({"constraints": [gg.forbid("x1", "1")]}, "constraints"),
        ({"selection": "held-out"}, "selection"),
    ):
        with pytest.raises(ValueError, match=rf"`{name}` must be .* paper's solver"):
            clone(model).set_params(**options).fit(y[:15])


class AsSklearn(gg.GraphGrad):
    """With a second argument for targets, as scikit-learn's checks pass some."""

    def fit(self, X, y=None):  # pyright: ignore
        return super().fit(X)

    def score(self, X, y=None):  # pyright: ignore
        return super().score(X)


def test_scikit_learn_s_checks(quick):
    own = "The check asks for scikit-learn's wording; ours names the rule and remedy."
    rows = "A forecast depends on the order of the rows, and is not one of each row."
    expected = {
        "check_n_features_in_after_fitting": own,
        "check_dtype_object": own,
        "check_methods_sample_order_invariance": rows,
        "check_methods_subset_invariance": rows,
    }
    results = check_estimator(
        AsSklearn(degree=1),
        expected_failed_checks=expected,
        on_skip=None,
        on_fail=None,
    )
    failed = {
        r["check_name"]: r["exception"] for r in results if r["status"] == "failed"
    }
    assert not failed
    met = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert met == set(expected)


def test_grid_search_over_time(quick, y):
    search = GridSearchCV(
        gg.GraphGrad(), {"degree": [1, 2]}, cv=TimeSeriesSplit(3, test_size=20)
    )
    search.fit(y)
    assert search.best_params_["degree"] in (1, 2)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_parameters_are_kept_as_given(quick, y):
    states = ["a", "b"]
    model = gg.GraphGrad(degree=1, states=states)
    assert model.get_params()["states"] is states
    assert clone(model.fit(y)).get_params()["degree"] == 1
    assert not hasattr(clone(model), "coef_")
    again = pickle.loads(pickle.dumps(model))
    assert (again.coef_ == model.coef_).all()
    assert "degree=1" in repr(model)


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.equations(),
        lambda model: model.graph(),
        lambda model: model.smooth(),
        lambda model: model.filter(),
        lambda model: model.fill(),
        lambda model: model.score(np.zeros((5, 2))),
        lambda model: model.forecast(),
        lambda model: model.simulate([1.0, 1.0]),
        lambda model: model.evaluate(np.zeros((50, 2))),
        lambda model: model.confidence_intervals(),
        lambda model: model.latex(),
        lambda model: model.sympy(),
        lambda model: model.numpy_source(),
        lambda model: model.summary(),
        lambda model: model.residuals(),
        lambda model: model.check_residuals(),
        lambda model: model.stability(),
        lambda model: model.posterior(),
        lambda model: model.plot_graph(),
        lambda model: model.plot_path(),
        lambda model: model.plot_forecast(),
        lambda model: model.plot_convergence(),
        lambda model: gg.compare_fits({"a": model}),
    ],
)
def test_methods_need_a_fit(call):
    with pytest.raises(NotFittedError):
        call(gg.GraphGrad())


class Terminal(io.StringIO):
    """A stream that is a terminal, or not."""

    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def test_progress_line_only_on_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    progress = AdaptiveProgress("refine", 10, 150, -12.3, 4)
    reports = []
    for terminal, patience in ((True, 0), (True, 99), (False, 0)):
        stream = Terminal(terminal)
        with ProgressLine(stream, patience) as line:
            callback = line.wrap(reports.append)
            assert callback is not None
            callback(progress)
            # A solver without a callback runs in one compiled loop.
            assert line.wrap(None) is None
            time.sleep(0.1)
        shown = terminal and patience == 0
        assert ("graphgrad: 0 s, " in stream.getvalue()) == shown
        # It is cleared at the end.
        assert not shown or stream.getvalue().endswith("\r" + 39 * " " + "\r")
    assert reports == [progress] * 3
    assert line.wrap(reports.append) == reports.append


def test_progress_line_shows_time_left_in_a_stage(monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    stream = Terminal(True)
    with ProgressLine(stream, 0) as line:
        callback = line.wrap(lambda _: None)
        assert callback is not None
        callback(AdaptiveProgress("refine", 10, 150, -np.inf, 4))
        time.sleep(0.2)
        callback(AdaptiveProgress("refine", 20, 150, -12.3, 4))
        time.sleep(0.7)
    shown = stream.getvalue()
    # Ten passes took 0.2 s or more, and the other 130 take thirteen times that.
    left = re.search(
        r"log-likelihood -12.3, 4 terms; at most (\d+) s to the end", shown
    )
    assert left is not None
    assert int(left[1]) >= 1
    assert "inf" not in shown


def test_importing_the_package_leaves_scikit_learn_alone():
    import subprocess
    import sys

    code = "import graphgrad, sys; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert {"GraphGrad", "compare_fits"} <= set(dir(gg))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        gg.Nothing  # noqa: B018  # pyright: ignore


def test_penalty_selected_by_held_out_rows(y, quick, monkeypatch):
    """Five penalties around the requested one are compared; see `selection`."""
    asked = {}

    def choose(key, ys, model, *, penalties, by, **options):
        asked["by"] = by
        asked["penalties"] = list(penalties)
        solution = least_squares(key, ys, model, **options)
        return Choice(0, tuple(penalties), np.zeros(len(penalties)), solution)

    monkeypatch.setattr("graphgrad.estimator.fitting.choose_penalty", choose)
    model = gg.GraphGrad(states=NAMES, selection="held-out", penalty=2.0).fit(y)
    assert asked["by"] == "held-out"
    assert asked["penalties"] == [0.5, 1, 2, 4, 8]
    assert model.coef_.shape == LOTKA.coefficients().shape


def test_the_penalty_that_was_chosen_is_that_of_the_fit(
    y, quick, monkeypatch, tmp_path
):
    """In plots and in the file, whatever was requested."""

    def choose(key, ys, model, *, penalties, by, **options):
        solution = least_squares(key, ys, model, weight=penalties[3], **options)
        return Choice(3, tuple(penalties), np.zeros(len(penalties)), solution)

    monkeypatch.setattr("graphgrad.estimator.fitting.choose_penalty", choose)
    drawn = {}
    monkeypatch.setattr("graphgrad.plots.plot_path", lambda *_, **o: drawn.update(o))
    model = gg.GraphGrad(states=NAMES, selection="held-out", penalty=2.0).fit(y)
    model.plot_path()
    unit = np.log(y.size) + 2 * np.log(model.coef_.size)
    assert drawn["chosen"] == pytest.approx(4 * unit)
    model.save(tmp_path / "run")
    header = json.loads((tmp_path / "run" / "model.json").read_text())
    assert header["penalty"] == 4.0
    again = gg.GraphGrad.load(tmp_path / "run").solution_
    assert isinstance(again, gg.Solution)
    assert float(again.penalty_multiplier) == 4.0
