"""Supports near the best one, against exhaustive search and refits."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.solution import Stage
from graphgrad.solvers.adaptive import contest
from graphgrad.solvers.adaptive.rivals import (
    MOST_RIVALS,
    WINDOW,
    Near,
    Rival,
    _Block,
    _near,
    credible_gradient,
)
from graphgrad.solvers.criterion import BetaBinomialBIC, Terms, own_states, term_degrees

KEY = jax.random.key(0)


def quadratic(seed, k=7):
    """Information of correlated terms, and the linear part of some true ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, k)) @ (np.eye(k) + 0.5 * rng.normal(size=(k, k)))
    y = X[:, :3] @ rng.normal(size=3) + rng.normal(size=40)
    return _Block(X.T @ X, X.T @ y)


@pytest.mark.parametrize("seed", range(5))
def test_all_supports_within_two_drops_and_two_additions(seed):
    block, penalty = quadratic(seed), np.linspace(2.0, 5.0, 7)

    def cost(terms):
        terms = list(terms)
        if not terms:
            return 0.0
        block_on = block.metric[np.ix_(terms, terms)]
        side = block.linear[terms]
        return float(penalty[terms].sum() - side @ np.linalg.solve(block_on, side))

    every = [t for n in range(8) for t in combinations(range(7), n)]
    best = min(every, key=cost)
    inside = np.isin(np.arange(7), best)
    expected = {
        t: cost(t) - cost(best)
        for t in every
        if t != best
        and len({*best} - {*t}) <= 2
        and len({*t} - {*best}) <= 2
        and cost(t) - cost(best) < WINDOW
    }
    found = {
        tuple(terms): rise
        for rise, terms, _ in _near(block, inside, np.ones(7, bool), penalty)
    }
    assert expected
    assert found.keys() == expected.keys()
    for terms, rise in found.items():
        assert rise == pytest.approx(expected[terms], abs=1e-6)


def test_terms_that_are_not_free_stay_out():
    block, usable = quadratic(0), np.arange(7) != 3
    inside = np.isin(np.arange(7), [0, 1, 2])
    for _, terms, amounts in _near(block, inside, usable, np.full(7, 3.0)):
        assert 3 not in terms
        assert len(terms) == len(amounts)


@pytest.fixture(scope="module")
def neuron():
    """A fit of FitzHugh and Nagumo's neuron, which has a close rival."""
    system = gg.systems.fitzhugh_nagumo(dt=0.2)
    with jax.enable_x64(True):
        model = system.model(3, dynamics="map")
        ys = system.simulate(jax.random.key(4), steps=100, scheme="euler").observations
        found = gg.adaptive(KEY, ys, model, criterion="beta-binomial")
        return model, np.asarray(ys), found


@pytest.mark.slow
def test_weights_and_margin_are_those_of_the_rises(neuron):
    _, _, found = neuron
    rises = np.asarray(found.alternative_rises)
    assert (np.diff(rises) >= 0).all()
    assert (rises > -1e-3).all()
    assert (rises < WINDOW).all()
    assert found.weights.sum() == pytest.approx(1)
    margin = 2 * np.log(found.weights[0] / found.weights[1:].sum())
    assert float(found.margin) == pytest.approx(margin, abs=1e-6)
    unsure = found.weights[0] < 2 / 3
    assert (found.outcome is gg.Outcome.undecided) == unsure
    assert found.search.certified == (True, True)
    assert found.search.stage is not Stage.unknown


@pytest.mark.slow
def test_a_rise_is_that_of_a_refit_with_these_terms(neuron, x64):
    model, ys, found = neuron
    supports = np.asarray(found.alternative_coefficients) != 0
    assert len(supports)
    terms, states = model.library.names(), ("x1", "x2")
    forbidden = [gg.forbid(states[i], terms[j]) for i, j in np.argwhere(~supports[0])]
    # Next to no penalty: all terms that are left stay.
    refit = gg.adaptive(KEY, ys, model, constraints=forbidden, weight=1e-6)
    np.testing.assert_array_equal(refit.support(), supports[0])
    degrees = np.broadcast_to(term_degrees(model.library), supports[0].shape)
    own = own_states(model.library, 2)
    all_terms = Terms.of(jnp.ones(degrees.shape, bool), degrees, 3, own)
    penalties = [
        BetaBinomialBIC().row_totals(jnp.asarray(200.0), all_terms, each).sum()
        for each in (jnp.asarray(supports[0]), jnp.asarray(found.support()))
    ]
    change = float(penalties[0] - penalties[1])
    rise = 2 * float(found.log_likelihood - refit.log_likelihood) + change
    assert float(found.alternative_rises[0]) == pytest.approx(rise, abs=0.1)
    np.testing.assert_allclose(
        np.asarray(found.alternative_coefficients[0])[supports[0]],
        np.asarray(refit.coefficients)[supports[0]],
        rtol=0.05,
    )


