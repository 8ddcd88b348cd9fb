"""Methods, studies and data of the numerical study."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.study.draws import draw, model_of, system_of
from graphgrad.study.graphs import graphs
from graphgrad.study.methods import METHODS
from graphgrad.study.methods.degeneracy import survival
from graphgrad.study.methods.lasso import bic, lasso_refitted
from graphgrad.study.methods.sindy import ensemble_map, quiet, stlsq_map, weak_map
from graphgrad.study.methods.yardstick import kalman_loss
from graphgrad.study.plan import Cell, Fits, Study
from graphgrad.study.printed import printed
from graphgrad.study.scores import keys_of, scored
from graphgrad.study.studies import STUDIES

# Whole fits.
pytestmark = pytest.mark.slow

OSCILLATOR = Cell("T=40", 40, "damped_oscillator", steps=40, degree=1)
NAMED = {
    "lorenz63-d2",
    "lorenz63-d3",
    "lorenz63-noise",
    "lorenz63-degeneracy",
    "lorenz63-degree",
    "lorenz63-runtime",
    "lorenz63-prox",
    "lorenz63-graph",
    "lorenz96-d2",
    "lorenz96-d3",
    "lorenz96-graph",
    "kuramoto",
    "multistart",
}


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def oscillations():
    with jax.enable_x64(True):
        return draw(OSCILLATOR, np.arange(3))


def test_every_study_of_the_paper_is_there():
    assert set(STUDIES) >= NAMED


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_a_study_is_whole(study):
    assert set(study.methods) <= set(METHODS)
    assert set(study.most) <= set(METHODS)
    labels = [cell.label for cell in study.cells]
    assert len(set(labels)) == len(labels)
    for rows in study.paper.values():
        for metric, values in rows.items():
            assert metric in study.metrics
            assert len(values) == len(study.columns)
    assert system_of(study.cells[0], 0).n_states >= 2
    assert study.remarks


def test_numbers_of_the_paper_are_as_printed():
    assert printed("lorenz63-d2")["B-GraphGrad"]["rmse"] == (16e-4, 1e-3, 4e-4, 2e-4)
    assert printed("lorenz63-noise", first=3)["pMLE"] == {"rmse": (2.3e-3,)}
    degree = printed("lorenz63-degree")
    # The number of parameters can be counted: 3 states, terms up to a degree.
    counts = np.array([gg.Polynomial(3, d).n_terms for d in range(1, 7)]) / 10
    assert degree["number of parameters"]["relative_seconds"] == tuple(counts)


def test_draws_depend_on_the_seed_alone(oscillations):
    alone = draw(OSCILLATOR, np.array([2]))
    np.testing.assert_array_equal(alone.observations[0], oscillations.observations[2])
    assert not np.array_equal(oscillations.states[0], oscillations.states[1])
    kuramoto = Cell("T=3", 3, "kuramoto", {"n_states": 2}, steps=3)
    first, again, second = (system_of(kuramoto, seed).x0 for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)


def test_draws_that_ran_away_are_counted():
    cell = Cell("T=60", 60, "lorenz63", {"dt": 0.025}, steps=60)
    draws = draw(cell, np.arange(4))
    assert draws.rejected.sum() > 0
    assert np.abs(draws.states).max() < 100


def test_terms_of_a_degree_too_low_have_no_true_coefficients():
    cell = Cell("d=1", 1, "lorenz63", {"dt": 0.02}, steps=5, degree=1)
    model = model_of(cell, draw(cell, np.arange(1)))
    assert model.coefficients.shape == (3, 4)
    assert not np.asarray(model.coefficients).any()


def test_keys_depend_on_method_and_seed():
    data = jax.random.key_data(keys_of("lasso", np.array([4, 9])))
    assert np.array_equal(
        data[1], jax.random.key_data(keys_of("lasso", np.array([9])))[0]
    )
    other = jax.random.key_data(keys_of("pmle", np.array([4, 9])))
    assert not np.array_equal(data, other)


def test_scores_by_hand(oscillations):
    # [[0, .9, .3], [0, -.3, .9]]
    truth = oscillations.system.coefficients(1, dynamics="map")
    extra, missing = truth.copy(), truth.copy()
    extra[0, 0], missing[1, 1] = 0.6, 0.0
    found = scored(OSCILLATOR, oscillations, np.stack([truth, extra, missing]))
    np.testing.assert_allclose(found["rmse"], [0, 0.6 / 6**0.5, 0.3 / 6**0.5])
    np.testing.assert_allclose(found["precision"], [1, 4 / 5, 1])
    np.testing.assert_allclose(found["recall"], [1, 1, 3 / 4])
    np.testing.assert_allclose(found["specificity"], [1, 1 / 2, 1])
    np.testing.assert_allclose(found["precision_zero"], [1, 1, 2 / 3])
    assert found["exact"].tolist() == [1, 0, 0]
    # A constant is no link; the lost one is from the first state to the second.
    assert found["links"].tolist() == [4, 4, 3]
    assert found["links_missed"].tolist() == [0, 0, 1]


def noise_free(degree=2, rows=60):
    """Rows of a map with terms x, y and x y, its terms, and its coefficients."""
    C = np.array([[0, 0.6, -0.7, 0, 0, 0], [0, 0.7, 0.6, 0, 0.2, 0]])
    library, x, path = gg.Polynomial(2, degree), np.array([1.5, 0.5]), []
    for _ in range(rows):
        path.append(x)
        x = C @ np.asarray(library(jnp.asarray(x)))
    ys = np.array(path)
    return ys, np.asarray(library(jnp.asarray(ys[:-1]))), ys[1:], C


def test_lasso_and_sindy_find_a_map_without_noise():
    ys, terms, targets, C = noise_free()
    np.testing.assert_allclose(lasso_refitted(terms, targets), C, atol=1e-6)
    with quiet(seed=0):
        setting, found = stlsq_map(ys, 2, terms, targets)
    assert setting is not None
    np.testing.assert_allclose(found, C, atol=1e-4)


def test_bagged_sindy_finds_it_too():
    ys, terms, targets, C = noise_free()
    with quiet(seed=0):
        found = ensemble_map(ys, 2, terms, targets)[1]
    assert np.array_equal(found != 0, C != 0)


def test_weak_sindy_finds_the_rates_of_a_flow():
    # A slow rotation, of which the map of a step is nearly I + rate.
    rate = np.array([[0, 0, -0.05], [0, 0.05, 0]])
    times = np.arange(200)
    ys = np.stack([np.cos(0.05 * times), np.sin(0.05 * times)], axis=1)
    terms = np.asarray(gg.Polynomial(2, 1)(jnp.asarray(ys[:-1])))
    with quiet(seed=0):
        found = weak_map(ys, 1, terms, ys[1:])[1]
    np.testing.assert_allclose(found, np.eye(2, 3, k=1) + rate, atol=3e-3)


def test_bic_by_hand():
    terms, targets = np.ones((4, 1)), np.array([[1.0], [1.0], [3.0], [3.0]])
    # Residuals of the mean, 2: all 1 in size. One of four rows may be used per term.
    value = bic(terms, targets, np.array([[2.0]]))
    np.testing.assert_allclose(value, 4 * np.log(1) + np.log(4))
    crowded = bic(np.ones((4, 3)), targets, np.ones((1, 3)))
    assert np.isinf(crowded[0])


def test_the_yardstick_is_the_kalman_filter_at_its_best(oscillations):
    model = model_of(OSCILLATOR, oscillations)
    ys = jnp.asarray(oscillations.observations[0])
    # A linear model: the engine's likelihood is exact, and so is this one.
    exact = gg.GaussianSmoother().sweep(jax.random.key(0), model, ys).log_likelihood
    loss = kalman_loss(model.coefficients, model, ys)
    constant = ys.size / 2 * np.log(2 * np.pi)
    np.testing.assert_allclose(-loss - constant, exact, rtol=1e-9)
    on = np.asarray(model.coefficients) != 0
    found = METHODS["support-known"](OSCILLATOR, oscillations)
    assert found["exact"].tolist() == [1, 1, 1]
    slopes = jax.jit(jax.grad(kalman_loss))
    best = slopes(jnp.asarray(found["coefficients"][0]), model, ys)[on]
    assert (
        np.abs(best).max()
        < 1e-2 * np.abs(slopes(model.coefficients, model, ys)[on]).max()
    )


def test_when_a_filter_dies_can_be_counted():
    # Particles stand still at 0, where each step has density 1 / sqrt(2 pi): 95 of them
    # are above 2^-126, below which XLA takes numbers for zero.
    model = gg.state_space_model(
        gg.Polynomial(1, 1),
        [[0.0, 1.0]],
        state_noise=1e-20,
        observation_noise=1.0,
        initial_mean=[0.0],
        initial_noise=1e-20,
    )
    model = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model)
    ys = jnp.zeros((200, 1), jnp.float32)
    key = jax.random.key(0)
    with jax.enable_x64(False):
        plain, log = (
            survival(key, model, ys, num_particles=5, logarithms=logarithms)
            for logarithms in (False, True)
        )
        # Observed 20 standard deviations away: no weight is left, its logarithm is.
        far = [
            survival(key, model, ys + 20, num_particles=5, logarithms=logarithms)
            for logarithms in (False, True)
        ]
    assert [int(n) for n in plain] == [
        200,
        int(126 * np.log(2) / np.log(np.sqrt(2 * np.pi))),
    ]
    assert [int(n) for n in log] == [200, 200]
    assert [int(n) for n in far[0]] == [0, 0]
    assert [int(n) for n in far[1]] == [200, 200]


def test_the_lasso_scores_every_realisation(oscillations):
    found = METHODS["lasso"](OSCILLATOR, oscillations)
    assert found["rmse"].shape == (3,)
    assert (found["rmse"] < 0.1).all()


@pytest.mark.parametrize("name", ["b-graphgrad", "multistart", "b-graphgrad-time"])
def test_the_papers_solvers_on_the_oscillator(oscillations, name):
    cell = Cell(
        "T=20",
        20,
        "damped_oscillator",
        steps=20,
        degree=1,
        settings={"steps": 200, "weight": 1.0, "starts": 3},
    )
    found = METHODS[name](cell, draw(cell, np.arange(2)))
    if name == "b-graphgrad-time":
        assert (found["seconds"] > 0).all()
    else:
        assert (found["recall"] > 0.7).all()
    if name == "multistart":
        assert set(found["agreed"]) <= {0, 1}
        assert ((found["work"] > 0) & (found["work"] <= 1)).all()


def test_the_adaptive_solver_is_as_good_as_the_yardstick_where_it_is_right(
    oscillations,
):
    ours = METHODS["adaptive"](OSCILLATOR, oscillations)
    best = METHODS["support-known"](OSCILLATOR, oscillations)
    assert (ours["recall"] == 1).all()
    right = ours["exact"] == 1
    assert right.any()
    np.testing.assert_allclose(ours["rmse"][right], best["rmse"][right], rtol=0.01)
    # Elsewhere a constant is found that is not there: few coefficients cost little.
    assert (np.asarray(ours["coefficients"])[~right][:, :, 0] != 0).any()
    assert (ours["f1"] > 0.85).all()


def test_states_of_oscillators_that_know_their_equations():
    cell = Cell("T=30", 30, "kuramoto", {"n_states": 2}, steps=30)
    found = METHODS["true-mle-states"](cell, draw(cell, np.arange(2)))
    # As good as the truth, but for what three parameters cost.
    assert (np.abs(found["nrmse_gaussian"] - 1) < 0.2).all()


def test_graphs_are_drawn_with_their_verdicts():
    cell = Cell("T=5", 5, "lorenz63", {"dt": 0.02}, steps=5)
    study = Study("graph", "Lorenz 63", (cell,), ("lasso", "pmle"))
    estimate = system_of(cell, 0).coefficients(2, dynamics="map").copy()
    estimate[0, 3] = 0.5  # x3 acts on x1, which it does not
    fits = Fits(np.arange(1), {}, np.ones(1), estimate[None], ())
    figure = graphs(study, {("T=5", "lasso"): fits})
    titles = [panel.get_title() for panel in figure.axes]
    assert titles[0] == "truth"
    assert "8 right" in titles[1]
    assert "1 invented" in titles[1]
    assert len(titles) == 2
