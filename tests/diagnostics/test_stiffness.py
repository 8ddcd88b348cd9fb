"""Stiff flows: how fast they decay, and a fit that failed says so."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.diagnostics import doubts
from graphgrad.diagnostics.stiffness import decay_in_an_interval, stiffness_doubt
from graphgrad.estimator import fitting
from graphgrad.solution import Outcome
from helpers.stubs import least_squares

DT = 0.1


def decaying(rates, rows=60):
    """A linear flow, each state of which decays at its own rate towards a sine."""
    t = DT * np.arange(rows)
    rng = np.random.default_rng(0)
    values = np.stack([np.exp(-rate * t) + 0.1 * np.sin(3 * t) for rate in rates], 1)
    return values + 1e-3 * rng.normal(size=values.shape)


def flow(rates):
    """A fit of a diagonal linear flow whose coefficients are given."""

    def solver(*args, **options):
        solution = least_squares(*args, **options)
        coefficients = np.zeros(np.shape(solution.coefficients))
        coefficients[:, 1 : 1 + len(rates)] = -np.diag(rates)
        return replace(solution, coefficients=jnp.asarray(coefficients))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "adaptive", solver)
        return gg.GraphGrad(degree=1, dt=DT, dynamics="flow").fit(decaying(rates))._fit


@pytest.fixture(scope="module")
def stiff():
    return flow([0.5, 80.0])


def test_the_decay_is_the_fastest_rate_times_the_interval(stiff):
    assert decay_in_an_interval(stiff) == pytest.approx(80.0 * DT, rel=1e-6)
    found = stiffness_doubt(stiff)
    assert found is not None
    assert "0.00034" in found.text  # exp(-8)
    assert not found.decisive


def test_a_slow_flow_is_not_stiff():
    assert stiffness_doubt(flow([0.5, 3.0])) is None


@pytest.mark.parametrize(("outcome", "said"), [("converged", 0), ("out_of_sweeps", 1)])
def test_only_a_fit_that_failed_says_so(stiff, outcome, said, monkeypatch):
    monkeypatch.setattr(doubts, "memory_doubt", lambda *_: None)
    monkeypatch.setattr(doubts, "skill_doubts", lambda *_: [])
    monkeypatch.setattr(doubts, "noise_doubts", lambda *_: [])
    monkeypatch.setattr(doubts, "free_run_doubt", lambda *_: None)
    monkeypatch.setattr(doubts, "one_step_errors", lambda _: [])
    solution = stiff.solution.with_outcome(Outcome[outcome])
    found = doubts.find_doubts(stiff._replace(solution=solution))
    assert [doubt.check for doubt in found] == ["stiffness"] * said
