"""Resampling: one contract for every scheme, and what sets each of them apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphgrad.engines.resampling import RESAMPLING

# Many sizes, each of which is compiled.
pytestmark = pytest.mark.slow

every_scheme = pytest.mark.parametrize("name", RESAMPLING)
seeds = st.integers(0, 2**31 - 1)
log_weights_of_40 = hnp.arrays(np.float32, 40, elements=st.floats(-8, 8, width=32))

FOR_MANY_KEYS = {
    name: jax.jit(jax.vmap(scheme, in_axes=(0, None)))
    for name, scheme in RESAMPLING.items()
}


def many_keys(size, seed=0):
    """Keys for `size` particles: fewer for many of them."""
    return jax.random.split(jax.random.key(seed), 10_000 if size <= 40 else 20)


def draw(name, log_weights, seed=0):
    """Ancestors for many keys: few sizes in this file, so few compilations."""
    keys = many_keys(len(log_weights), seed)
    return np.asarray(FOR_MANY_KEYS[name](keys, jnp.asarray(log_weights, jnp.float32)))


def count(ancestors):
    """How often each particle was chosen: `(N, K)` for `(N, K)` ancestors."""
    n_rows, size = ancestors.shape
    places = ancestors + size * np.arange(n_rows)[:, None]
    return np.bincount(places.ravel(), minlength=n_rows * size).reshape(n_rows, size)


def log(weights):
    """Logarithms, minus infinity for zero."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


def exact_weights(log_weights):
    """Normalised weights in double precision."""
    log_weights = np.asarray(log_weights, dtype=np.float64)
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def normals(size, scale=1.0, seed=0):
    return np.random.default_rng(seed).normal(size=size).astype(np.float32) * scale


def assert_frequencies(seen, probabilities):
    """Frequencies within 5 standard errors of their probabilities.

    With 100 other seeds each test here that counts frequencies or means passes 100
    times.
    """
    frequencies, probabilities = seen / seen.sum(), np.asarray(probabilities)
    error = np.sqrt(probabilities * (1 - probabilities) / seen.sum())
    assert np.all(np.abs(frequencies - probabilities) <= 5 * error)


# One contract for all -----------------------------------------------------------------


@every_scheme
@pytest.mark.parametrize("size", [1, 2, 40, 1000, 100_000])
def test_ancestors_are_int32_and_in_range(name, size):
    ancestors = draw(name, normals(size, 2))
    assert ancestors.shape[1:] == (size,)
    assert ancestors.dtype == np.int32
    assert ancestors.min() >= 0
    assert ancestors.max() < size


@every_scheme
def test_double_precision_gives_the_same_ancestors(name):
    # The weights differ in the eighth digit, the random bits do not.
    log_weights = normals(40)
    single = draw(name, log_weights)[:5]
    with jax.enable_x64(True):
        double = FOR_MANY_KEYS[name](many_keys(40)[:5], log_weights.astype(float))
    assert double.dtype == jnp.int32
    np.testing.assert_array_equal(double, single)


@every_scheme
def test_a_batch_of_series_is_each_series_by_itself(name):
    log_weights = normals((7, 40))
    batched = jax.jit(jax.vmap(RESAMPLING[name]))
    together = batched(many_keys(40)[:7], jnp.asarray(log_weights))
    alone = [draw(name, row)[i] for i, row in enumerate(log_weights)]
    np.testing.assert_array_equal(together, alone)


@every_scheme
@pytest.mark.parametrize("shift", [-512.0, 512.0])
def test_weights_need_no_normalisation(name, shift):
    # Multiples of 1/1024 stay exact under the shift, so the ancestors are the same.
    log_weights = np.round(normals(40) * 1024) / 1024
    np.testing.assert_array_equal(
        draw(name, log_weights), draw(name, log_weights + shift)
    )


@every_scheme
@pytest.mark.parametrize(
    "log_weights",
    [normals(40), normals(40, 6), log(np.repeat([0.0, 0.03, 0.97], [30, 9, 1]))],
    ids=["even", "uneven", "sparse"],
)
def test_particle_j_is_chosen_k_w_times_on_average(name, log_weights):
    chosen = count(draw(name, log_weights))
    expected = 40 * exact_weights(log_weights)
    # Every count of these schemes has at most the multinomial variance and at least
    # that of a count which is one of two whole numbers; the latter keeps the error
    # of rare events honest where none was seen.
    fraction = expected % 1
    variance = np.maximum(chosen.var(axis=0), fraction * (1 - fraction))
    error = np.sqrt(variance / len(chosen))
    assert np.all(np.abs(chosen.mean(axis=0) - expected) <= 5 * error + 1e-5)


@every_scheme
@given(
    dead=hnp.arrays(bool, 40).filter(lambda dead: not dead.all()),
    kind=st.sampled_from([-np.inf, np.nan, np.inf]),
    seed=seeds,
)
def test_particles_without_a_weight_are_never_chosen(name, dead, kind, seed):
    log_weights = np.where(dead, kind, normals(40, 3, seed))
    assert not dead[draw(name, log_weights, seed)].any()


@every_scheme
def test_the_lowest_and_highest_uniforms_find_a_living_particle(name, monkeypatch):
    dead = np.isin(np.arange(40), [0, 1, 20, 38, 39])
    log_weights = jnp.asarray(np.where(dead, -np.inf, normals(40, 3)), jnp.float32)

    @jax.jit
    def with_bits(bits):
        def fixed(key, shape, dtype):
            return jnp.full(shape, bits, dtype)

        monkeypatch.setattr(jax.random, "bits", fixed)
        return RESAMPLING[name](jax.random.key(0), log_weights)

    for bits in (0, 2**32 - 1):
        ancestors = with_bits(np.uint32(bits))
        assert not dead[np.asarray(ancestors)].any()


