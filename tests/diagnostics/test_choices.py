"""Weights of choices of terms: probabilities of edges, discoveries, intervals."""

from importlib import import_module
from itertools import combinations

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, t

import graphgrad as gg
from graphgrad.diagnostics.choices import Choices
from graphgrad.diagnostics.coefficient_intervals import (
    mixture_band,
    standard_errors_of,
)
from graphgrad.diagnostics.noise_uncertainty import NoiseDraws
from graphgrad.diagnostics.probable_edges import discoveries
from graphgrad.estimator import fitting
from graphgrad.solution import Doubt
from helpers.stubs import least_squares


@pytest.fixture(scope="module")
def model():
    """Two states; odds of 1/2 for x2 in x1's equation, of 1/4 for x1 x2 in x2's.

    The terms are 1, x1, x2, x1^2, x1 x2 and x2^2.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "adaptive", least_squares)
        y = np.random.default_rng(0).normal(size=(60, 2))
        noises = {"state_noise": 0.04, "observation_noise": 1e-10}
        model = gg.GraphGrad(dynamics="map", **noises).fit(y)
    C = np.zeros((2, 6))
    C[0, 1], C[1, 2] = 0.5, -0.5
    others = np.tile(C, (2, 1, 1))
    others[0, 0] = [0.1, 0, 0.3, 0, 0, 0]
    others[1, 1, 4] = 0.2
    found = eqx.tree_at(
        lambda s: (s.coefficients, s.alternative_coefficients, s.alternative_rises),
        model._fit.solution,
        (C, others, -2 * np.log([1 / 2, 1 / 4])),
    )
    errors = np.where(C != 0, 0.1, 0.0)
    inferred = model._fit.inferred._replace(standard_errors=errors)
    model._fit = model._fit._replace(solution=found, inferred=inferred)
    return model


def test_an_equation_has_the_weights_of_the_choices_that_change_it(model):
    found = Choices.of(model._fit)
    assert found.weights == pytest.approx(
        np.array([[2 / 3, 4 / 5], [1 / 3, 0], [0, 1 / 5]])
    )
    terms = [[1 / 3, 2 / 3, 1 / 3, 0, 0, 0], [0, 0, 1, 0, 1 / 5, 0]]
    assert found.term_weights() == pytest.approx(np.array(terms))


def test_edges_sum_over_all_choices_with_any_term_of_them(model):
    sure = model.edge_probabilities()
    assert sure == pytest.approx(np.array([[2 / 3, 1 / 3], [1 / 5, 1]]))
    found = model.edges(fdr=0.2)  # errors 0, 1/3: mean 1/6
    assert [(e.source, e.target) for e in found] == [("x2", "x2"), ("x1", "x1")]
    assert [e.probability for e in found] == pytest.approx([1, 2 / 3])
    # An edge that only an alternative has: errors 0, 1/3, 2/3, of mean 1/3.
    assert [(e.source, e.target) for e in model.edges(fdr=1 / 3)][2:] == [("x2", "x1")]


def test_known_confidence_and_doubts(model):
    other = gg.GraphGrad()
    doubt = Doubt("memory", 0.0, "Residuals are autocorrelated.")
    other._store(model._fit._replace(doubts=(doubt,)))
    other.edge_confidence_ = np.array([[0.0, 0.99], [0.0, 0.5]])
    with pytest.warns(UserWarning, match="doubtful"):
        found = other.edges()
    assert found == [("x2", "x1", 0.99)]
    with pytest.raises(ValueError, match="`fdr` must be at least 0 and below 1"):
        model.edges(fdr=1.5)


LEVELS = st.sampled_from([0, 0.3, 0.6, 0.9, 1])


@given(arrays(float, st.integers(1, 7), elements=LEVELS))
def test_no_larger_set_of_discoveries_holds_the_rate(p):
    found = discoveries(p, 0.25)
    if len(found):
        assert (1 - p[found]).mean() <= 0.25 + 1e-9
    # Sets of larger probability everywhere: none with more members holds it, unless it
    # parts members of equal probability, or has some of probability zero.
    for size in range(len(found) + 1, len(p) + 1):
        for kept in combinations(range(len(p)), size):
            rest = np.delete(p, kept)
            least = p[list(kept)].min()
            if least > 0 and not (rest >= least).any():
                assert (1 - p[list(kept)]).mean() > 0.25


def test_one_normal_distribution_has_its_interval(model):
    plain = model.confidence_intervals(0.8)
    fit = model._fit
    reach = norm.ppf(0.9) * fit.shown.standard_errors
    assert plain[..., 0] == pytest.approx(fit.shown.coefficients - reach)
    with pytest.raises(ValueError, match="`sources` must be one of"):
        model.confidence_intervals(sources=("term",))


def test_ends_are_quantiles_of_the_mixture():
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(4), 200).T
    means, deviations = rng.normal(size=(2, 4, 200))
    deviations = np.abs(deviations)
    means[0], deviations[0] = 0.0, 0.0  # an atom at zero
    freedom = np.where(rng.random((4, 200)) < 0.5, np.inf, 7.0)
    ends = mixture_band(weights, means, deviations, freedom, 0.8)
    on_atom = 0
    for share, end in zip((0.1, 0.9), ends.T, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = t.cdf((end - means[1:]) / deviations[1:], freedom[1:])
        rest = np.sum(weights[1:] * shares, axis=0)
        below, until = rest + weights[0] * (end > 0), rest + weights[0] * (end >= 0)
        exact = end == 0
        on_atom += exact.sum()
        assert below[~exact] == pytest.approx(share)
        assert (below[exact] <= share).all()
        assert (until[exact] >= share).all()
    assert 20 < on_atom < 380


def test_intervals_with_the_choice_of_terms(model):
    found = model.confidence_intervals(0.9, sources=("coefficients", "terms"))
    # All noise is given: its variances are not uncertain.
    every = model.confidence_intervals(0.9, sources=("noise", "coefficients", "terms"))
    assert (every == found).all()
    # Zero of weight 1/3, and 0.5 with an error of 0.1: the upper end is that quantile.
    assert found[0, 1] == pytest.approx([0, 0.5 + 0.1 * norm.ppf(1 - 0.05 * 3 / 2)])
    # In no choice of the equation.
    assert found[0, 3].tolist() == [0, 0]
    # Only the weights.
    points = model.confidence_intervals(0.9, sources=("terms",))
    assert points[0, :3].tolist() == [[0, 0.1], [0, 0.5], [0, 0.3]]


def test_a_learnt_noise_has_the_t_distribution_of_its_steps_less_terms(monkeypatch):
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    y = np.random.default_rng(0).normal(size=(6, 1))
    model = gg.GraphGrad(degree=1, dynamics="map").fit(y)
    found = model.confidence_intervals(0.9, sources=("noise", "coefficients"))
    quantile = t.ppf(0.95, 6 - 1 - 2)
    reach = model.standard_errors_ * quantile
    ends = np.stack([model.coef_ - reach, model.coef_ + reach], axis=-1)
    assert found == pytest.approx(ends)
    # Where no process noise was needed, errors are those with what the data allow.
    solution = eqx.tree_at(lambda s: s.noise_free, model._fit.solution, np.array(True))
    model._fit = model._fit._replace(solution=solution)
    both = np.array([[0.05], [0.13]]), np.full((2, 1), 1e-10)
    drawn = NoiseDraws(*both, ("state_noise", "observation_noise"))
    module = import_module("graphgrad.diagnostics.coefficient_intervals")
    monkeypatch.setattr(module, "noise_draws", lambda *_: drawn)
    found = model.confidence_intervals(0.9, sources=("noise", "coefficients"))
    terms = np.column_stack([np.ones(5), y[:-1, 0]])
    exact = np.sqrt(np.diag(0.09 * np.linalg.inv(terms.T @ terms)))
    # The first row tells a little, too: from a wide distribution of the state before.
    widths = (found[0, :, 1] - found[0, :, 0]) / 2 / quantile
    assert widths == pytest.approx(exact, rel=0.1)


def test_errors_of_alternatives_are_those_of_a_regression(model):
    """Of states that are seen exactly: the noise over the sums of squares of terms."""
    fit = model._fit
    y = fit.panel.series[0].values
    with jax.enable_x64(True):
        found = standard_errors_of(fit, Choices.of(fit), fit.data)
    terms = np.stack([np.ones(len(y) - 1), y[:-1, 1]], axis=1)
    exact = np.sqrt(np.diag(0.04 * np.linalg.inv(terms.T @ terms)))
    assert found[1, 0, [0, 2]] == pytest.approx(exact, rel=0.02)
    assert (found[1, 0, [1, 3, 4, 5]] == 0).all()
