"""Alternatives in words, weights of terms, files and report."""

import json

import equinox as eqx
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.cli.summary import run_header, summary
from graphgrad.diagnostics.alternatives import fit_alternatives
from graphgrad.diagnostics.choices import Choices
from graphgrad.diagnostics.term_confidence import criterion_confidence
from graphgrad.estimator import fitting
from helpers.stubs import least_squares


@pytest.fixture
def model(monkeypatch):
    """A fit of x = -0.9 x, with alternatives of weights 0.6 : 0.3 : 0.08 : 0.02."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    x = np.cos(3.0 * np.arange(40))[:, None]
    model = gg.GraphGrad(degree=2, dynamics="map", lags=1).fit(x)
    # Terms: 1, x1, x1[t-1], x1^2, x1 x1[t-1], x1[t-1]^2
    C = np.array(model._fit.coefficients)
    C[0] = [0, -0.9, 0, 0, 0, 0]
    others = np.tile(C, (3, 1, 1))
    others[0, 0] = [0.5, 0, 0, 0.2, 0, 0]
    others[1, 0] = [0, -0.9, 0.1, 0, 0, 0]
    others[2, 0] = 0
    found = eqx.tree_at(
        lambda s: (s.coefficients, s.alternative_coefficients, s.alternative_rises),
        model._fit.solution,
        (
            C,
            others,
            -2 * np.log([1 / 2, 0.08 / 0.6, 0.02 / 0.6]),
        ),
    )
    model._fit = model._fit._replace(solution=found)
    return model


def test_words(model):
    found = model.alternatives()
    assert [other.weight for other in found] == pytest.approx([0.3, 0.08, 0.02])
    assert [other.words for other in found] == [
        "1 and x1^2 in place of x1 in the equation of x1",
        "x1[t-1] in addition in the equation of x1",
        "without x1 in the equation of x1",
    ]
    assert found[0].coefficients.shape == model.coef_.shape
    # Those of little weight are not mentioned.
    assert model.summary().count("Alternative of weight") == 2


def test_weights_of_terms(model):
    first = Choices.of(model._fit).term_weights()[0]
    assert first.tolist() == pytest.approx([0.3, 0.68, 0.08, 0.3, 0, 0])
    confidence = criterion_confidence(model._fit)[0]
    assert confidence[1] <= 0.68 + 1e-9
    assert confidence[[0, 2, 3]].tolist() == pytest.approx([0.3, 0.08, 0.3])


def test_files_terminal_and_report_have_them(model, tmp_path):
    model.save(tmp_path / "fit.zip")
    loaded = gg.GraphGrad.load(tmp_path / "fit.zip")
    for ours, theirs in zip(model.alternatives(), loaded.alternatives(), strict=True):
        assert ours.words == theirs.words
        assert ours.weight == pytest.approx(theirs.weight)
    header = json.loads(json.dumps(run_header(model)))
    sentence = "Alternative of weight 0.30: 1 and x1^2 in place of x1 in the equation"
    assert any(line.startswith(sentence) for line in summary(header))
    header["alternatives"] = 3
    with pytest.raises(ValueError, match="must be a list"):
        list(summary(header))
    model.report(tmp_path / "report.html", forecast=0)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert f"<summary>{sentence} of x1.</summary>" in page
    assert "x1[t+1] = 0.5 + 0.2 x1^2" in page


def test_the_papers_solvers_have_none():
    fit = gg.GraphGrad(
        solver="paper", degree=1, n_particles=10, state_noise=1.0, observation_noise=1.0
    ).fit(np.random.default_rng(0).normal(size=(12, 1)))
    assert fit_alternatives(fit._fit) == []
    assert set(np.unique(Choices.of(fit._fit).term_weights())) <= {0.0, 1.0}
