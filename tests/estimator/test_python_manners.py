"""Pickles, notebooks, ArviZ, and fits with nothing left to estimate."""

import copy
import io
import pickle
from typing import Any

import cloudpickle
import jax
import jax.numpy as jnp
import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import TimeSeriesSplit, cross_validate

import graphgrad as gg
from graphgrad.confidence import Posterior
from graphgrad.estimator import fitting
from graphgrad.solvers.criterion import ExtendedBIC, ExtendedBICByDegree, Terms
from helpers.stubs import least_squares


@pytest.fixture(scope="module")
def y():
    rng = np.random.default_rng(0)
    rows = np.ones((90, 2))
    for t in range(1, 90):
        rows[t] = [[0.8, 0.3], [-0.2, 0.7]] @ rows[t - 1] + rng.normal(size=2) / 4
    return rows


@pytest.fixture
def quick(monkeypatch):
    """Fits by a stub."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)


@pytest.fixture
def fitted(quick, y):
    return gg.GraphGrad(degree=1, dt=0.5, states=["prey", "x2"]).fit(y)


def _joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


TRIPS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "cloudpickle": lambda model: cloudpickle.loads(cloudpickle.dumps(model)),
    "joblib": _joblib,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.slow
def test_round_trips(fitted, y, tmp_path):
    wanted = fitted.forecast(3, members=10).mean, fitted.score(y), fitted.summary()
    for name, trip in TRIPS.items():
        # Twice: what a copy holds can be copied, too.
        model = trip(trip(fitted))
        assert model.model_.coefficients.dtype == np.float64, name
        assert type(model.coef_) is np.ndarray
        assert model.get_params() == fitted.get_params()
        np.testing.assert_array_equal(model.forecast(3, members=10).mean, wanted[0])
        assert (model.score(y), model.summary()) == wanted[1:]
        assert model.solution_.states is model._fit.solution.states  # once in memory
    model = pickle.loads(pickle.dumps(fitted))
    model.report(tmp_path / "report.html", forecast=0)
    model.save(tmp_path / "fit.zip")
    assert gg.GraphGrad.load(tmp_path / "fit.zip").score(y) == wanted[1]
    again: Any = clone(model)
    np.testing.assert_array_equal(again.fit(y).coef_, model.coef_)


def _in_another_process():
    fitting.adaptive = least_squares


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend",
    [
        {"backend": "threading"},
        # Estimators go to other processes and come back as pickles.
        {"backend": "loky", "initializer": _in_another_process},
    ],
    ids=["threads", "processes"],
)
def test_cross_validation_returns_estimators_that_forecast(fitted, y, backend):
    parts = TimeSeriesSplit(2, test_size=5)
    with joblib.parallel_config(**backend):
        found = cross_validate(fitted, y, cv=parts, n_jobs=2, return_estimator=True)
    assert np.isfinite(found["test_score"]).all()
    for model, (rows, _) in zip(found["estimator"], parts.split(y), strict=True):
        alone: Any = clone(fitted)
        np.testing.assert_array_equal(model.predict(), alone.fit(y[rows]).predict())


def test_notebooks_show_the_equations(fitted, y):
    bundle = fitted._repr_mimebundle_()
    html, latex = bundle["text/html"], bundle["text/latex"]
    assert html == fitted._repr_html_()
    assert html.count("<math>") >= 4
    assert "<mtext>prey</mtext>" in html
    assert "Outcome: <b>converged</b>" in html
    assert latex.startswith(r"$$\begin{aligned} \frac{\mathrm{d}}{\mathrm{d}t}")
    assert latex.count("&=") == 2
    assert bundle["text/plain"] == repr(fitted)
    new = gg.GraphGrad()
    assert "sk-estimator" in new._repr_mimebundle_()["text/html"]
    assert "text/latex" not in new._repr_mimebundle_()
    with sklearn.config_context(display="text"):
        assert list(fitted._repr_mimebundle_()) == ["text/plain"]


def test_names_are_escaped_in_notebooks(quick, y):
    model = gg.GraphGrad(degree=1, states=["<b>", "x"]).fit(y)
    assert "<b>_" not in model._repr_html_()
    assert "&lt;b&gt;" in model._repr_html_()


def test_draws_for_arviz():
    pytest.importorskip("arviz")
    with jax.enable_x64(True):
        draws = jax.random.normal(jax.random.key(0), (7, 2, 3)).at[0, 0, 0].set(0)
        found = Posterior(
            terms=jnp.ones((2, 3)),
            edges=jnp.ones((2, 2)),
            coefficients=draws,
            state_noise=draws[:, :, 0] ** 2,
            observation_noise=draws[:, 0, :1] ** 2,
        )
    data = found.to_arviz(["prey", "fox"], ["1", "prey", "fox"]).posterior
    one = data["coefficients"].sel(state="fox", term="prey")
    np.testing.assert_array_equal(one.values[0], draws[:, 1, 1])
    assert data["included"].values.sum() == 41
    assert dict(data["observation_noise"].sizes) == {"chain": 1, "draw": 7, "column": 1}
    assert found.to_arviz().posterior.sizes["term"] == 3


def test_a_term_has_a_price_where_none_is_free():
    n = jnp.asarray(50.0)
    assert float(ExtendedBIC().flat(n, 0)) == pytest.approx(np.log(50))
    free = jnp.zeros((1, 2), bool)
    found = ExtendedBICByDegree().penalties(
        n, Terms.of(free, np.array([[0, 1]]), 1), free
    )
    assert np.isfinite(np.asarray(found)).all()


@pytest.mark.slow
def test_a_fit_without_a_free_coefficient_is_kept(tmp_path, y):
    constraints = [gg.known("x1", "1", 0.0), gg.known("x1", "x1", 0.9)]
    model = gg.GraphGrad(degree=1, constraints=constraints).fit(y[:, :1])
    np.testing.assert_array_equal(model.coef_, [[0, 0.9]])
    model.report(tmp_path / "report.html")
    model.save(tmp_path / "run")
    loaded = gg.GraphGrad.load(tmp_path / "run")
    assert loaded.equations() == ["x1[t+1] = 0.9 x1"]
    assert loaded.outcome_ == model.outcome_
    np.testing.assert_array_equal(
        loaded.forecast(3, members=5).mean, model.forecast(3, members=5).mean
    )


def test_numbers_that_mean_missing_are_named(quick, y):
    frame = pd.DataFrame(y, columns=["prey", "predator"])
    frame.loc[[3, 7], "predator"] = -9999
    model = gg.GraphGrad(degree=1)
    words = r"`y` must mark missing.* got -9999 2 times in column 'predator', whose"
    with pytest.warns(UserWarning, match=words) as found:
        model.fit(frame)
    assert "`y.replace(-9999, float('nan'))`" in str(found[0].message)
    # Gone where the advice is taken; warnings are errors here.
    model.fit(frame.replace(-9999, float("nan")))
    driving = np.where(np.arange(len(y)) == 5, 999.9, 1.0 + y[:, :1].T).T
    with pytest.warns(UserWarning, match="`inputs` must .* 999.9 once in column 0"):
        model.fit(y, inputs=driving)
    with pytest.warns(UserWarning, match="-9999 2 times in column 1"):
        model.fit([frame.to_numpy()[:20], frame.to_numpy()[20:]])
