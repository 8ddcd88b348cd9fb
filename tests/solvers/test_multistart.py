"""Several starts and their consensus: Sec. IV-C."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.solvers import consensus
from helpers.oracles import linear_model

RNG = np.random.default_rng(0)
CENTRE = RNG.normal(size=(3, 4))
NEAR = CENTRE + 0.01 * RNG.uniform(-1, 1, size=(5, 3, 4))
FAR = CENTRE + np.array([1.0, -1.0, 2.0])[:, None, None]


@pytest.mark.parametrize("norm", ["max", "frobenius", "spectral"])
def test_consensus_accepts_agreeing_starts_and_leaves_the_others_out(norm):
    candidates = np.concatenate([FAR[:2], NEAR, FAR[2:]])
    members = consensus(candidates, tolerance=0.1, norm=norm, agreeing=5)
    assert members == (2, 3, 4, 5, 6)


@pytest.mark.parametrize("norm", ["max", "frobenius", "spectral"])
def test_consensus_rejects_planted_disagreement(norm):
    # Every pair of neighbours is close, and yet no five are within the tolerance.
    chain = CENTRE + 0.09 * np.arange(8)[:, None, None]
    assert consensus(chain, tolerance=0.1, norm=norm, agreeing=5) == ()
    assert consensus(FAR, tolerance=0.1, norm=norm, agreeing=2) == ()


def test_members_are_within_the_tolerance_of_a_common_matrix():
    candidates = CENTRE + RNG.uniform(-1, 1, size=(30, 3, 4))
    members = consensus(candidates, tolerance=1.2, norm="max", agreeing=2)
    chosen = candidates[list(members)]
    assert len(members) >= 2
    # In the largest norm the best common matrix is the middle of the box.
    assert (chosen.max(axis=0) - chosen.min(axis=0)).max() / 2 < 1.2


def _data():
    model = linear_model()
    return model, gg.simulate(jax.random.key(0), model, steps=40).observations


SETTINGS = gg.GradientSteps(30, particle_filter=gg.ParticleFilter(20))


@pytest.mark.slow
def test_agreeing_starts_end_the_batching_and_are_averaged():
    model, ys = _data()
    near = model.coefficients + 0.01 * jax.random.normal(jax.random.key(1), (4, 2, 3))
    planted = jnp.concatenate([near, model.coefficients[None] + 3])
    found = gg.multistart(
        jax.random.key(2),
        ys,
        model,
        gg.L1(0.1),
        starts=5,
        tolerance=0.3,
        initial=planted,
        settings=SETTINGS,
    )
    assert 4 not in found.members
    assert len(found.members) >= 3
    assert found.batches == 2 < found.batches_in_all == 4
    assert found.solution.lengths == (10, 40)
    last = np.asarray(found.solution.path[-1])[:, -1]
    assert len(last) == len(found.members)
    assert np.allclose(found.solution.coefficients, last.mean(axis=0), atol=1e-6)


@pytest.mark.slow
def test_disagreement_to_the_end_is_an_outcome():
    model, ys = _data()
    ys = ys[:20]
    planted = model.coefficients + jnp.array([0.0, 3.0, -3.0])[:, None, None]
    found = gg.multistart(
        jax.random.key(2),
        ys,
        model,
        gg.L1(0.1),
        starts=3,
        tolerance=1e-3,
        initial=planted,
        settings=SETTINGS,
    )
    assert found.members == ()
    assert found.batches == found.batches_in_all == 2
    assert found.solution.outcome is gg.Outcome.no_consensus
    # The best start is the one at the truth.
    assert np.allclose(found.solution.coefficients, found.candidates[0])


def test_bad_settings_are_named():
    model, ys = _data()
    for options, message in [
        ({"starts": 1}, "`starts` must be a whole number of at least 2, got 1"),
        ({"norm": "taxi"}, "`norm` must be one of 'max'"),
        ({"tolerance": 0.0}, "`tolerance` must be a positive finite number"),
        ({"agreeing": 1}, "`agreeing` must be a whole number of at least 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            gg.multistart(jax.random.key(0), ys, model, gg.L1(1.0), **options)
