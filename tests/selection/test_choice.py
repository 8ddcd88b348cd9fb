"""Choosing between whole fits: the penalty by two criteria, the degree."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg

KEY = jax.random.key(1)
SYSTEM = gg.systems.lotka_volterra()
TRUTH = np.asarray(SYSTEM.coefficients(dynamics="map") != 0)
PENALTIES = (0.1, 1.0, 1000.0)
SHORT = gg.AdaptiveSteps(rounds=1)  # The same programs as with more rounds.


def series(steps=100):
    return SYSTEM.simulate(jax.random.key(0), steps, scheme="euler").observations


@pytest.fixture
def one_by_one(monkeypatch):
    """Fits of a path by the program of a single one, which others have compiled."""

    def fit_path(key, ys, model, penalties, **options):
        fits = [gg.adaptive(key, ys, model, weight=w, **options) for w in penalties]
        # Fits of a path have no alternatives.
        fits = [
            eqx.tree_at(
                lambda fit: (fit.alternative_coefficients, fit.alternative_rises),
                fit,
                replace_fn=lambda values: values[:0],
            )
            for fit in fits
        ]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *fits)

    monkeypatch.setattr("graphgrad.selection.choice.fit_path", fit_path)


def check(choice):
    """At 1000 times the penalty true terms go; what is chosen has them all."""
    assert choice.values == PENALTIES
    assert choice.scores.shape == (3,)
    assert np.isfinite(choice.scores).all()
    assert choice.scores[2] > choice.scores[1] + 3
    assert choice.best == np.argmin(choice.scores)
    assert choice.solution.support()[TRUTH].all()


@pytest.mark.slow
def test_a_penalty_by_held_out_rows(one_by_one):
    # As many rows as the beginning of the series is rounded up to.
    ys, model = series(128), SYSTEM.model(dynamics="map")
    check(gg.choose_penalty(KEY, ys, model, penalties=PENALTIES, settings=SHORT))


@pytest.mark.slow
def test_a_penalty_by_the_criterion_is_that_of_the_fits_one_by_one():
    ys, model = series(), SYSTEM.model(dynamics="map")
    options = {"penalties": PENALTIES, "settings": SHORT}
    choice = gg.choose_penalty(KEY, ys, model, by="ebic", **options)
    check(choice)
    assert (choice.solution.support() == TRUTH).all()
    alone = [gg.adaptive(KEY, ys, model, weight=w, settings=SHORT) for w in PENALTIES]
    C = alone[choice.best].coefficients
    np.testing.assert_allclose(choice.solution.coefficients, C, atol=1e-3)
    terms = [int(fit.support().sum()) for fit in alone]
    assert terms == sorted(terms, reverse=True)


@pytest.mark.slow
def test_constrained_coefficients_are_not_counted(one_by_one):
    """What is given costs nothing, and what is forbidden is none of p."""
    ys, model = series(), SYSTEM.model(dynamics="map")
    C = np.asarray(SYSTEM.coefficients(dynamics="map"))
    given = [gg.known("x1", "x1", C[0, 1]), gg.forbid("x2", "x1^2")]
    choice = gg.choose_penalty(
        KEY, ys, model, penalties=(2.0,), by="ebic", constraints=given, settings=SHORT
    )
    found = choice.solution
    estimated = int((found.standard_errors > 0).sum())
    assert estimated < found.support().sum()
    degrees = np.repeat([0, 1, 2], [1, 2, 3])
    left = np.repeat([2, 4 - 2, 6 - 1], [1, 2, 3])
    price = np.log(ys.size) + 2 * np.log(left) + 4 * degrees * np.log(2)
    price = np.where(np.eye(2, 6, k=1) == 1, np.log(ys.size), price)  # own states
    penalties = np.where(found.standard_errors > 0, price, 0).sum()
    deviance = -2 * float(found.log_likelihood)
    np.testing.assert_allclose(choice.scores, deviance + penalties, rtol=1e-5)
    np.testing.assert_allclose(found.criterion, deviance + 2 * penalties, rtol=1e-5)


@pytest.mark.slow
def test_the_right_degree_is_chosen():
    """Lotka and Volterra's equations are of degree 2, and 1 misses."""

    def model_of(degree):
        return gg.state_space_model(
            gg.Polynomial(2, degree),
            state_noise=SYSTEM.state_noise,
            observation_noise=SYSTEM.observation_noise,
            initial_mean=SYSTEM.x0,
            initial_noise=SYSTEM.initial_noise,
        )

    choice = gg.choose_degree(KEY, series(), model_of, degrees=(1, 2), settings=SHORT)
    assert choice.values == (1.0, 2.0)
    assert choice.best == 1
    assert (choice.solution.support() == TRUTH).all()


def test_bad_settings_are_named():
    ys, model = series(), SYSTEM.model(dynamics="map")
    with pytest.raises(ValueError, match="`models` must hold at least one model"):
        gg.choose_model(KEY, ys, {})
    with pytest.raises(ValueError, match="`by` must be one of 'ebic', 'held-out'"):
        gg.choose_penalty(KEY, ys, model, by="cv")
    with pytest.raises(ValueError, match="`share` must leave rows on both sides"):
        gg.choose_penalty(KEY, ys, model, share=1.0)
