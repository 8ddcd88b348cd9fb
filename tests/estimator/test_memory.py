"""Delays, hidden states and seasons, against exact oracles."""

import jax
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.estimator import fitting, memory
from graphgrad.graph import save_graphml
from helpers.stubs import least_squares


def autoregression(T, seed=0, noise=0.3):
    """x[t+1] = 0.2 + 1.1 x[t] - 0.5 x[t-1] + 0.4 u[t-1], and the inputs."""
    rng = np.random.default_rng(seed)
    T += 50
    u, x = rng.normal(size=T), np.zeros(T)
    u[48:51] = u[50]  # as the fit takes it before the first row
    for t in range(2, T - 1):
        x[t + 1] = 0.2 + 1.1 * x[t] - 0.5 * x[t - 1] + 0.4 * u[t - 1]
        x[t + 1] += noise * rng.normal()
    return x[50:, None], u[50:, None]


@pytest.fixture(scope="module")
def fitted():
    y, u = autoregression(150)
    model = gg.GraphGrad(degree=1, lags=2, observation_noise=1e-6)
    return model.fit(y, inputs=u), y, u


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(fitting, "adaptive", least_squares)


@pytest.mark.slow
def test_an_autoregression_is_that_of_least_squares(fitted):
    model, y, u = fitted
    assert model.outcome_ == "converged"
    names = np.array(model.terms_)[model.coef_[0] != 0].tolist()
    assert names == ["1", "x1", "x1[t-1]", "u1[t-1]"]
    t = np.arange(2, len(y) - 1)  # the target is row t + 1
    design = np.stack([np.ones(len(t)), y[t, 0], y[t - 1, 0], u[t - 1, 0]], axis=1)
    exact, squares, *_ = np.linalg.lstsq(design, y[t + 1, 0], rcond=None)
    variance = float(squares[0]) / (len(t) - 4)
    np.testing.assert_allclose(model.state_noise_, [variance], rtol=0.05)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    found = model.standard_errors_[0][model.coef_[0] != 0]
    np.testing.assert_allclose(found, errors, rtol=0.05)
    # The fit also uses the first rows, whose past is unknown.
    away = model.coef_[0][model.coef_[0] != 0] - exact
    assert (np.abs(away) < 0.3 * errors).all()


@pytest.mark.slow
def test_shapes_are_of_the_states_without_their_delays(fitted):
    model, y, _ = fitted
    assert model.state_names_ == ["x1"]
    assert model.lags_ == {"x1": 2, "u1": 2}
    assert model.coef_.shape == model.standard_errors_.shape == (1, len(model.terms_))
    assert model.adjacency_.shape == (1, 1)
    assert model.state_noise_.shape == (1,)
    assert model.state_means_.shape == model.smooth().mean.shape == y.shape
    assert model.filter().covariance.shape == (len(y), 1, 1)


@pytest.mark.slow
def test_forecasts_iterate_the_recursion(fitted):
    model, y, u = fitted
    ahead = np.array([[0.5], [-1.0], [0.0], [2.0]])
    found = model.forecast(4, sources=(), future_inputs=ahead)
    (c, a, b, d) = model.coef_[0][model.coef_[0] != 0]
    x, driving = [*model.state_means_[:, 0]], np.concatenate([u, ahead])[:, 0]
    for t in range(len(y) - 1, len(y) + 3):
        x.append(c + a * x[t] + b * x[t - 1] + d * driving[t - 1])
    np.testing.assert_allclose(found.mean[:, 0], x[-4:], rtol=1e-9)
    rows = model.state_means_[-3:]
    free = model.simulate(rows, 3, inputs=ahead[:3])
    # The inputs before a simulation are taken to be as its first.
    held = [ahead[0, 0], *ahead[:3, 0]]
    z = [*rows[:, 0]]
    for k in range(3):
        z.append(c + a * z[-1] + b * z[-2] + d * held[max(k - 1, 0)])
    np.testing.assert_allclose(free[1:, 0], z[3:], rtol=1e-9)
    step = model.numpy_function()
    state = np.array([[rows[-1, 0], rows[-2, 0], rows[-3, 0]]])
    inputs = np.array([[ahead[0, 0], u[-1, 0], u[-2, 0]]])
    after = step(state, inputs)[0]
    assert after[0] == pytest.approx(float(found.mean[0, 0]), rel=1e-6)
    np.testing.assert_allclose(after[1:], state[0, :2])


@pytest.mark.slow
def test_equations_and_graph_have_the_delays(fitted, tmp_path):
    model, _, _ = fitted
    text = model.equations(digits=1)[0]
    assert text == "x1[t+1] = 0.2 + 1 x1 - 0.5 x1[t-1] + 0.4 u1[t-1]"
    assert r"x_{1,t-1}" in model.latex()[0]
    assert r"u_{1,t-1}" in model.latex()[0]
    assert "x1[t-1]" in {str(symbol) for symbol in model.sympy()[0].free_symbols}
    graph = model.graph()
    assert set(graph.nodes) == {"x1", "u1"}
    assert graph.edges["x1", "x1"]["delays"] == (0, 1)
    assert graph.edges["u1", "x1"]["delays"] == (2,)
    assert 0 < graph.edges["u1", "x1"]["strength"] < 1
    save_graphml(graph, tmp_path / "graph.graphml")
    assert "delays" in (tmp_path / "graph.graphml").read_text()
    assert "1 state from 150 rows" in model.summary()