@pytest.mark.slow
def test_a_rival_that_is_only_predicted_to_be_better_is_none(neuron, x64, monkeypatch):
    model, ys, found = neuron
    other = np.asarray(found.alternative_coefficients)[0]
    promised = Rival(-5.0, other != 0, other)
    near = Near([promised], [1], np.array([True, True]))
    monkeypatch.setattr(contest, "rivals", lambda *_: near)
    monkeypatch.setattr(contest, "MANY_ROWS", 10)  # rivals are not ascended
    again = gg.adaptive(KEY, ys, model, criterion=found.criterion_name)
    np.testing.assert_array_equal(again.support(), found.support())
    # Starts that ended elsewhere are left.
    assert (np.asarray(again.alternative_rises) > 0).all()
    # Its promise was not put to the test.
    assert again.search.certified == (True, False)


def supports_of(*terms, size=16):
    return [np.arange(size)[None] == term for term in terms]


def test_where_other_searches_ended_is_an_alternative():
    first, *others = supports_of(*range(15))
    levels = [104.0, 101.0, 100 + WINDOW, 99.0, *np.linspace(105, 107, 10).tolist()]
    ends = [
        Rival(level, support, np.zeros((1, 16)))
        for level, support in zip(levels, others, strict=True)
    ]
    again = ends[0]._replace(rise=102.0), ends[1]._replace(support=first)
    found = contest.beside(100.0, first, (*ends, *again))
    assert len(found) == MOST_RIVALS
    assert [rival.rise for rival in found[:3]] == [1.0, 2.0, 5.0]
    assert (found[1].support == ends[0].support).all()
    assert not any((rival.support == first).all() for rival in found)


@pytest.mark.parametrize("seed", range(3))
def test_the_credible_gradient_is_that_of_a_ridge(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 4)) @ np.array(
        [[1, 1, 0, 0], [0, 1e-7, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    )
    metric, gradient = X.T @ X, rng.normal(size=4)
    found = credible_gradient(metric, gradient, 50)
    # The prior of each coefficient has as much information as one row in the mean.
    prior = np.diag(np.where(np.diag(metric) > 0, np.diag(metric) / 50, 1))
    step = np.linalg.lstsq(metric + prior, gradient, rcond=None)[0]
    np.testing.assert_allclose(found, metric @ step, atol=1e-9)
    # As it was where the data tell, and nearly nothing where they do not.
    assert found[2] == pytest.approx(gradient[2], rel=0.05)
    assert abs(found[1] - found[0]) < 0.01


def epidemic():
    """An epidemic whose states have a constant sum but for noise."""
    system = gg.systems.sir()
    key = jax.random.fold_in(jax.random.key(9), 10001)
    drawn = system.simulate(key, 200, scheme="euler", bounded=True)
    return gg.GraphGrad(
        dynamics="map",
        state_noise=system.dt * system.state_noise,
        observation_noise=system.observation_noise,
    ).fit(drawn.observations), system.coefficients(dynamics="map")


@pytest.mark.slow
def test_rivals_are_followed_until_none_is_better(monkeypatch):
    model, truth = epidemic()
    every = [model.coef_, *(other.coefficients for other in model.alternatives())]
    # Of 30 draws the fit or an alternative has the right terms in 30.
    assert any(((each != 0) == (truth != 0)).all() for each in every)
    assert model.outcome_ in ("converged", "undecided")
    monkeypatch.setattr(contest, "ROUNDS", 1)
    assert epidemic()[0].outcome_ in ("out_of_sweeps", "not_determined")
