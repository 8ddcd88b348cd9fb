"""Criteria: the contract, and formulas written out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.solvers.criterion import (
    CRITERIA,
    BetaBinomialBIC,
    ExtendedBIC,
    Terms,
    choose_criterion,
    observed_values,
    term_degrees,
    with_prior,
)

DEGREES = np.array([[0, 1, 1, 2, 2, 2]] * 2)
FREE = jnp.ones((2, 6), bool).at[1, 5].set(False)
TERMS = Terms.of(FREE, DEGREES, 2)
NONE = jnp.zeros((2, 6), bool)
N = jnp.asarray(100.0)


@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_has_a_name_and_penalises_every_term(name):
    criterion = choose_criterion(name)
    assert criterion.name == name
    found = criterion.penalties(N, TERMS, NONE)
    assert found.shape == FREE.shape
    assert (found > 0).all()
    # With one degree alone, each term has the same penalty.
    one_degree = Terms.of(FREE, np.zeros_like(DEGREES), 0)
    same = criterion.penalties(N, one_degree, NONE)
    np.testing.assert_allclose(same, criterion.flat(N, 11), rtol=1e-6)
    # Nothing costs nothing, and a single term its penalty.
    assert not criterion.row_totals(N, TERMS, NONE).any()
    total = criterion.row_totals(N, TERMS, NONE.at[1, 3].set(True))
    np.testing.assert_allclose(total, [0, float(found[1, 3])], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ebic", [np.log(100) + 2 * np.log(11)] * 3),
        (
            "ebic-by-degree",
            [
                np.log(100) + 2 * np.log(p) + 4 * k * np.log(2)
                for k, p in ((0, 2), (1, 4), (2, 5))
            ],
        ),
        ("bic", [np.log(100)] * 3),
        ("aic", [2.0] * 3),
    ],
)
def test_penalties_by_hand(name, expected):
    found = CRITERIA[name]().penalties(N, TERMS, NONE)
    np.testing.assert_allclose(found[0, [0, 1, 3]], expected, rtol=1e-6)


def test_the_extended_bic_between_bic_and_itself():
    half = ExtendedBIC(0.5).flat(N, 12)
    ends = CRITERIA["bic"]().flat(N, 12) + ExtendedBIC().flat(N, 12)
    np.testing.assert_allclose(half, ends / 2, rtol=1e-6)


def test_terms_are_penalised_by_their_degree_unless_another_criterion_is_named():
    assert choose_criterion("auto", "map").name == "ebic-by-degree"
    assert choose_criterion("auto", "flow").name == "beta-binomial"
    with pytest.raises(ValueError, match="`criterion` must be one of 'beta-binomial'"):
        choose_criterion("mdl")


@pytest.mark.parametrize("support", [[0, 1, 2], [1, 2, 7, 8], [3, 4, 9, 1]])
def test_a_beta_binomial_prior_by_its_integral(support):
    """The probability of terms of a degree, integrated out on a grid."""
    support = NONE.ravel().at[jnp.array(support)].set(True).reshape(2, 6)
    p = (np.arange(2_000_000) + 0.5) / 2_000_000
    expected = 0.0
    for k in (1, 2):
        number = int(np.sum(FREE & (k == DEGREES)))
        m = int(np.sum(support & (k == DEGREES)))
        prior = (1 - p) ** (number * (4**k - 1))
        chances = [p**j * (1 - p) ** (number - j) for j in (m, 0)]
        some, none = (np.mean(prior * chance) for chance in chances)
        expected -= 2 * np.log(some / none)
    expected += 2 * np.log(2) * int(np.sum(support[:, 0]))  # constants
    expected += np.log(100) * int(support.sum())
    found = BetaBinomialBIC().row_totals(N, TERMS, support)
    np.testing.assert_allclose(found.sum(), expected, rtol=1e-4)
    assert ((found > 0) == support.any(axis=1)).all()


@pytest.mark.parametrize("name", ["ebic-by-degree", "beta-binomial"])
def test_own_states_enter_as_likely_as_not_and_are_no_others_business(name):
    own = np.zeros(DEGREES.shape, bool)
    own[0, 1] = own[1, 2] = True
    criterion = choose_criterion(name)
    terms = Terms.of(FREE, DEGREES, 2, own)
    found = criterion.penalties(N, terms, NONE)
    np.testing.assert_allclose(found[own], np.log(100), rtol=1e-6)
    # There are two other linear terms.
    expected = np.log(100) + 2 * np.log(4 * 2)
    np.testing.assert_allclose(found[0, 2], expected, rtol=1e-6)
    support = NONE.at[:, 1].set(True)
    totals = criterion.row_totals(N, terms, support)
    np.testing.assert_allclose(totals, found[:, 1], rtol=1e-6)
    # Beside own states another term costs as much.
    again = criterion.penalties(N, terms, jnp.asarray(own))
    np.testing.assert_allclose(again, found, rtol=1e-6)


def test_one_more_term_of_a_kind_costs_less_than_the_last():
    criterion = BetaBinomialBIC()
    supports = [NONE.at[0, 1:k].set(True) for k in (1, 2, 3)]
    totals = [criterion.row_totals(N, TERMS, support).sum() for support in supports]
    steps = np.diff(np.array(totals))
    assert steps[1] < steps[0]
    # What the search is told of a term lies between one more and the last one.
    about = criterion.penalties(N, TERMS, supports[1])[0, 2]
    assert steps[1] < about < steps[0]


def test_stated_probabilities_beside_a_prior_that_counts():
    stated = with_prior(BetaBinomialBIC(), {"x1": 0.5}, gg.Polynomial(2, 2), None)
    support = NONE.at[:, 1:3].set(True)
    others = NONE.at[:, 2].set(True)
    found = stated.row_totals(N, TERMS, support)
    expected = BetaBinomialBIC().row_totals(N, TERMS, others) + np.log(100)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_stated_probabilities():
    library = gg.Polynomial(2, 2)
    stated = {"a b": 0.5, "degree 2": 0.01, "a": 0.999}
    found = with_prior(choose_criterion("bic"), stated, library, ["a", "b"])
    assert found.name == "bic"
    penalties = found.penalties(N, TERMS, NONE)[0]
    high = np.log(100) + 2 * np.log(99)
    expected = [np.log(100), 0, np.log(100), high, np.log(100), high]
    np.testing.assert_allclose(penalties, expected, rtol=1e-5)
    assert with_prior(choose_criterion("bic"), None, library, None).name == "bic"
    for wrong, message in (
        ({"a c": 0.5}, "`prior` must be one of"),
        ({"a": 1.0}, "below 1, got 1 for 'a'"),
        ({"a": 0.0}, "`prior` must be a positive"),
        ([0.5], "`prior` must be a mapping"),
    ):
        with pytest.raises(ValueError, match=message):
            with_prior(choose_criterion("bic"), wrong, library, ["a", "b"])


def test_what_is_counted():
    ys = jnp.ones((5, 2)).at[0, 0].set(jnp.nan)
    assert observed_values(ys) == 9
    assert term_degrees(gg.Polynomial(2, 2)).tolist() == [0, 1, 1, 2, 2, 2]


@pytest.mark.slow
def test_a_fit_by_another_criterion():
    system = gg.systems.lotka_volterra()
    ys = system.simulate(jax.random.key(0), steps=60, scheme="euler").observations
    found = gg.adaptive(
        jax.random.key(1),
        ys,
        system.model(dynamics="map"),
        criterion="aic",
        weight=2.0,
        settings=gg.AdaptiveSteps(rounds=1),
    )
    assert found.criterion_name == "aic"
    assert float(found.penalty_multiplier) == 2.0
    terms, deviance = found.support().sum(), -2 * float(found.log_likelihood)
    np.testing.assert_allclose(found.criterion, deviance + 4 * terms, rtol=1e-5)
    unweighted = found.unweighted_criterion
    np.testing.assert_allclose(unweighted, deviance + 2 * terms, rtol=1e-5)
