"""Scores against counts made by hand, in both conventions."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graphgrad import metrics

# Nonzero as positive: 2 hits, 1 miss, 2 alarms, 5 rejections.
TRUTH = np.array([[1.0, -2.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
ESTIMATE = np.array([[1.5, -2.0, 9e-7, 0.5, 1e-6], [0.0, -9e-7, 0.0, 0.0, 0.0]])
BY_HAND = {
    "nonzero": {
        "specificity": Fraction(5, 7),
        "recall": Fraction(2, 3),
        "precision": Fraction(2, 4),
        "f1": Fraction(4, 7),
        "accuracy": Fraction(7, 10),
    },
    "zero": {
        "specificity": Fraction(2, 3),
        "recall": Fraction(5, 7),
        "precision": Fraction(5, 6),
        "f1": Fraction(10, 13),
        "accuracy": Fraction(7, 10),
    },
}


@pytest.mark.parametrize("positive", ["nonzero", "zero"])
def test_scores_are_those_counted_by_hand(x64, positive):
    scores = metrics.support_scores(ESTIMATE, TRUTH, positive=positive)
    expected = {name: float(value) for name, value in BY_HAND[positive].items()}
    assert {name: float(s) for name, s in scores._asdict().items()} == expected


@pytest.mark.parametrize("positive", ["nonzero", "zero"])
@pytest.mark.parametrize("truth", [TRUTH, 0 * TRUTH, 0 * TRUTH + 1])
def test_perfect_recovery_scores_one(positive, truth):
    scores = metrics.support_scores(2 * truth, truth, positive=positive)
    assert all(score == 1 for score in scores)


def test_what_cannot_be_computed_is_zero():
    dense, empty = np.ones((2, 3)), np.zeros((2, 3))
    nothing_found = metrics.support_scores(empty, dense)
    assert [float(s) for s in nothing_found] == [0, 0, 0, 0, 0]
    nothing_to_find = metrics.support_scores(dense, empty)
    assert [float(s) for s in nothing_to_find] == [0, 0, 0, 0, 0]
    none_of_some = metrics.support_scores(0 * TRUTH, TRUTH)
    assert [float(s) for s in none_of_some] == pytest.approx([1, 0, 0, 0, 0.7])


def test_nan_is_not_sparse():
    assert metrics.support_scores(np.full((1, 2), np.nan), np.zeros((1, 2))).f1 == 0
    assert np.isnan(metrics.rmse(np.full((1, 2), np.nan), np.zeros((1, 2))))


def test_errors_are_those_counted_by_hand(x64):
    all_entries = np.sqrt((0.5**2 + (3 - 9e-7) ** 2 + 0.5**2 + 1e-12 + 81e-14) / 10)
    assert metrics.rmse(ESTIMATE, TRUTH) == pytest.approx(all_entries, rel=1e-12)
    found = np.sqrt((0.5**2 + 0 + 0.5**2 + 1e-12) / 4)
    assert metrics.rmse_nonzero(ESTIMATE, TRUTH) == pytest.approx(found, rel=1e-12)
    spilled = (0.5 + 1e-6 + 9e-7) / 7
    assert metrics.mean_abs_where_zero(ESTIMATE, TRUTH) == pytest.approx(spilled)


def test_empty_means_are_nan():
    assert jnp.isnan(metrics.rmse_nonzero(np.zeros((2, 2)), np.ones((2, 2))))
    assert jnp.isnan(metrics.mean_abs_where_zero(np.ones((2, 2)), np.ones((2, 2))))


def test_nrmse_compares_two_filters():
    truth = jax.random.normal(jax.random.key(0), (50, 3))
    reference = truth + 0.1
    np.testing.assert_allclose(metrics.nrmse(reference, reference, truth), 1)
    np.testing.assert_allclose(
        metrics.nrmse(truth - 0.12, reference, truth), 1.2, rtol=1e-5
    )


@pytest.mark.parametrize(
    "metric",
    [
        metrics.support_scores,
        metrics.rmse,
        metrics.rmse_nonzero,
        metrics.mean_abs_where_zero,
        lambda estimate, truth: metrics.nrmse(estimate, 2 * truth, truth),
    ],
)
def test_batches_jit_and_vmap_agree(metric):
    truth = jnp.asarray(TRUTH, jnp.float32)
    keep = jax.random.bernoulli(jax.random.key(0), 0.6, (4, *truth.shape))
    estimates = jnp.where(keep, truth + 0.25, 0)
    one_by_one = [metric(estimate, truth) for estimate in estimates]
    expected = jax.tree.map(lambda *s: jnp.stack(s), *one_by_one)
    for batched in (
        metric(estimates, truth),
        jax.jit(metric)(estimates, truth),
        jax.vmap(metric, (0, None))(estimates, truth),
    ):
        for a, b in zip(
            jax.tree.leaves(batched), jax.tree.leaves(expected), strict=True
        ):
            assert a.shape == (4,)
            assert a.dtype == jnp.float32
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_the_convention_must_be_known():
    with pytest.raises(ValueError, match="`positive` must be one of 'nonzero', 'zero'"):
        metrics.support_scores(TRUTH, TRUTH, positive="dense")
