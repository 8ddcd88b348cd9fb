"""Persistence and autoregressions, against predictions written by hand."""

import numpy as np
import pytest

from graphgrad.diagnostics.baselines import fit_ar, fit_var, persistence


def autoregressive(weights, rows, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    order, n = len(weights), len(weights[0])
    x = np.zeros((rows + order, n))
    for t in range(order, len(x)):
        past = sum(W @ x[t - k - 1] for k, W in enumerate(weights))
        x[t] = past + noise * rng.normal(size=n)
    return x[order:]


WEIGHTS = np.array([[[0.5, 0.0], [0.4, 0.3]], [[0.0, 0.2], [0.0, -0.3]]])


def test_var_finds_order_and_weights():
    model = fit_var(autoregressive(WEIGHTS, 4000), most=6)
    assert model.order >= 2
    # The standard error of a weight is 0.02 or less.
    np.testing.assert_allclose(model.weights[:2], WEIGHTS, atol=0.08)
    np.testing.assert_allclose(model.weights[2:], 0, atol=0.08)
    assert (model.n_parameters == 1 + 2 * model.order).all()


def test_columns_of_an_ar_have_their_own_order():
    one = autoregressive(np.array([[[0.9]]]), 2000, seed=1)
    two = autoregressive(np.array([[[0.0]], [[0.8]]]), 2000, seed=2)
    model = fit_ar(np.concatenate([one, two], axis=1), most=3)
    off = model.weights[:, [0, 1], [1, 0]]
    assert not off.any()
    for j, column in enumerate((one, two)):
        alone = fit_ar(column, most=3)
        assert model.n_parameters[j] == alone.n_parameters[0]
        np.testing.assert_allclose(
            model.weights[: alone.order, j, j], alone.weights[:, 0, 0]
        )
    assert model.n_parameters[1] >= 3


@pytest.mark.parametrize("fit", [fit_ar, fit_var])
def test_one_step_is_the_first_of_a_forecast(fit):
    rows = autoregressive(WEIGHTS, 120)
    model = fit(rows)
    ahead = model.one_step(rows)
    assert np.isnan(ahead[0]).any() or model.order == 0
    for t in (model.order + 1, 60, 119):
        np.testing.assert_allclose(model.forecasts(rows, [t], 1)[0, 0], ahead[t])


def test_a_forecast_iterates_the_equation():
    rows = autoregressive(WEIGHTS, 200)
    model = fit_var(rows, most=2)
    history = list(rows)
    for _ in range(4):
        past = sum(W @ history[-1 - k] for k, W in enumerate(model.weights))
        history.append(model.constant + past)
    np.testing.assert_allclose(model.forecasts(rows, [200], 4)[0], history[-4:])


def test_missing_values_are_left_out_of_a_fit_and_predicted_in_a_history():
    rows = 0.5 ** np.arange(40.0)
    rows[[7, 20]] = np.nan
    model = fit_ar(rows, most=1)
    np.testing.assert_allclose(model.weights.ravel(), [0.5], rtol=1e-6)
    np.testing.assert_allclose(
        model.forecasts([8.0, np.nan], [2], 1), [[[2.0]]], rtol=1e-5
    )
    np.testing.assert_array_equal(
        persistence(2).forecasts([[1.0, 2.0], [3.0, np.nan]], [2], 2),
        [[[3, 2], [3, 2]]],
    )


def test_a_list_is_several_series():
    parts = [autoregressive(WEIGHTS, 300, seed=s) for s in range(3)]
    together = fit_var(parts, most=1)
    # No row is predicted from another series.
    X = np.concatenate([np.c_[np.ones(299), part[:-1]] for part in parts])
    B = np.linalg.lstsq(X, np.concatenate([part[1:] for part in parts]), rcond=None)[0]
    np.testing.assert_allclose(together.weights[0], B[1:].T)


def test_short_and_constant_series():
    short = fit_ar(np.ones((3, 1)))
    assert short.forecasts(np.ones((3, 1)), [3], 2).tolist() == [[[1], [1]]]
    constant = fit_var(np.full((50, 2), 7.0))
    np.testing.assert_allclose(constant.forecasts(np.full((5, 2), 7.0), [5], 3), 7.0)
    shifted = fit_ar(1e9 + autoregressive(np.array([[[0.8]]]), 400), most=1)
    np.testing.assert_allclose(shifted.weights.ravel(), [0.8], atol=0.1)


def test_inputs_act_on_their_row():
    rng = np.random.default_rng(0)
    u, x = rng.normal(size=(80, 1)), np.zeros((80, 1))
    for t in range(1, 80):
        x[t] = 0.5 * x[t - 1] + 2 * u[t]
    for model in (fit_ar(x[:60], 1, u[:60]), fit_var(x[:60], 1, u[:60])):
        np.testing.assert_allclose(model.drive, [[2]], rtol=1e-6)
        np.testing.assert_allclose(
            model.forecasts(x[:60], [40, 60], 5, u), [x[40:45], x[60:65]], rtol=1e-5
        )


def test_summed_is_the_model_of_changes():
    rows = autoregressive(WEIGHTS, 200)
    changes = fit_var(rows, most=2)
    levels = np.cumsum(rows, axis=0)
    expected = levels[-1] + np.cumsum(changes.forecasts(rows, [200], 4)[0], axis=0)
    np.testing.assert_allclose(changes.summed.forecasts(levels, [200], 4)[0], expected)