@pytest.mark.slow
def test_a_saved_fit_forecasts_and_reports(fitted, tmp_path):
    model, _, _ = fitted
    model.save(tmp_path / "fit.zip")
    loaded = gg.GraphGrad.load(tmp_path / "fit.zip")
    future = np.zeros((3, 1))
    ours, theirs = (m.forecast(3, future_inputs=future) for m in (model, loaded))
    np.testing.assert_array_equal(ours.states.members, theirs.states.members)
    assert loaded.equations() == model.equations()
    assert loaded.lags_ == model.lags_
    loaded.report(tmp_path / "report.html")
    assert "x1[t-1]" in (tmp_path / "report.html").read_text()


def test_what_cannot_be_delayed_is_refused(quick):
    y, u = autoregression(40)
    for options, words in (
        ({"lags": 1, "dynamics": "flow", "dt": 1.0}, "`dynamics='map'`"),
        ({"lags": -1}, "`lags` must be"),
        ({"lags": 11}, "at most 10"),
        ({"lags": {"z": 1}}, "`lags` must be one of"),
        ({"lags": "some"}, "'auto'"),
        ({"lags": 1, "engine": "particle"}, "`engine` must be 'gaussian'"),
        ({"lags": 1, "state_noise": gg.StudentT(1.0, df=4)}, "`state_noise` must be"),
        ({"lags": 1, "solver": "paper"}, "`lags` must be left out"),
        ({"hidden": 1, "observation": np.eye(1)}, "`hidden` must be 0"),
        ({"seasons": -3}, "`seasons` must be"),
    ):
        with pytest.raises(ValueError, match=words):
            gg.GraphGrad(**options).fit(y)
    uneven = np.cumsum(np.r_[np.ones(20), 0.4 * np.ones(20)])
    with pytest.raises(ValueError, match="whole steps of dt"):
        gg.GraphGrad(lags=1).fit(y, uneven)
    delayed = gg.GraphGrad(degree=1, lags={"u1": 2}, dt=0.5).fit(y, inputs=u)
    assert delayed.dynamics_ == "flow"
    assert delayed.terms_ == ["1", "x1", "u1", "u1(t - 0.5)", "u1(t - 1)"]
    assert r"u_{1}\left(t - 0.5\right)" in delayed.latex()[0]


def test_gaps_and_panels_of_differences(quick):
    y, _ = autoregression(60)
    gappy = np.arange(60.0)
    gappy[30:] += 2.0  # two rows are missing
    model = gg.GraphGrad(degree=1, lags=1, dynamics="difference").fit(
        [y, y], [gappy] * 2
    )
    assert model.dynamics_ == "difference"
    assert [means.shape for means in model.state_means_] == [(60, 1)] * 2
    # Each series begins anew, and the equation of a delayed value is known.
    resolved = model._fit.coefficients[1]
    assert dict(zip(model.terms_, resolved, strict=True)) == {
        "1": 0.0,
        "x1": 1.0,
        "x1[t-1]": -1.0,
    }


def test_many_delayed_variables_are_in_no_products(quick):
    rng = np.random.default_rng(0)
    y = rng.normal(size=(80, 4))
    model = gg.GraphGrad(lags=3).fit(y)
    assert len(model.terms_) == 15 + 12
    assert "x1 x2" in model.terms_
    assert "x1[t-1] x2" not in model.terms_
    few = gg.GraphGrad(lags=1).fit(y[:, :1])
    assert few.terms_ == ["1", "x1", "x1[t-1]", "x1^2", "x1 x1[t-1]", "x1[t-1]^2"]


def test_the_number_of_delays_is_found(quick):
    y, _ = autoregression(200)
    model = gg.GraphGrad(degree=1, lags="auto").fit(y)
    assert model.lags_ == {"x1": 1}
    assert "lags of x1: 1 -" in model.summary()
    assert model.lags == "auto"
    white = np.random.default_rng(1).normal(size=(100, 1))
    model = gg.GraphGrad(degree=1, lags="auto").fit(white)
    assert model.lags_ == {}
    assert "Tried" not in model.summary()
    uneven = np.cumsum(np.random.default_rng(0).uniform(0.5, 1.5, 200))
    model = gg.GraphGrad(degree=1, lags="auto", dynamics="map").fit(y, uneven)
    assert model.lags_ == {}


