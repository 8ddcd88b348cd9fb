"""States, forecasts, scores and comparisons against exact answers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats

import graphgrad as gg
from graphgrad.diagnostics.noise_uncertainty import _draw, noise_draws
from graphgrad.diagnostics.uncertainty import fit_covariance, state_slopes
from graphgrad.engines import GaussianSmoother
from graphgrad.estimator import fitting
from graphgrad.prediction.ensemble import Ensemble
from graphgrad.prediction.evaluation import choose_origins
from graphgrad.prediction.rollout import divergence
from helpers.compilations import compilations
from helpers.oracles import (
    exact_smoother,
    extended_kalman,
    linear_log_likelihood,
    linear_model,
)
from helpers.stubs import least_squares

# Forecasts as ensembles: compilations.
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fits by a stub."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)


@pytest.fixture
def linear():
    """A fit of degree 1 with everything else known, and other data."""
    with jax.enable_x64(True):
        _, y, _ = gg.simulate(jax.random.key(0), linear_model(), steps=60)
    model = gg.GraphGrad(
        degree=1,
        state_noise=[0.3, 0.2],
        observation_noise=0.4,
        initial=([1.0, -1.0], 0.5),
    )
    return model.fit(np.asarray(y[:40])), np.asarray(y[40:])


@pytest.fixture
def curved():
    """A fit of degree 2."""
    system = gg.systems.lotka_volterra()
    with jax.enable_x64(True):
        y = np.asarray(system.simulate(jax.random.key(3), steps=60).observations)
    return gg.GraphGrad(degree=2).fit(y), y


def test_score_is_kalman_s(linear, x64):
    model, y = linear
    exact = linear_log_likelihood(
        model.model_, jnp.asarray(model.coef_), jnp.asarray(y)
    )
    assert model.score(y) == pytest.approx(float(exact) / y.size, rel=1e-9)
    # Of a panel, each series for itself; what is missing does not count.
    gappy = y.copy()
    gappy[3] = np.nan
    without = exact_smoother(model.model_, gappy)[0]
    both = (float(exact) + without) / (2 * y.size - 2)
    assert model.score([y, gappy]) == pytest.approx(both, rel=1e-9)


def test_the_first_row_is_not_scored_without_initial(curved, x64):
    model, y = curved
    rows = model._fit.rows(y, None, None)[1]
    laws = GaussianSmoother().filter(jax.random.key(0), rows.model, jnp.asarray(y))
    expected = float(jnp.sum(laws.increments[1:])) / (y.size - 2)
    assert model.score(y) == pytest.approx(expected)


def test_smoothing_is_exact_for_a_linear_model(linear, x64):
    model, y = linear
    _, means, covariances, _ = exact_smoother(model.model_, y)
    estimate = model.smooth(y)
    np.testing.assert_allclose(estimate.mean, means[1:], rtol=1e-8)
    np.testing.assert_allclose(estimate.covariance, covariances[1:], rtol=1e-8)
    half = estimate.band(0.95)[..., 1] - estimate.mean
    deviations = np.sqrt(np.einsum("tii->ti", covariances[1:]))
    np.testing.assert_allclose(half, 1.959964 * deviations, rtol=1e-6)


def test_filtering_is_the_extended_kalman_filter(curved, x64):
    model, y = curved
    rows = model._fit.rows(y, None, None)[1]
    _, means = extended_kalman(rows.model, jnp.asarray(y))
    np.testing.assert_allclose(model.filter(y).mean, means, rtol=1e-8)
    assert (np.linalg.eigvalsh(model.filter(y).covariance) > 0).all()
    # Filtered states do not depend on later rows.
    np.testing.assert_allclose(model.filter(y[:30]).mean, means[:30], rtol=1e-8)


def test_smoothing_settles_where_the_engine_s_iterations_do(curved, x64):
    model, y = curved
    rows = model._fit.rows(y, None, None)[1]
    key, ys = jax.random.key(0), jnp.asarray(y)
    sweep = GaussianSmoother().sweep(key, rows.model, ys)
    again = jax.jit(lambda path: GaussianSmoother().sweep(key, rows.model, ys, path))
    for _ in range(5):
        sweep = again(sweep.path)
    np.testing.assert_allclose(model.smooth(y).mean, sweep.means()[1:], rtol=1e-6)


def test_without_uncertainty_a_forecast_iterates_the_map(curved):
    model, _ = curved
    ahead = model.forecast(8, members=3, sources=())
    x = model.state_means_[-1]
    for t in range(8):
        a, b = x
        x = model.coef_ @ [1, a, b, a * a, a * b, b * b]
        np.testing.assert_allclose(ahead.states.members[:, t], np.tile(x, (3, 1)))
    assert (ahead.observations.members == ahead.states.members).all()
    np.testing.assert_allclose(
        model.simulate(model.state_means_[-1], steps=8)[1:], ahead.mean
    )
    assert ahead.times.tolist() == list(range(1, 9))
    assert ahead.message == ""


def test_spread_of_noise_and_state_is_exact(linear):
    model, _ = linear
    F, m, P = model.coef_[:, 1:], model.smooth().mean[-1], model.smooth().covariance[-1]
    expected = F @ P @ F.T + np.diag([0.3, 0.2])
    ahead = model.forecast(1, members=20000, sources=("state", "noise"))
    drawn = ahead.states.members[:, 0]
    # A covariance of n normal draws scatters by a share of sqrt(2 / n) or so: 1 %.
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.03)
    np.testing.assert_allclose(drawn.mean(0), model.coef_ @ [1, *m], atol=0.03)
    seen = ahead.observations.members[:, 0]
    np.testing.assert_allclose(np.cov(seen.T), expected + 0.4 * np.eye(2), atol=0.05)
    low, high = np.moveaxis(ahead.band(0.5)[0], -1, 0)
    inside = ((drawn > low) & (drawn < high)).mean(axis=0)
    np.testing.assert_allclose(inside, 0.5, atol=1e-3)


def test_coefficients_scatter_by_their_covariance(linear):
    model, _ = linear
    ahead = model.forecast(1, members=20000, sources=("coefficients",))
    with jax.enable_x64(True):
        covariance = fit_covariance(model._fit)
    terms = np.array([1, *model.state_means_[-1]])
    used = model.coef_ != 0
    rows = np.zeros((2, used.sum()))
    where = np.argwhere(used)
    rows[where[:, 0], np.arange(len(where))] = terms[where[:, 1]]
    expected = rows @ covariance @ rows.T
    np.testing.assert_allclose(
        np.cov(ahead.states.members[:, 0].T), expected, atol=0.05 * expected.max()
    )


def test_the_last_state_depends_on_the_coefficients(linear, x64):
    model, y = linear
    fit, rows = model._fit, model._fit.rows(y, None, None)[1]
    slopes = state_slopes(jax.random.key(0), fit.engine, rows, fit.estimated)
    # The last filtered mean is the last smoothed one, of the exact smoother.
    C, step = jnp.asarray(model.coef_), 1e-5
    for number, place in enumerate(np.argwhere(fit.estimated).tolist()):
        ends = [
            exact_smoother(rows.model.with_coefficients(C.at[*place].add(sign)), y)[1][
                -1
            ]
            for sign in (step, -step)
        ]
        expected = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(slopes[-1, :, number], expected, rtol=1e-4)
    one = model.forecast(1, y, 4000, sources=("state",)).states.members[:, 0]
    two = model.forecast(1, y, 4000, sources=("state", "coefficients"))
    assert (two.states.members[:, 0].var(axis=0) > one.var(axis=0)).all()


def test_one_of_many_diverged_members_is_not_none():
    members = np.zeros((1000, 3, 1))
    members[0, 2] = np.nan
    share, message = divergence(members, 0.9)
    assert share.tolist() == [0, 0, 0.001]
    assert message.startswith("Less than 1% of the members diverged, the first at step")


def test_diverged_members_cause_a_warning(recwarn):
    y = np.linspace(0.5, 4, 30)[:, None]
    model = gg.GraphGrad(
        degree=2,
        constraints=[gg.known("x1", "x1^2", 1.0), gg.known("x1", "x1", 0.0)],
    ).fit(y)
    with pytest.warns(UserWarning, match="100% of the members diverged, the first at"):
        ahead = model.forecast(40, members=5)
    usable = int((ahead.diverged <= 0.05).sum())
    assert f"The bands of 90% can be used up to step {usable}, and" in ahead.message
    assert np.isfinite(ahead.band()[:usable]).all()
    assert np.isnan(ahead.band()[usable:]).all()
    assert ahead.diverged[-1] == 1
    assert (np.diff(ahead.diverged) >= 0).all()
    assert np.isnan(ahead.mean[-1]).all()
    assert np.isnan(ahead.band()[-1]).all()
    assert np.isfinite(ahead.mean[0]).all()
    with pytest.warns(UserWarning, match="The trajectory diverged at step"):
        path = model.simulate([5.0], steps=60)
    assert path.shape == (61, 1)
    assert np.isnan(path[-1]).all()
    assert not any(w.category is RuntimeWarning for w in recwarn)


def test_simulation(linear):
    model, _ = linear
    still = model.simulate([1.0, 2.0], steps=4)
    x = np.array([1.0, 2.0])
    for row in still:
        np.testing.assert_allclose(row, x)
        x = model.coef_ @ [1, *x]
    one, two, other = (
        model.simulate([1.0, 2.0], steps=4, noise=True, random_state=seed)
        for seed in (1, 1, 2)
    )
    assert (one == two).all()
    assert (one[1:] != other[1:]).all()
    assert (one[0] == [1, 2]).all()


def test_rolling_origins(linear, x64):
    model, y = linear
    result = model.evaluate(y, horizon=3, origins=[5, 10, 15], members=4000)
    assert result.origins.tolist() == [5, 10, 15]
    laws = model.filter(y)
    for h in range(3):
        truth = np.stack([y[o + h] for o in (5, 10, 15)])
        last = np.stack([y[o - 1] for o in (5, 10, 15)])
        rmse = np.sqrt(np.mean((truth - last) ** 2, axis=0))
        np.testing.assert_allclose(result.persistence[h], rmse)
        x = laws.mean[[4, 9, 14]]
        for _ in range(h + 1):
            x = np.concatenate([np.ones((3, 1)), x], axis=1) @ model.coef_.T
        rmse = np.sqrt(np.mean((truth - x) ** 2, axis=0))
        # Drawn coefficients move the mean a little; 4000 draws scatter by 0.02.
        np.testing.assert_allclose(result.rmse[h], rmse, atol=0.1)
    assert ((result.coverage >= 0) & (result.coverage <= 1)).all()
    assert str(result).count("\n") == 3
    with pytest.raises(ValueError, match="`origins` must be between 1 and 17"):
        model.evaluate(y, horizon=3, origins=[18])
    with pytest.raises(ValueError, match=r"`horizon` must be below .*, 20, got 20"):
        model.evaluate(y, horizon=20)
    with pytest.raises(ValueError, match="whose rows are dt apart"):
        model.evaluate(y, times=np.arange(20) ** 1.5)
    assert choose_origins(1, rows=20, horizon=5).tolist() == [10]


def test_an_ensemble_without_members_left():
    ensemble = Ensemble(np.full((4, 2, 1), np.nan), 0.9)
    assert np.isnan(ensemble.mean).all()
    assert np.isnan(ensemble.band()).all()
    with pytest.raises(ValueError, match="`level` must be between 0 and 1, got 2"):
        ensemble.band(2)


def test_members_that_are_gone_count_as_outside():
    drawn = np.random.default_rng(0).normal(size=(400, 3, 2))
    far = drawn.copy()
    far[:20, 1, 0], far[:, 2] = -np.inf, np.inf
    gone = np.where(np.isfinite(far), far, np.nan)
    gone[:20, 1] = np.nan
    low, high = np.moveaxis(Ensemble(gone, 0.8).band(), -1, 0)
    np.testing.assert_allclose(low[0], np.quantile(drawn[:, 0], 0.1, axis=0))
    # An end is that of all members, with those that are gone beyond it.
    rest = np.sort(drawn[20:, 1], axis=0)
    assert (rest[19:21] < low[1]).any(axis=0).all()
    assert (low[1] < rest[21]).all()
    assert (rest[-22] < high[1]).all()
    assert (high[1] < rest[-19]).all()
    assert np.isnan(low[2]).all()
    assert np.isnan(high[2]).all()
    assert np.isnan(Ensemble(gone, 0.95).band()[1]).all()
    assert np.isnan(Ensemble(gone, 0.95).mean[2]).all()


def test_members_have_the_terms_of_alternatives_by_their_weights():
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(size=(60, 1)), axis=0)
    model = gg.GraphGrad(degree=1, dynamics="map").fit(y)
    constant = np.array([[[50.0, 0.0]]])  # x[t+1] = 50
    found = eqx.tree_at(
        lambda s: (s.alternative_coefficients, s.alternative_rises),
        model._fit.solution,
        (jnp.asarray(constant), jnp.asarray([2 * np.log(3.0)])),
    )
    model._fit = model._fit._replace(solution=found)
    assert found.weights.tolist() == pytest.approx([0.75, 0.25])
    ahead = model.forecast(2, members=400, sources=("terms",))
    first = model.forecast(2, members=400, sources=())
    other = ahead.states.members[:, 0, 0] == 50
    assert other.mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 400))
    kept, expected = ahead.states.members[~other], first.states.members[0]
    np.testing.assert_allclose(kept, np.tile(expected, (len(kept), 1, 1)))


def test_frames_of_forecasts():
    rng = np.random.default_rng(0)
    # Too few rows for an average with other methods.
    values = np.cumsum(rng.normal(size=(29, 2)), axis=0)
    given = {"time": 5.5 + 0.5 * np.arange(29), "b": values[:, 0], "a": values[:, 1]}
    model = gg.GraphGrad(degree=1, dynamics="map").fit(pl.DataFrame(given))
    ahead = model.forecast(3, members=20)
    frame = ahead.frame()
    assert isinstance(frame, pl.DataFrame)
    ends = [f"{name}{end}" for name in "ba" for end in ("", "_low", "_high")]
    assert frame.columns == ["time", *ends]
    assert frame["time"].to_list() == [20.0, 20.5, 21.0]
    median, band = ahead.observations.median, ahead.observations.band()
    np.testing.assert_array_equal(frame["a"], median[:, 1])
    np.testing.assert_array_equal(frame[["b_low", "b_high"]].to_numpy(), band[:, 0])
    half = ahead.frame(0.5)
    assert (half["a_high"] < frame["a_high"]).all()
    table = pd.DataFrame(given)
    point = model.predict(table, steps=2)
    assert isinstance(point, pd.DataFrame)
    assert list(point.columns) == ["time", "b", "a"]
    assert point["time"].tolist() == [20.0, 20.5]
    path = model.simulate(model.smooth(table).mean[-1], steps=2)[1:]
    np.testing.assert_allclose(point[["b", "a"]], path, rtol=1e-6)
    plain = gg.GraphGrad(degree=1).fit(values)
    assert plain.predict(steps=4).shape == (4, 2)
    assert list(plain.forecast(1, members=2).frame().columns[:3]) == [
        *("t", "x1", "x1_low"),
    ]


def test_future_inputs_by_name():
    rng = np.random.default_rng(0)
    driving = pd.DataFrame(rng.normal(size=(40, 2)), columns=["u", "v"])
    y = np.zeros((40, 1))
    for t in range(1, 40):
        y[t] = 0.5 * y[t - 1] + driving["u"][t] - 2 * driving["v"][t]
    model = gg.GraphGrad(degree=1).fit(y, inputs=driving)
    future = pd.DataFrame({"v": [1.0, 0.0], "more": ["a", "b"], "u": [0.0, 3.0]})
    options = {"members": 1, "sources": ()}
    wanted = model.forecast(2, future_inputs=future[["u", "v"]].to_numpy(), **options)
    found = model.forecast(2, future_inputs=future[["v", "u"]], **options)
    np.testing.assert_array_equal(found.mean, wanted.mean)
    with pytest.raises(ValueError, match=r"must have the inputs of the fit, \['u', 'v"):
        model.forecast(2, future_inputs=future[["u"]], **options)
    with pytest.raises(ValueError, match="`future_inputs` must be given"):
        model.forecast(2, **options)


def test_draws_of_a_log_variance():
    n, members = 6, 20_000

    def at(value, size=1.3):  # of n normal values of this mean square
        return -n / 2 * (value + size * np.exp(-value))

    # Flat in the standard deviation: a gamma distribution of the precision.
    exact = scipy.stats.gamma((n - 1) / 2, scale=2 / (n * 1.3))
    drawn = _draw(jax.random.key(0), members, at, np.log(1.3), np.inf)
    shares = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    # A grid of whole steps of the logarithm is as accurate as this.
    wanted = -np.log(exact.ppf(1 - shares))
    np.testing.assert_allclose(np.quantile(drawn, shares), wanted, atol=0.15)
    narrow = _draw(jax.random.key(0), members, at, 2.0, 0.1)
    assert narrow.mean() == pytest.approx(2, abs=0.005)
    assert narrow.std() == pytest.approx(0.1, rel=0.03)


def test_bands_have_the_uncertainty_of_the_noise(curved):
    model, _ = curved
    with jax.enable_x64(True):
        noise = noise_draws(jax.random.key(0), model._fit, 400)
    assert noise.learnt == ("state_noise", "observation_noise")
    for drawn in noise[:2]:
        assert drawn.shape == (400, 2)
        assert (drawn > 0).all()
        assert (np.log(drawn).std(axis=0) > 0.05).all()
    free = model._fit._replace(
        solution=eqx.tree_at(lambda s: s.noise_free, model.solution_, np.asarray(True))
    )
    assert (free.variances[0] == 0).all()
    with jax.enable_x64(True):
        noise = noise_draws(jax.random.key(0), free, 400)
    assert (noise.state.mean(axis=0) > 0).all()


def test_other_lengths_need_no_other_programs():
    rng = np.random.default_rng(0)
    y = np.zeros((120, 2))
    for t in range(1, 120):
        y[t] = [[0.8, 0.3], [-0.2, 0.7]] @ y[t - 1] + rng.normal(size=2)
    model = gg.GraphGrad(degree=1, dt=0.5).fit(y[:60])

    def use(rows):
        model.score(y[:rows])
        model.filter(y[:rows])
        model.smooth(y[:rows])
        model.residuals(y[:rows])
        model.forecast(rows // 10, y[:rows], members=10)

    use(96)
    use(97)
    assert compilations(lambda: [use(rows) for rows in range(66, 96, 2)]) == 0
    assert compilations(lambda: [use(rows) for rows in range(98, 120, 5)]) == 0


def test_comparison_of_nested_fits(linear):
    full, _ = linear
    y = np.asarray(full._fit.data.ys)
    options = {**full.get_params(), "constraints": [gg.forbid("x1", "x2")]}
    part = gg.GraphGrad(**options).fit(y)
    for model, height in ((part, -52.0), (full, -50.0)):
        solution = eqx.tree_at(
            lambda s: s.log_likelihood, model.solution_, np.asarray(height)
        )
        model._fit = model._fit._replace(solution=solution)
    table = gg.compare_fits({"full": full, "part": part})
    rows = {row.name: row for row in table.rows}
    k = rows["full"].n_parameters
    assert k == np.count_nonzero(full.coef_) == rows["part"].n_parameters + 1
    assert rows["full"].aic == 100 + 2 * k
    assert rows["full"].bic == pytest.approx(100 + np.log(80) * k)
    assert rows["full"].ebic == pytest.approx(100 + (np.log(80) + 2 * np.log(6)) * k)
    (test,) = table.tests
    assert (test.smaller, test.larger, test.degrees) == ("part", "full", 1)
    assert test.statistic == 4
    assert test.p_value == pytest.approx(0.0455, abs=1e-4)  # two deviations
    assert "part in full: ratio statistic 4.0 on 1 degree" in str(table)
    other = gg.GraphGrad(**full.get_params()).fit(y[:-1])
    with pytest.raises(ValueError, match="`fits` must be fits to the same data"):
        gg.compare_fits({"full": full, "other": other})
    with pytest.raises(ValueError, match="`fits` must be"):
        gg.compare_fits({})


@pytest.mark.parametrize("engine", ["particle", "ensemble"])
def test_engines_that_draw_at_random(linear, engine):
    exact, y = linear
    options = {**exact.get_params(), "engine": engine, "n_particles": 200}
    model = gg.GraphGrad(**options).fit(exact._fit.data.ys)
    assert type(model._fit.engine).__name__.lower().startswith(engine)
    # Sums over 20 rows scatter by 0.3 or so.
    assert model.score(y) == pytest.approx(exact.score(y), abs=1.5 / y.size)
    assert model.score(y) == model.score(y)
    away = model.smooth(y).mean - exact.smooth(y).mean
    assert np.sqrt(np.mean(away**2)) < 0.2
    assert np.abs(model.filter(y).mean - exact.filter(y).mean).max() < 0.4
    assert np.isfinite(model.forecast(3, y, members=20).mean).all()


def test_interpolated_inputs_stay_so_in_forecasts():
    # dx/dt = u with u = t, so that x = t^2 / 2 exactly, at the rows and after them.
    t = 0.5 * np.arange(60)
    x, u = t[:, None] ** 2 / 2, t[:, None]
    constraints = [gg.known("x1", "u1", 1.0)]
    constraints += [gg.forbid("x1", term) for term in ("1", "x1")]
    options = {"dt": 0.5, "constraints": constraints, "state_noise": 1e-6}
    options |= {"degree": 1, "observation_noise": 1e-6, "dynamics": "flow"}
    models = {}
    for kind in ("linear", "held"):
        models[kind] = gg.GraphGrad(**options, inputs_between=kind)
        models[kind].fit(x[:40], inputs=u[:40])
    between = {
        kind: model.predict(steps=20, future_inputs=u[40:])
        for kind, model in models.items()
    }
    linear = models["linear"]
    simulated = linear.simulate(x[0], steps=20, inputs=u[1:21])
    found = linear.evaluate(x, inputs=u, horizon=20, origins=[40], members=50)
    assert np.allclose(between["linear"], x[40:], rtol=1e-5)
    # Held inputs are those at the end of each step, half a step ahead on average.
    steps = 1 + np.arange(20)[:, None]
    assert np.allclose(between["held"] - x[40:], 0.125 * steps, atol=2e-3)
    assert np.allclose(found.forecasts[0], x[40:], rtol=1e-3)
    # A simulation begins with its first row of inputs.
    assert np.allclose(simulated[1:] - x[1:21], 0.125, atol=2e-3)
