"""Descent of particles, and random numbers that are drawn before the loop over time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.engines import PROPOSALS, value_and_gradient
from graphgrad.engines.genealogy import descendant_weights, where_true
from graphgrad.model import GaussianNoise, StudentT
from graphgrad.model.noise import ScaledNoise


@pytest.mark.parametrize("size", [1, 31, 32, 33, 1000])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_indices_of_true_entries_are_those_of_nonzero(size, share):
    flags = np.random.default_rng(size).uniform(size=size) < share
    indices, count = jax.jit(where_true)(flags)
    (expected,) = np.nonzero(flags)
    assert count == len(expected)
    np.testing.assert_array_equal(indices[:count], expected)
    assert not indices[count:].any()


def test_weights_are_sums_over_the_descendants_at_the_end():
    model = gg.systems.lorenz63(dt=0.02).model()
    ys = gg.simulate(jax.random.key(0), model, steps=12).observations
    result = gg.ParticleFilter(30)(jax.random.key(1), model, ys)
    first, weights = descendant_weights(result)
    lineage = np.arange(30)
    final = np.exp(result.log_weights[-1])
    for t in reversed(range(12)):
        expected = np.bincount(lineage, final, minlength=30)
        np.testing.assert_allclose(weights[t], expected, rtol=1e-5)
        lineage = np.asarray(result.ancestors)[t][lineage]
    np.testing.assert_allclose(
        first, np.bincount(lineage, final, minlength=30), rtol=1e-5
    )


@pytest.mark.parametrize(
    "noise",
    [
        GaussianNoise(jnp.array([0.5, 2.0])),
        GaussianNoise.of(jnp.array([[2.0, 0.5], [0.5, 1.0]])),
        ScaledNoise(noise=GaussianNoise(jnp.ones(2)), scale=jnp.array([2.0, 3.0])),
        StudentT(0.25),
    ],
    ids=["diagonal", "full", "scaled", "student"],
)
def test_draws_of_many_keys_are_those_of_each_key(noise):
    keys, mean = jax.random.split(jax.random.key(0), 4), jnp.ones((5, 2))
    drawn = noise.draws(keys, mean.shape, mean.dtype)
    together = jax.vmap(noise.placed, in_axes=(0, None))(drawn, mean)
    alone = jnp.stack([noise.sample(key, mean) for key in keys])
    np.testing.assert_allclose(together, alone, rtol=1e-6)


@pytest.mark.parametrize("dynamics", ["map", "flow"])
@pytest.mark.parametrize("name", PROPOSALS)
def test_proposals_draw_the_same_before_the_loop(name, dynamics):
    model = gg.systems.lorenz63(dt=0.02).model(dynamics=dynamics)
    distribution = PROPOSALS[name]().prepare(model)
    x, y = jnp.ones((5, 3)), jnp.array([0.5, jnp.nan, 1.0])
    keys = jax.random.split(jax.random.key(0), 3)
    drawn = distribution.draws(keys, x.shape, x.dtype)
    for key, one in zip(keys, drawn, strict=True):
        np.testing.assert_allclose(
            distribution.placed(one, x, y), distribution.sample(key, x, y), rtol=1e-6
        )


@pytest.mark.slow
def test_scores_of_many_series_are_those_of_each():
    # The number of particles with descendants differs between them.
    model = gg.systems.lorenz63(dt=0.02).model()
    ys = gg.simulate(jax.random.key(0), model, steps=20).observations

    def score(key):
        return value_and_gradient(
            key,
            model.with_coefficients,
            model.coefficients,
            ys,
            particle_filter=gg.ParticleFilter(60),
            form="score",
        )[1]

    keys = jax.random.split(jax.random.key(1), 3)
    together = jax.jit(jax.vmap(score))(keys)
    alone = jnp.stack([jax.jit(score)(key) for key in keys])
    largest = np.abs(alone).max()
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5 * largest)
