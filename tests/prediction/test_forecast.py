"""States, forecasts, scores and comparisons against exact answers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.diagnostics.uncertainty import fit_covariance, state_slopes
from graphgrad.engines import GaussianSmoother
from graphgrad.estimator import fitting
from graphgrad.prediction.evaluation import choose_origins
from graphgrad.prediction.forecast import Ensemble
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


def test_diverged_members_cause_a_warning(recwarn):
    y = np.linspace(0.5, 4, 30)[:, None]
    model = gg.GraphGrad(
        degree=2,
        constraints=[gg.known("x1", "x1^2", 1.0), gg.known("x1", "x1", 0.0)],
    ).fit(y)
    with pytest.warns(UserWarning, match="100% of the members diverged, the first at"):
        ahead = model.forecast(40, members=5)
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
    with pytest.raises(ValueError, match="whose rows are dt apart"):
        model.evaluate(y, times=np.arange(20) ** 1.5)
    assert choose_origins(1, rows=20, horizon=5).tolist() == [10]


def test_an_ensemble_without_members_left():
    ensemble = Ensemble(np.full((4, 2, 1), np.nan), 0.9)
    assert np.isnan(ensemble.mean).all()
    assert np.isnan(ensemble.band()).all()
    with pytest.raises(ValueError, match="`level` must be between 0 and 1, got 2"):
        ensemble.band(2)


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
