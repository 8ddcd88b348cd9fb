"""State-space models: distributions against SciPy, trajectories, input checks."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import graphgrad as gg
from graphgrad.model import (
    AbstractMean,
    GaussianNoise,
    LinearGaussian,
    MapMean,
    Transition,
)

VARIANCES = np.array([0.25, 4.0, 1.0])
FULL = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]])

both_covariances = pytest.mark.parametrize(
    "covariance", [VARIANCES, FULL], ids=["diagonal", "full"]
)


# One compilation for all models of the same form.
simulate = eqx.filter_jit(gg.simulate)


def normal_log_density(x, mean, covariance):
    """SciPy's, for any covariance (its annotation says `int`)."""
    return stats.multivariate_normal(mean, covariance).logpdf(x)


def linear_model(**changes) -> Any:
    """Two states, the second drives the first; everything stable."""
    settings = {
        "coefficients": [[0.0, 0.9, 0.2], [0.5, 0.0, 0.7]],
        "state_noise": [0.1, 0.3],
        "observation_noise": 0.2,
        "initial_mean": [1.0, -1.0],
    }
    library = gg.Polynomial(n_states=2, degree=1)
    return gg.state_space_model(library, **{**settings, **changes})


# Gaussian noise -----------------------------------------------------------------------


@both_covariances
def test_log_density_is_that_of_scipy(covariance, x64):
    noise = GaussianNoise.of(jnp.asarray(covariance))
    matrix = np.diag(covariance) if covariance.ndim == 1 else covariance
    rng = np.random.default_rng(0)
    x, mean = rng.normal(size=(2, 4, 5, 3)) * 2
    expected = normal_log_density(x - mean, np.zeros(3), matrix)
    np.testing.assert_allclose(
        noise.log_prob(jnp.asarray(x), jnp.asarray(mean)), expected, rtol=1e-12
    )
    np.testing.assert_allclose(noise.covariance, matrix, rtol=1e-14)


@both_covariances
def test_one_observation_against_many_means(covariance):
    noise = GaussianNoise.of(jnp.asarray(covariance))
    means = jax.random.normal(jax.random.key(0), (6, 3))
    y = jnp.array([1.0, -2.0, 0.5])
    together = noise.log_prob(y, means)
    assert together.shape == (6,)
    np.testing.assert_allclose(
        together, [noise.log_prob(y, mean) for mean in means], rtol=1e-5
    )


@both_covariances
def test_samples_have_the_mean_and_the_covariance(covariance):
    # 5 standard errors. With 100 other seeds: 100 passes of each.
    n, mean = 20_000, jnp.array([1.0, -2.0, 0.0])
    noise = GaussianNoise.of(jnp.asarray(covariance))
    x = noise.sample(jax.random.key(0), jnp.broadcast_to(mean, (n, 3)))
    matrix = np.diag(covariance) if covariance.ndim == 1 else covariance
    variances = np.diag(matrix)
    assert np.all(np.abs(x.mean(axis=0) - mean) <= 5 * np.sqrt(variances / n))
    # The variance of a sample covariance is (s_ii s_jj + s_ij^2) / n.
    error = np.sqrt((np.outer(variances, variances) + matrix**2) / n)
    assert np.all(np.abs(np.cov(x, rowvar=False) - matrix) <= 5 * error)


@both_covariances
def test_samples_move_with_the_mean(covariance):
    # Sec. IV-A: reparametrised, so a draw has the slope 1 in its own mean.
    noise = GaussianNoise.of(jnp.asarray(covariance))
    slope = jax.jacobian(lambda mean: noise.sample(jax.random.key(0), mean))
    np.testing.assert_array_equal(slope(jnp.array([1.0, 2.0, 3.0])), np.eye(3))


def test_log_density_has_the_slopes_of_a_gaussian(x64):
    noise = GaussianNoise.of(jnp.asarray(FULL))
    x, mean = jnp.array([1.0, 0.0, 2.0]), jnp.array([0.5, -1.0, 1.0])
    slope = jax.grad(noise.log_prob)(x, mean)
    np.testing.assert_allclose(slope, -np.linalg.solve(FULL, x - mean), rtol=1e-12)


# Transition and observation -----------------------------------------------------------


