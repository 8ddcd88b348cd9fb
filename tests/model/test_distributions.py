"""Non-Gaussian distributions: densities, draws, and local Gaussian approximations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import graphgrad as gg
from graphgrad.engines import Linearised
from graphgrad.model import AbstractScaleNoise, GaussianNoise
from helpers.oracles import Laplace, linear_model

KEY = jax.random.key(0)
MEAN = np.array([0.5, 3.0, 7.5])
COUNTS = np.array([0.0, 2.0, 9.0])

DISTRIBUTIONS = {
    "student": (gg.StudentT(0.25, df=5), scipy.stats.t(5, MEAN, 0.5)),
    "multiplicative": (
        gg.MultiplicativeNoise(0.04),
        scipy.stats.norm(MEAN, 0.2 * MEAN),
    ),
    "poisson": (gg.Poisson(), scipy.stats.poisson(MEAN)),
    "negative binomial": (
        gg.NegativeBinomial(4.0),
        scipy.stats.nbinom(4.0, 4.0 / (4.0 + MEAN)),
    ),
    "binomial": (gg.Binomial(12), scipy.stats.binom(12, MEAN / 12)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_densities_and_moments_are_those_of_scipy(name):
    distribution, exact = DISTRIBUTIONS[name]
    density = exact.logpmf if hasattr(exact.dist, "pmf") else exact.logpdf
    mean = jnp.asarray(MEAN, jnp.float32)
    ours = distribution.log_density(jnp.asarray(COUNTS, jnp.float32), mean)
    np.testing.assert_allclose(ours, density(COUNTS), rtol=2e-5)
    draws = distribution.sample(KEY, jnp.broadcast_to(mean, (40_000, 3)))
    # Five standard errors.
    near = 5 * exact.std() / 200
    assert (np.abs(np.mean(draws, axis=0) - exact.mean()) < near).all()
    np.testing.assert_allclose(np.std(draws, axis=0), exact.std(), rtol=0.1)


@pytest.mark.parametrize("name", ["student", "multiplicative"])
def test_a_local_gaussian_pulls_as_hard(name):
    distribution, x, mean = (
        DISTRIBUTIONS[name][0],
        jnp.array([0.9, 2.0, 9.0]),
        jnp.asarray(MEAN),
    )
    slope = jax.grad(distribution.log_prob)
    np.testing.assert_allclose(
        slope(x, mean), slope_of(distribution.local(x, mean), x, mean), rtol=1e-5
    )


def slope_of(noise, x, mean):
    return jax.grad(noise.log_prob)(x, mean)


def test_a_density_of_ones_own_is_made_gaussian_by_its_slope():
    distribution = gg.UserDensity(lambda y, mean: -jnp.log(jnp.cosh(y - mean)))
    x, mean = jnp.array([0.9, 2.0, 7.5]), jnp.asarray(MEAN)
    local = distribution.local(x, mean)
    np.testing.assert_allclose(
        jax.grad(distribution.log_prob)(x, mean), slope_of(local, x, mean), atol=1e-5
    )
    # At the peak, its curvature: (log cosh)'' is 1 at 0.
    np.testing.assert_allclose(local.variances[2], 1, rtol=1e-2)


def observed_by(noise, observation=None):
    """A slow linear model of two positive states, observed with a distribution."""
    return gg.state_space_model(
        gg.Polynomial(2, 1),
        [[1.0, 0.8, 0.1], [2.0, -0.1, 0.7]],
        state_noise=0.3,
        observation_noise=noise,
        initial_mean=[5.0, 6.0],
        observation=observation,
    )


SEEN = {
    "student": (gg.StudentT(0.5, df=4), None),
    "poisson": (gg.Poisson(), None),
    "poisson of a function": (gg.Poisson(), lambda x: jnp.exp(x[:1] / 5)),
    "negative binomial": (gg.NegativeBinomial(5.0), None),
    "binomial": (gg.Binomial(20), None),
    "gaussian of a function": (0.2, lambda x: jnp.stack([x[0] * x[1] / 5, x[1]])),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEN)
def test_laplace_and_particles_agree(name, x64):
    """The likelihood by a Gaussian about the path, beside 20 000 particles.

    The keys 0 to 4 of the particles agree within 0.1 with one another.
    """
    noise, function = SEEN[name]
    model = observed_by(noise, function)
    ys = np.array(gg.simulate(jax.random.key(3), model, steps=15).observations)
    ys[4] = np.nan
    ys[9, 0] = np.nan
    engine = gg.GaussianSmoother(iterations=8)
    sweep = jax.jit(engine.sweep)(KEY, model, jnp.asarray(ys))
    particles = gg.ParticleFilter(20_000, resampling="systematic")
    drawn = jax.jit(particles)(KEY, model, jnp.asarray(ys))
    # The curvature of reweighted least squares is not that of heavy tails.
    near = 2.0 if name == "student" else 0.4
    np.testing.assert_allclose(sweep.log_likelihood, drawn.log_likelihood, atol=near)
    assert np.abs(sweep.means()[-1] - drawn.means[-1]).max() < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["student", "poisson of a function"])
def test_the_linearised_proposal_keeps_the_likelihood(name, x64):
    """Unbiased weights whatever the proposal: the same value, by other draws."""
    model = observed_by(*SEEN[name])
    ys = gg.simulate(jax.random.key(3), model, steps=15).observations
    values = [
        jax.jit(gg.ParticleFilter(8000, proposal=proposal))(
            KEY, model, ys
        ).log_likelihood
        for proposal in ("bootstrap", Linearised())
    ]
    np.testing.assert_allclose(*values, atol=0.15)


@pytest.mark.slow
def test_linearised_is_locally_optimal_where_that_exists(x64):
    model = linear_model()
    x = jax.random.normal(KEY, (5, model.n_states))
    y = model.observation.mean(x[0]) + 0.3
    found = [
        gg.engines.PROPOSALS[name]().prepare(model)
        for name in ("linearised", "locally optimal")
    ]
    ours, best = (distribution.log_prob(x + 0.1, x, y) for distribution in found)
    np.testing.assert_allclose(ours, best, rtol=1e-6)


@pytest.mark.slow
def test_heavy_tails_are_smoothed_as_reweighted_least_squares(x64):
    """At the fixed point of the iterations the path is the most likely one."""
    heavy = gg.state_space_model(
        gg.Polynomial(1, 1),
        [[0.0, 0.9]],
        state_noise=gg.StudentT(0.1, df=3),
        observation_noise=gg.StudentT(0.2, df=3),
        initial_mean=[1.0],
    )
    ys = np.array(gg.simulate(jax.random.key(2), heavy, steps=12).observations)
    ys[6] += 10
    sweep = jax.jit(gg.GaussianSmoother().sweep)
    path = jnp.ones((13, 1))
    for _ in range(200):
        path = sweep(KEY, heavy, jnp.asarray(ys), path).path

    def log_density(path):
        first = heavy.initial_noise.log_prob(path[0], heavy.initial_mean)
        moves = jax.vmap(heavy.transition.log_prob)(path[1:], path[:-1])
        seen = jax.vmap(heavy.observation.log_prob)(jnp.asarray(ys), path[1:])
        return first + jnp.sum(moves) + jnp.sum(seen)

    np.testing.assert_allclose(jax.grad(log_density)(path), 0, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observation_noise": gg.Poisson()}, "`ys` must hold counts"),
        ({"observation_noise": gg.Binomial(1)}, "`ys` must be at most `trials`, 1"),
    ],
)
def test_bad_counts_are_named(change, message):
    model = gg.state_space_model(gg.Polynomial(2, 1), state_noise=1.0, **change)
    ys = np.full((10, 2), 2.0)
    if "Poisson" in str(change):
        ys[3, 1] = -1
    with pytest.raises(ValueError, match=message):
        gg.adaptive(KEY, ys, model)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gg.StudentT(-1.0), "`variance` must be positive"),
        (lambda: gg.StudentT(1.0, df=0), "`df` must be a positive finite number"),
        (lambda: gg.NegativeBinomial(0), "`size` must be a positive finite number"),
        (lambda: gg.MultiplicativeNoise([[1.0]]), "`variance` must be positive"),
        (lambda: observed_by(gg.StudentT([1.0, 2.0, 3.0])), "`observation_noise` must"),
        (
            lambda: observed_by(Laplace(jnp.ones(2))),
            "a distribution of independent entries",
        ),
        (lambda: observed_by(1.0, ["x1", "x4"]), "`observation` must be one of 'x1'"),
        (
            lambda: gg.adaptive(
                KEY,
                np.ones((9, 2)),
                observed_by(gg.Poisson()),
                learn=("observation_noise",),
            ),
            "`learn` must leave out 'observation_noise'",
        ),
        (
            lambda: gg.EnsembleSmoother().sweep(
                KEY, observed_by(gg.Poisson()), jnp.ones((9, 2))
            ),
            "the ensemble engine needs a LinearGaussian observation",
        ),
    ],
)
def test_bad_distributions_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_seen_states_are_named():
    model = observed_by(0.1, ["x2"])
    assert model.observation.mean(jnp.array([1.0, 2.0])).tolist() == [2.0]


def test_any_noise_can_be_scaled():
    """A noise of the user's gets a scale: deviations and density follow it."""
    model = gg.state_space_model(
        gg.Polynomial(2, 1),
        state_noise=Laplace(jnp.full(2, 0.4)),
        observation_noise=1.0,
    )
    noise = model.transition.noise
    assert isinstance(noise, AbstractScaleNoise)
    wide = noise.with_variances(jnp.full(2, 4.0))
    mean = jnp.ones(2)
    np.testing.assert_allclose(
        wide.sample(KEY, mean) - mean, 2 * (noise.sample(KEY, mean) - mean), rtol=1e-5
    )
    x = jnp.array([1.5, 0.0])
    same = Laplace(jnp.full(2, 0.8)).log_prob(x, mean)
    np.testing.assert_allclose(wide.log_prob(x, mean), same, rtol=1e-5)
    assert isinstance(noise.local(x, mean), GaussianNoise)
    assert isinstance(eqx.filter(noise, eqx.is_array).scale, jax.Array)