def test_seasons_are_found_and_continued(quick):
    rng = np.random.default_rng(0)
    t = np.arange(120) / 12
    y = np.sin(2 * np.pi * t)[:, None] + 0.2 * rng.normal(size=(120, 1)) + 5
    model = gg.GraphGrad(degree=1, seasons="auto", dynamics="map").fit(y, t)
    (period,) = model.seasons_.values()
    assert period == pytest.approx(1.0, rel=0.02)
    ahead = model.forecast(12, sources=())
    exact = 5 + np.sin(2 * np.pi * (t[-1] + np.arange(1, 13) / 12))
    assert np.abs(ahead.mean[:, 0] - exact).max() < 0.3
    assert "sin(2 pi t/" in model.equations()[0]
    assert r"\sin\left(2\pi t/" in model.latex()[0]
    named = gg.GraphGrad(degree=2, seasons={"year": 1.0}, dynamics="map").fit(y, t)
    assert named.terms_ == ["1", "x1", "sin(year)", "cos(year)", "x1^2"]
    noise = gg.GraphGrad(degree=1, seasons="auto").fit(rng.normal(size=(120, 1)))
    assert noise.seasons_ == {}


def test_hidden_states_have_their_scale_fixed(quick):
    y, _ = autoregression(60)
    model = gg.GraphGrad(degree=1, hidden=2).fit(y)
    assert model.state_names_ == ["x1", "h1", "h2"]
    values = {
        (state, term): model.coef_[i, j]
        for i, state in enumerate(model.state_names_)
        for j, term in enumerate(model.terms_)
    }
    assert values["x1", "h1"] == values["h1", "h2"] == 1
    assert values["h1", "1"] == values["h2", "1"] == 0
    settings = memory.with_hidden(model.get_params(), model._fit.panel, 1)
    assert settings["states"] == ["x1", "h1"]


def test_delayed_states_cannot_be_drawn(quick):
    model = gg.GraphGrad(degree=1, lags=1).fit(autoregression(40)[0])
    with pytest.raises(ValueError, match="must delay no states"):
        model.posterior(draws=2)


def test_delays_of_a_trajectory_begin_anew_with_each_series():
    from graphgrad.solvers.adaptive.starts import _delayed

    library = gg.Polynomial(3, 1)
    model = gg.state_space_model(library, state_noise=1.0, observation_noise=1.0)
    arranged = gg.arrange(model, [np.zeros((2, 3)), np.zeros((3, 3))])
    rows = 1.0 + np.arange(len(arranged.ys) + 1)
    path = np.stack([rows, 0 * rows, 0 * rows], axis=1)
    sources = jax.numpy.array([-1, 0, 1])
    found = np.asarray(_delayed(jax.numpy.asarray(path), arranged.model, sources))
    assert found[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert found[1:, 1].tolist() == [1, 2, 4, 4, 5, 6]
    assert found[2:, 2].tolist() == [1, 4, 4, 4, 5]


def test_dates_keep_the_phase_of_a_season():
    from graphgrad.data.clock import Clock
    from graphgrad.data.drivers import Drivers, read_seasons
    from graphgrad.data.series import Panel, Series

    first, later = (Clock("index", "day", day) for day in ("2020-01-01", "2020-03-01"))
    drivers = Drivers(seasons=read_seasons({"year": 366.0}), clock=first)
    rows = Series(np.zeros((3, 1)), None, np.arange(3.0), None, later)
    assert drivers.times(rows).tolist() == [60, 61, 62]
    panel = drivers.panel(None, Panel((rows,), False))
    assert panel is not None
    angle = 2 * np.pi * np.array([60, 61, 62]) / 366
    exact = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    np.testing.assert_allclose(panel.series[0].values, exact)


def test_hidden_states_are_tried_if_residuals_remember(quick):
    y, _ = autoregression(200)
    model = gg.GraphGrad(degree=1, hidden="auto").fit(y)
    assert "hidden=1 +" in model.summary()
    assert "hidden=2 +" in model.summary()
    # Those of the stub stand still, and do not pay for their variance.
    assert model.state_names_ == ["x1"]
    noise = np.random.default_rng(0).normal(size=(200, 1))
    assert "hidden=" not in gg.GraphGrad(degree=1, hidden="auto").fit(noise).summary()


@pytest.mark.slow
def test_a_hidden_state_is_found(monkeypatch):
    # x[t+1] = 1.5 x[t] - 0.8 x[t-1] + noise, of which x alone is seen.
    rng = np.random.default_rng(0)
    x = np.zeros(250)
    for t in range(2, 250):
        x[t] = 1.5 * x[t - 1] - 0.8 * x[t - 2] + rng.normal()
    monkeypatch.setattr(memory, "MOST_HIDDEN", 1)
    model = gg.GraphGrad(degree=1, hidden="auto", dynamics="map").fit(x[50:, None])
    assert model.state_names_ == ["x1", "h1"]
    assert "hidden=1 -" in model.summary()
    # Roots of the characteristic polynomial, in any coordinates of the hidden state.
    names = [model.terms_.index(name) for name in ("x1", "h1")]
    found = np.sort_complex(np.linalg.eigvals(model.coef_[:, names]))
    exact = np.sort_complex(np.roots([1, -1.5, 0.8]))
    np.testing.assert_allclose(found, exact, atol=0.1)
