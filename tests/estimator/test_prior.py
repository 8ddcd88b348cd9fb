"""Probabilities of terms, and origins: from settings and options to the solver."""

import json

import numpy as np
import pytest

import graphgrad as gg
from graphgrad.cli.options import gather
from graphgrad.estimator import fitting
from helpers.stubs import least_squares

ROWS = np.random.default_rng(0).normal(size=(40, 2)) + 40
PRIOR = {"x1^2": 0.01, "degree 1": 0.3}


@pytest.fixture
def given(monkeypatch):
    """Priors that the solver got, one per call."""
    seen = []

    def solve(*args, prior=None, **options):
        seen.append(prior)
        return least_squares(*args, **options)

    monkeypatch.setattr(fitting, "adaptive", solve)
    return seen


def test_a_prior_reaches_the_solver_and_the_file(given, tmp_path):
    model = gg.GraphGrad(dynamics="map", prior=PRIOR).fit(ROWS)
    # Its names are those of terms about zero, so that no other origin is tried.
    assert given == [PRIOR]
    model.save(tmp_path / "fit")
    assert gg.GraphGrad.load(tmp_path / "fit").prior == PRIOR
    settings = json.loads((tmp_path / "fit" / "model.json").read_text())["settings"]
    assert settings["prior"]["items"] == [["x1^2", 0.01], ["degree 1", 0.3]]


def test_the_papers_solvers_have_no_prior():
    model = gg.GraphGrad(
        dynamics="map", solver="pmle", prior=PRIOR, state_noise=1, observation_noise=1
    )
    with pytest.raises(ValueError, match="`prior` must be left out"):
        model.fit(ROWS)


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        ("prior", "x1^2=0.01, degree 1=0.3", {"x1^2": 0.01, "degree 1": 0.3}),
        ("prior", {"x1 x2": 0.2}, {"x1 x2": 0.2}),
        ("origin", "auto", "auto"),
        ("origin", "room=273.15,street=-4", {"room": 273.15, "street": -4.0}),
    ],
)
def test_numbers_by_name_at_the_command_line(option, text, value):
    assert gather(None, {"data": "x.csv", option: text})[option] == value


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("prior", "0.01", "by name"),
        ("prior", "x1=-1", "-1"),
        ("origin", "mean", "by name"),
        ("origin", "x1=warm", "'warm'"),
    ],
)
def test_what_is_no_number_by_name(option, text, words):
    with pytest.raises(ValueError, match=f"--{option}") as caught:
        gather(None, {"data": "x.csv", option: text})
    assert words in str(caught.value)