def test_transition_density_is_about_the_library_mean(x64):
    # Eq. (6) and (7) written out.
    library = gg.Polynomial(2, 2)
    coefficients = np.random.default_rng(0).normal(size=(2, 6))
    transition = Transition(
        MapMean(library, jnp.asarray(coefficients)),
        GaussianNoise.of(jnp.array([0.5, 2.0])),
    )
    x, x_next = np.random.default_rng(1).normal(size=(2, 7, 2))
    a, b = x.T
    terms = np.stack([np.ones(7), a, b, a**2, a * b, b**2])
    expected = [
        normal_log_density(one, mean, np.diag([0.5, 2.0]))
        for one, mean in zip(x_next, (coefficients @ terms).T, strict=True)
    ]
    np.testing.assert_allclose(
        transition.log_prob(jnp.asarray(x_next), jnp.asarray(x)), expected, rtol=1e-12
    )


def test_transition_density_is_zero_outside_the_domain():
    library = gg.Polynomial(1, 1, root=2)
    transition = Transition(
        MapMean(library, jnp.array([[0.0, 1.0, 0.0]])),
        GaussianNoise.of(jnp.ones(1)),
    )
    x = jnp.array([[4.0], [-4.0], [0.0]])
    density = transition.log_prob(jnp.array([[2.0], [2.0], [0.0]]), x)
    peak = -0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(density, [peak, -np.inf, peak], rtol=1e-6)
    # A draw is finite all the same, and so are gradients of what remains.
    assert jnp.isfinite(transition.sample(jax.random.key(0), x)).all()

    def total(x):
        values = transition.log_prob(jnp.zeros((3, 1)), x)
        return jnp.sum(jnp.where(jnp.isfinite(values), values, 0))

    assert jnp.isfinite(jax.jit(jax.grad(total))(x)).all()


@pytest.mark.parametrize("matrix", [None, [[1.0, 0.0]], [[1.0, 2.0], [0.0, 1.0]]])
def test_observations_are_seen_through_the_matrix(matrix, x64):
    H = np.eye(2) if matrix is None else np.array(matrix)
    observation = LinearGaussian(
        GaussianNoise.of(jnp.full(len(H), 0.3)),
        None if matrix is None else jnp.asarray(matrix),
    )
    x, y = np.random.default_rng(0).normal(size=(5, 2)), np.arange(1.0, 1 + len(H))
    expected = [normal_log_density(y, H @ row, 0.3 * np.eye(len(H))) for row in x]
    np.testing.assert_allclose(
        observation.log_prob(jnp.asarray(y), jnp.asarray(x)), expected, rtol=1e-12
    )
    assert observation.sample(jax.random.key(0), jnp.asarray(x)).shape == (5, len(H))


# Simulation ---------------------------------------------------------------------------


def test_a_path_follows_from_its_key():
    model = linear_model()
    one = simulate(jax.random.key(3), model, steps=10)
    same = simulate(jax.random.key(3), model, steps=10)
    other = simulate(jax.random.key(4), model, steps=10)
    np.testing.assert_array_equal(one.states, same.states)
    np.testing.assert_array_equal(one.observations, same.observations)
    assert not np.any(one.states == other.states)
    assert one.states.shape == (11, 2)
    assert one.observations.shape == (10, 2)
    assert one.defined


def test_a_path_starts_where_it_is_told():
    start = jnp.array([5.0, 6.0])
    path = simulate(jax.random.key(0), linear_model(), steps=3, initial=start)
    np.testing.assert_array_equal(path.states[0], start)


def test_a_path_without_noise_is_the_map_iterated():
    quiet = {"state_noise": 1e-12, "observation_noise": 1e-12, "initial_noise": 1e-12}
    path = simulate(jax.random.key(0), linear_model(**quiet), steps=10)
    x, states = np.array([1.0, -1.0]), []
    for _ in range(11):
        states.append(x)
        x = np.array([0.9 * x[0] + 0.2 * x[1], 0.5 + 0.7 * x[1]])
    np.testing.assert_allclose(path.states, states, atol=1e-4)
    np.testing.assert_allclose(path.observations, states[1:], atol=1e-4)


