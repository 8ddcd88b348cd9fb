"""The short part of the campaigns: `make soak` runs them at length."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphgrad.solvers.adaptive import finish
from helpers.outcomes import faults
from soak import fits, tables


def test_damaged_files_are_read_or_refused():
    found = tables.campaign(200)
    assert faults(found) == []
    assert found["answer"] > 5
    assert found["error"] > 100


def test_a_fit_without_numbers_is_a_fault(monkeypatch):
    class Empty:
        outcome_, coef_ = "converged", np.array([np.nan])
        standard_errors_ = state_means_ = np.zeros(1)

        def fit(self, _):
            return self

    monkeypatch.setattr(fits.gg, "GraphGrad", lambda **_: Empty())
    assert "ArithmeticError: NaN" in faults(fits.campaign(1))[0]


@pytest.mark.slow
def test_fits_on_eight_threads_are_those_of_one():
    assert fits.threads(8)


@pytest.mark.slow
def test_a_fit_that_is_lost_in_its_last_sweep_says_so(tmp_path, monkeypatch):
    """As those of two equal columns at times are, by which numbers depends on XLA."""

    def lost(*arguments):
        state, maximum = ascend_once(*arguments)
        states = maximum.states._replace(
            means=maximum.states.means.at[0].set(np.nan),
            filtered=maximum.states.filtered.at[:2, 1].set(np.nan),
            covariances=maximum.states.covariances.at[3, 1, 1].set(np.inf),
        )
        return state, maximum._replace(metric=np.nan * maximum.metric, states=states)

    ascend_once = finish.ascend_once
    y = np.random.default_rng(1).normal(size=(40, 2)).cumsum(axis=0)
    whole = fits.fitted({"degree": 1}, y)
    monkeypatch.setattr(finish, "ascend_once", lost)
    model = fits.fitted({"degree": 1}, y)
    assert model.outcome_ == "degenerate_likelihood" != whole.outcome_
    assert (model.coef_ == whole.coef_).all()
    assert (model.standard_errors_[model.coef_ != 0] > 1e50).all()
    np.testing.assert_allclose(model.state_means_[2], y[2], rtol=1e-6)
    np.testing.assert_array_equal(model.state_means_[4:], whole.state_means_[4:])
    model.save(tmp_path / "fit.zip")


@pytest.mark.slow
def test_columns_that_are_sums_of_fewer_states_do_not_lose_the_noise(tmp_path):
    """Their noise falls to nothing, so that there is no finite information."""
    rng = np.random.default_rng(3)
    t = 0.1 * np.arange(60)
    states = np.c_[np.cos(1.3 * t), np.sin(1.3 * t)]
    states += 0.03 * rng.standard_normal(states.shape)
    seen = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 1.0]])
    settings = {"degree": 1, "dt": 0.1, "observation": seen, "states": ["a", "b"]}
    model = fits.fitted(settings, states @ seen.T)
    assert model.outcome_ not in ("converged", "degenerate_likelihood")
    assert np.isfinite(model.state_noise_).all()
    model.save(tmp_path / "fit.zip")


@pytest.mark.slow
def test_all_campaigns_find_no_fault():
    """In a process without type checks at run time, as users have it."""
    folders = [str(Path(__file__).parents[1]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-m", "soak", "--most", "60", "--minutes", "4"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]
    table = [line for line in run.stdout.splitlines() if line.startswith("|")]
    assert [line.split("|")[1].strip() for line in table[2:]] == [
        *("inputs", "tables", "headers", "kills", "fits", "resumes")
    ]