@every_scheme
@pytest.mark.parametrize("size", [1000, 100_000])
def test_dead_particles_at_both_ends_are_not_reached_by_rounding(name, size):
    alive = range(size // 3, size - size // 3)
    log_weights = np.full(size, -np.inf)
    log_weights[alive] = -0.1
    ancestors = draw(name, log_weights)
    assert ancestors.min() >= alive[0]
    assert ancestors.max() <= alive[-1]


@every_scheme
@pytest.mark.parametrize("kind", [-np.inf, np.nan, np.inf])
def test_without_any_weight_everybody_stays(name, kind):
    ancestors = draw(name, np.full(40, kind))
    np.testing.assert_array_equal(ancestors, np.tile(np.arange(40), (10_000, 1)))


@every_scheme
@pytest.mark.parametrize("size", [2, 1000])
@pytest.mark.parametrize("place", [0, -1])
def test_one_particle_with_all_the_weight_is_everybodys_ancestor(name, size, place):
    log_weights = np.full(size, -1e4)
    log_weights[place] = 0
    assert set(np.unique(draw(name, log_weights))) == {range(size)[place]}


@every_scheme
def test_two_particles(name):
    probabilities = (
        [1 / 16, 6 / 16, 9 / 16] if name == "multinomial" else [0, 1 / 2, 1 / 2]
    )
    copies = count(draw(name, np.log([3 / 4, 1 / 4])))[:, 0]
    assert_frequencies(np.bincount(copies, minlength=3), probabilities)


# What sets them apart -----------------------------------------------------------------


def test_multinomial_ancestors_are_independent():
    # All 9 pairs of ancestors of two particles, against products of probabilities.
    weights = np.array([0.2, 0.5, 0.3])
    log_weights = np.full(40, -np.inf)
    log_weights[[0, 7, 39]] = np.log(weights)
    ancestors = np.searchsorted([0, 7, 39], draw("multinomial", log_weights))
    pairs = 3 * ancestors[:, :-1:2] + ancestors[:, 1::2]
    assert_frequencies(np.bincount(pairs.ravel()), np.outer(weights, weights).ravel())


@pytest.mark.parametrize("name", ["systematic", "stratified"])
@pytest.mark.parametrize("size", [2, 40, 1000, 100_000])
def test_cumulative_counts_are_rounded_cumulative_weights(name, size):
    log_weights = normals(size, 2)
    ancestors = draw(name, log_weights)
    assert np.all(np.diff(ancestors, axis=1) >= 0)
    reached = np.cumsum(count(ancestors), axis=1)
    exact = size * np.cumsum(exact_weights(log_weights))
    # Weights are rounded to about 2^-30, which adds up like a random walk.
    slack = size * (1e-7 + 2.0**-28 * np.sqrt(size))
    assert np.all(reached >= np.floor(exact - slack))
    assert np.all(reached <= np.ceil(exact + slack))


@given(log_weights=log_weights_of_40, seed=seeds)
def test_systematic_counts_are_the_whole_numbers_about_k_w(log_weights, seed):
    chosen = count(draw("systematic", log_weights, seed))
    expected = 40 * exact_weights(log_weights)
    assert np.all(chosen >= np.floor(expected * (1 - 1e-5)))
    assert np.all(chosen <= np.ceil(expected * (1 + 1e-5)))


def test_strata_are_independent_but_systematic_points_move_together():
    # K c = (0.5, 1.5, 2.5, ...): in each stratum the point lies below or above c_j.
    log_weights = np.log([0.5, *[1] * 38, 1.5])
    expected = {"stratified": [1 / 8] * 8, "systematic": [1 / 2, *[0] * 6, 1 / 2]}
    for name, probabilities in expected.items():
        reached = np.cumsum(count(draw(name, log_weights)), axis=1)
        below = reached[:, :3] - np.arange(3)
        assert set(np.unique(below)) == {0, 1}
        assert_frequencies(np.bincount(below @ [1, 2, 4], minlength=8), probabilities)


@given(log_weights=log_weights_of_40, seed=seeds)
def test_residual_keeps_the_whole_part_of_k_w(log_weights, seed):
    chosen = count(draw("residual", log_weights, seed))
    expected = 40 * exact_weights(log_weights)
    assert np.all(chosen >= np.floor(expected * (1 - 1e-6)))


@given(
    ancestors=hnp.arrays(np.int32, (1, 40), elements=st.integers(0, 39)),
    shift=st.floats(-4, 4),
)
def test_residual_is_certain_where_every_k_w_is_whole(ancestors, shift):
    whole = count(ancestors)
    chosen = count(draw("residual", log(whole[0]) + shift))
    np.testing.assert_array_equal(chosen, np.broadcast_to(whole, chosen.shape))


@pytest.mark.parametrize("name", ["systematic", "stratified", "residual"])
@pytest.mark.parametrize("size", [1000, 100_000])
@pytest.mark.parametrize("level", [-3.3, 80.0])
def test_equal_weights_keep_everybody(name, size, level):
    # With a running sum of floats, rounding would lose some of 100 000.
    ancestors = draw(name, np.full(size, level))
    assert np.all(ancestors == np.arange(size))


def test_the_schemes_differ_in_variance_as_they_should():
    log_weights = normals(40)
    weights = exact_weights(log_weights)
    variance = {
        name: count(draw(name, log_weights)).var(axis=0).sum() for name in RESAMPLING
    }
    # The variance of a multinomial count is K w (1 - w).
    exact = 40 * np.sum(weights * (1 - weights))
    assert variance["multinomial"] == pytest.approx(exact, rel=0.02)
    assert variance["residual"] < 0.7 * exact
    assert variance["systematic"] < variance["stratified"] < 0.7 * exact