@pytest.mark.parametrize("observation", [None, [[1.0, 1.0]]])
def test_moments_of_a_linear_model(observation):
    # 5 standard errors over 20 000 paths. With 100 other seeds: 100 passes of each.
    n, steps = 20_000, 6
    model = linear_model(
        initial_noise=[[0.5, 0.2], [0.2, 0.4]], observation=observation
    )
    keys = jax.random.split(jax.random.key(0), n)
    paths = jax.jit(jax.vmap(lambda key: gg.simulate(key, model, steps=steps)))(keys)

    F, c = np.array([[0.9, 0.2], [0.0, 0.7]]), np.array([0.0, 0.5])
    mean, cov = np.array([1.0, -1.0]), np.array([[0.5, 0.2], [0.2, 0.4]])
    for _ in range(steps):
        mean, cov = F @ mean + c, F @ cov @ F.T + np.diag([0.1, 0.3])
    H = np.eye(2) if observation is None else np.array(observation)
    seen = H @ cov @ H.T + 0.2 * np.eye(len(H))
    for sample, m, P in (
        (paths.states[:, -1], mean, cov),
        (paths.observations[:, -1], H @ mean, seen),
    ):
        variances = np.diag(P)
        assert np.all(np.abs(sample.mean(axis=0) - m) <= 5 * np.sqrt(variances / n))
        error = np.sqrt((np.outer(variances, variances) + P**2) / n)
        assert np.all(np.abs(np.cov(sample, rowvar=False) - P) <= 5 * error)


def test_simulation_jits_and_batches_as_it_runs():
    model = linear_model()
    keys = jax.random.split(jax.random.key(0), 2)
    together = jax.jit(jax.vmap(lambda key: gg.simulate(key, model, steps=5)))(keys)
    for i, key in enumerate(keys):
        alone = gg.simulate(key, model, steps=5)
        np.testing.assert_allclose(together.states[i], alone.states, atol=1e-5)
        np.testing.assert_allclose(
            together.observations[i], alone.observations, atol=1e-5
        )


def test_precision_follows_the_model(x64):
    path = simulate(jax.random.key(0), linear_model(), steps=10)
    assert path.states.dtype == path.observations.dtype == jnp.float64
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), linear_model())
    path = simulate(jax.random.key(0), single, steps=10)
    assert path.states.dtype == path.observations.dtype == jnp.float32


def test_precision_is_single_unless_jax_is_set_otherwise():
    assert linear_model().coefficients.dtype == jnp.float32


def test_a_path_that_leaves_the_domain_says_so():
    library = gg.Polynomial(1, 1, root=2)
    settings: dict[str, Any] = {
        "state_noise": 1e-6,
        "observation_noise": 1.0,
        "initial_noise": 1e-6,
    }
    for initial, stays in ((4.0, True), (-4.0, False)):
        model = gg.state_space_model(
            library, [[0.0, 1.0, 0.0]], initial_mean=[initial], **settings
        )
        path = simulate(jax.random.key(0), model, steps=3)
        assert bool(path.defined) is stays
        assert jnp.isfinite(path.states).all()


def test_a_path_moves_smoothly_with_the_coefficients(x64):
    # Sec. IV-A: with the key fixed, a path is differentiable in C.
    model = linear_model()

    def last(coefficients):
        path = simulate(
            jax.random.key(0), model.with_coefficients(coefficients), steps=5
        )
        return path.states[-1, 0]

    C = model.coefficients
    slope, step, value = jax.jit(jax.grad(last))(C), 1e-6, jax.jit(last)
    for place in np.ndindex(C.shape):
        rise = value(C.at[place].add(step)) - value(C.at[place].add(-step))
        np.testing.assert_allclose(slope[place], rise / (2 * step), atol=1e-7)


# The model as a value -----------------------------------------------------------------


def test_other_coefficients_leave_the_rest_alone():
    model = linear_model()
    other = model.with_coefficients(jnp.ones((2, 3)))
    np.testing.assert_array_equal(other.coefficients, np.ones((2, 3)))
    assert other.library == model.library
    assert other.n_states == 2
    np.testing.assert_array_equal(other.initial_mean, model.initial_mean)


class Halving(AbstractMean):
    def __call__(self, x):
        return x / 2

    def defined(self, x):
        return jnp.ones(x.shape[:-1], dtype=bool)


def test_any_mean_map_can_be_simulated_but_has_no_coefficients():
    model = linear_model(state_noise=1e-12).with_mean(Halving())
    path = simulate(jax.random.key(0), model, steps=3, initial=jnp.array([8.0, 16.0]))
    np.testing.assert_allclose(path.states[-1], [1, 2], rtol=1e-4)
    with pytest.raises(ValueError, match=r"library of terms .* got Halving"):
        _ = model.coefficients


@pytest.mark.parametrize(
    ("given", "matrix"),
    [(0.5, np.eye(2) / 2), ([1, 2], np.diag([1, 2])), ([[2, 1], [1, 2]], None)],
    ids=["number", "variances", "matrix"],
)
@pytest.mark.parametrize("which", ["state_noise", "observation_noise", "initial_noise"])
def test_three_ways_to_give_a_covariance(which, given, matrix):
    model = linear_model(**{which: given})
    noise = {
        "state_noise": model.transition.noise,
        "observation_noise": model.observation.noise,
        "initial_noise": model.initial_noise,
    }[which]
    expected = np.array(given) if matrix is None else matrix
    np.testing.assert_allclose(noise.covariance, expected, rtol=1e-6)
    assert noise.diagonal is (matrix is not None)


def test_what_is_not_given():
    model: Any = gg.state_space_model(
        gg.Polynomial(2, 1), state_noise=1.0, observation_noise=1.0
    )
    np.testing.assert_array_equal(model.coefficients, np.zeros((2, 3)))
    np.testing.assert_array_equal(model.initial_mean, np.zeros(2))
    np.testing.assert_array_equal(model.initial_noise.covariance, np.eye(2))
    assert model.observation.matrix is None


# Bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["state_noise", "observation_noise", "initial_noise"])
@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (0.0, "positive definite, got a variance of 0.0"),
        ([1.0, -2.0], "positive definite, got a variance of -2.0"),
        ([1.0, np.nan], r"finite, got nan at index \(1,\)"),
        (np.inf, "finite, got inf"),
        (np.nan, "finite, got nan"),
        ([1.0, 1.0, 1.0], r"shape \(2,\), got \(3,\)"),
        (np.eye(3), r"shape \(2, 2\), got \(3, 3\)"),
        (np.ones((2, 2, 2)), r"shape \(2, 2\), got \(2, 2, 2\)"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite, got .* eigenvalue is -1"),
        ([[1.0, 0.5], [0.0, 1.0]], "symmetric .* differs from its transpose"),
        ("loud", "numbers: could not convert"),
    ],
)
def test_bad_covariances_are_named(which, value, rule):
    with pytest.raises(ValueError, match=f"`{which}` must (be|have|hold) .*{rule}"):
        linear_model(**{which: value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"coefficients": np.zeros((2, 4))},
            r"`coefficients` must have shape \(2, 3\), got \(2, 4\). .* 3 terms of 2",
        ),
        ({"coefficients": np.zeros(3)}, r"`coefficients` must have shape \(2, 3\)"),
        (
            {"coefficients": [[0, 0, 0], [0, np.nan, 0]]},
            r"`coefficients` must be finite, got nan at index \(1, 1\)",
        ),
        ({"coefficients": [[1, 2], [3]]}, "`coefficients` must hold numbers"),
        ({"initial_mean": [1.0]}, r"`initial_mean` must have shape \(2,\), got \(1,\)"),
        ({"initial_mean": 1.0}, r"`initial_mean` must have shape \(2,\), got \(\)"),
        ({"initial_mean": [1.0, np.inf]}, "`initial_mean` must be finite, got inf"),
        (
            {"observation": np.ones((1, 3))},
            r"`observation` must have shape \(1, 2\), got \(1, 3\)",
        ),
        ({"observation": [1.0, 0.0]}, "`observation` must have shape"),
        ({"observation": 1.0}, "`observation` must have shape"),
        ({"observation": np.zeros((0, 2))}, r"shape \(1, 2\), got \(0, 2\)"),
        (
            {"observation": [[np.nan, 1.0]]},
            r"`observation` must be finite, got nan at index \(0, 0\)",
        ),
        (
            {"observation": [[1.0, 0.0]], "observation_noise": [1.0, 1.0]},
            r"`observation_noise` must have shape \(1,\), got \(2,\)",
        ),
    ],
)
def test_bad_arguments_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        linear_model(**changes)


@pytest.mark.parametrize("steps", [0, -3, True])
def test_a_path_needs_steps(steps):
    with pytest.raises(ValueError, match=f"`steps` must be .* got {steps}"):
        gg.simulate(jax.random.key(0), linear_model(), steps=steps)
