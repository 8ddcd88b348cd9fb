"""The particle filter and its gradients against exact answers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.engines import (
    PROPOSALS,
    RESAMPLING,
    AbstractProposal,
    AbstractProposalDistribution,
    value_and_gradient,
)
from graphgrad.model import GaussianNoise, Transition
from helpers.oracles import linear_log_likelihood, linear_model

# Compilations, and draws by the thousand.
pytestmark = pytest.mark.slow

RUNS = 400


class _WideDistribution(AbstractProposalDistribution):
    transition: Transition

    def sample(self, key, x, y):
        return self.transition.sample(key, x)

    def log_prob(self, x_next, x, y):
        return self.transition.log_prob(x_next, x)


class Wide(AbstractProposal):
    """A proposal as a user would write it: the transition with more noise."""

    def prepare(self, model):
        assert isinstance(model.transition.noise, GaussianNoise)
        noise = GaussianNoise(1.5 * model.transition.noise.scale)
        return _WideDistribution(Transition(model.transition.mean, noise))


def _estimates(particle_filter, model, ys, form):
    """Likelihood ratios to the exact one, and gradients, over many runs."""

    def one(key):
        return value_and_gradient(
            key,
            model.with_coefficients,
            model.coefficients,
            ys,
            particle_filter=particle_filter,
            form=form,
        )

    values, gradients = jax.jit(jax.vmap(one))(
        jax.random.split(jax.random.key(7), RUNS)
    )
    exact = linear_log_likelihood(model, model.coefficients, ys)
    return np.asarray(jnp.exp(values - exact)), np.asarray(gradients)


def _check_against_kalman(particle_filter, model, form):
    """Likelihood and score over many runs, beside the Kalman filter's.

    Over seeds 0 to 24 in place of 7, with 300 particles, the bounds of five standard
    errors held in all 600 runs of the 24 combinations, and the standard error of the
    score was 2.06 % at the most; hence 400 particles.
    """
    ys = gg.simulate(jax.random.key(3), model, steps=8).observations
    ratios, gradients = _estimates(particle_filter, model, ys, form)
    assert abs(ratios.mean() - 1) < 5 * ratios.std() / np.sqrt(RUNS)

    exact = jax.grad(linear_log_likelihood, argnums=1)(model, model.coefficients, ys)
    exact = np.asarray(exact)
    estimate = (ratios[:, None, None] * gradients).mean(0) / ratios.mean()
    # Delta method for a ratio of means.
    parts = ratios[:, None, None] * (gradients - estimate)
    errors = parts.std(0) / np.sqrt(RUNS) / ratios.mean()
    assert np.linalg.norm(errors) < 0.02 * np.linalg.norm(exact)
    assert (np.abs(estimate - exact) < 5 * errors).all()


@pytest.mark.parametrize("form", ["particles", "score"])
@pytest.mark.parametrize(
    ("resampling", "proposal"),
    [
        *((scheme, "bootstrap") for scheme in RESAMPLING),
        *(("systematic", name) for name in PROPOSALS if name != "bootstrap"),
        ("systematic", "user"),
    ],
)
def test_likelihood_and_score_are_those_of_kalman(resampling, proposal, form, x64):
    particle_filter = gg.ParticleFilter(
        400,
        proposal=Wide() if proposal == "user" else proposal,
        resampling=resampling,
    )
    _check_against_kalman(particle_filter, linear_model(), form)


@pytest.mark.parametrize("form", ["particles", "score"])
def test_likelihood_and_score_with_full_noise_and_one_state_seen(form, x64):
    model = linear_model(full=True, observe=np.array([[1.0, 0.5]]))
    particle_filter = gg.ParticleFilter(
        400, proposal="locally optimal", resampling="systematic", ess_threshold=0.5
    )
    _check_against_kalman(particle_filter, model, form)


@pytest.mark.parametrize("ess_threshold", [1.0, 0.6, 0.0])
@pytest.mark.parametrize("proposal", ["bootstrap", "locally optimal"])
def test_score_form_is_the_derivative_of_the_detached_filter(
    proposal, ess_threshold, x64
):
    model = gg.systems.lorenz63(dt=0.02).model(dynamics="map")
    ys = gg.simulate(jax.random.key(0), model, steps=30).observations
    particle_filter = gg.ParticleFilter(
        50, proposal=proposal, ess_threshold=ess_threshold
    )
    # All parameters at once: coefficients, both noises, the initial state.
    arrays, rest = eqx.partition(model, eqx.is_inexact_array)

    def build(arrays):
        return eqx.combine(arrays, rest)

    def detached(arrays):
        # The proposal is held fixed with the particles: it is no parameter.
        result = particle_filter(
            jax.random.key(1), build(arrays), ys, length=25, detach=True
        )
        return result.log_likelihood

    expected, gradient = jax.value_and_grad(detached)(arrays)
    value, score = value_and_gradient(
        jax.random.key(1),
        build,
        arrays,
        ys,
        particle_filter=particle_filter,
        form="score",
        length=25,
    )
    assert jnp.allclose(value, expected, rtol=1e-12)
    for ours, theirs in zip(
        jax.tree.leaves(score), jax.tree.leaves(gradient), strict=True
    ):
        scale = 1 + jnp.max(jnp.abs(theirs))
        assert jnp.max(jnp.abs(ours - theirs)) < 1e-10 * scale


@pytest.mark.parametrize("proposal", ["bootstrap", "locally optimal"])
def test_gradient_through_particles_matches_finite_differences(proposal, x64):
    """With ancestors and stopped denominators frozen, Alg. 2 is a smooth function."""
    model = gg.systems.lorenz63(dt=0.02).model(dynamics="map")
    ys = gg.simulate(jax.random.key(0), model, steps=6).observations
    particle_filter = gg.ParticleFilter(20, proposal=proposal)
    key = jax.random.key(1)
    frozen = particle_filter(key, model, ys)
    K = 20

    def log_likelihood(coefficients):
        candidate = model.with_coefficients(coefficients)
        pi = particle_filter.proposal.prepare(candidate)
        start_key, loop_key = jax.random.split(key)
        x = candidate.initial_noise.sample(
            start_key, jnp.broadcast_to(model.initial_mean, (K, 3))
        )
        log_w = stopped = jnp.full(K, -jnp.log(K))
        total = 0.0
        keys = jax.random.split(loop_key, (len(ys), 2))
        for t, y in enumerate(ys):
            draw_key = keys[t, 1]
            a = frozen.ancestors[t]
            log_w_tilde = -jnp.log(K) + log_w[a] - stopped[a]
            parents = x[a]
            x = pi.sample(draw_key, parents, y)
            log_nu = (
                log_w_tilde
                + candidate.observation.log_prob(y, x)
                + candidate.transition.log_prob(x, parents)
                - pi.log_prob(x, parents, y)
            )
            increment = jax.nn.logsumexp(log_nu)
            log_w, stopped = log_nu - increment, frozen.log_weights[t]
            total += increment
        return total

    value, gradient = value_and_gradient(
        key,
        model.with_coefficients,
        model.coefficients,
        ys,
        particle_filter=particle_filter,
        form="particles",
    )
    assert jnp.allclose(value, log_likelihood(model.coefficients), rtol=1e-12)
    step = 1e-6
    evaluate = jax.jit(log_likelihood)
    for i, j in [(0, 1), (0, 2), (1, 6), (2, 5), (2, 9)]:
        move = jnp.zeros_like(model.coefficients).at[i, j].set(step)
        slope = (
            evaluate(model.coefficients + move) - evaluate(model.coefficients - move)
        ) / (2 * step)
        assert jnp.allclose(gradient[i, j], slope, rtol=1e-5, atol=1e-5)


def test_padding_changes_nothing(x64):
    model = linear_model()
    ys = gg.simulate(jax.random.key(0), model, steps=20).observations
    particle_filter = gg.ParticleFilter(30)
    key = jax.random.key(1)
    cut = particle_filter(key, model, ys[:12])
    padded = particle_filter(key, model, ys, length=12)
    assert cut.log_likelihood == padded.log_likelihood
    assert (cut.means == padded.means[:12]).all()
    assert (padded.increments[12:] == 0).all()


def test_without_resampling_the_filter_is_importance_sampling(x64):
    model = linear_model()
    ys = gg.simulate(jax.random.key(0), model, steps=5).observations
    result = gg.ParticleFilter(40, ess_threshold=0)(jax.random.key(1), model, ys)
    assert (result.ancestors == jnp.arange(40)).all()
    densities = jax.vmap(model.observation.log_prob)(ys, result.particles).sum(0)
    expected = jax.nn.logsumexp(densities) - jnp.log(40)
    assert jnp.allclose(result.log_likelihood, expected)


def test_weights_and_effective_sizes_are_consistent():
    model = linear_model()
    ys = gg.simulate(jax.random.key(0), model, steps=15).observations
    result = gg.ParticleFilter(64)(jax.random.key(1), model, ys)
    weights = jnp.exp(result.log_weights)
    assert jnp.allclose(weights.sum(1), 1, atol=1e-5)
    assert (result.effective_sizes >= 1).all()
    assert (result.effective_sizes <= 64.01).all()
    assert jnp.allclose(result.log_likelihood, result.increments.sum())


def test_lost_data_gives_minus_infinity_and_no_nan():
    model = linear_model()
    ys = jnp.full((6, 2), 1e25, jnp.float32)
    result = gg.ParticleFilter(20)(jax.random.key(0), model, ys)
    assert result.log_likelihood == -jnp.inf
    assert not jnp.isnan(result.log_weights).any()


def test_particles_outside_the_domain_get_no_weight():
    library = gg.Polynomial(1, 1, root=2)
    model = gg.state_space_model(
        library,
        [[0.0, 0.1, 0.8]],
        state_noise=0.05,
        observation_noise=0.05,
        initial_mean=[0.3],
        initial_noise=0.05,
    )
    ys = jnp.full((5, 1), 0.3)
    result = gg.ParticleFilter(500)(jax.random.key(0), model, ys)
    assert jnp.isfinite(result.log_likelihood)
    before = jnp.concatenate([result.initial_particles[None], result.particles[:-1]])
    parents = jnp.take_along_axis(before, result.ancestors[..., None], axis=1)[..., 0]
    assert (parents < 0).any()
    assert (result.log_weights[parents < 0] == -jnp.inf).all()
    for form in ("particles", "score"):
        _, gradient = value_and_gradient(
            jax.random.key(0),
            model.with_coefficients,
            model.coefficients,
            ys,
            particle_filter=gg.ParticleFilter(500),
            form=form,
        )
        assert jnp.isfinite(gradient).all()


@pytest.mark.parametrize("x64_on", [False, True])
def test_precision_follows_the_model_and_series_vmap(x64_on):
    with jax.enable_x64(x64_on):
        model = linear_model()
        expected = jnp.float64 if x64_on else jnp.float32
        keys = jax.random.split(jax.random.key(0), 3)
        ys = jax.vmap(lambda key: gg.simulate(key, model, steps=7).observations)(keys)
        run = jax.jit(jax.vmap(lambda k, y: gg.ParticleFilter(16)(k, model, y)))
        result = run(keys, ys)
        assert result.log_likelihood.dtype == result.particles.dtype == expected
        alone = gg.ParticleFilter(16)(keys[1], model, ys[1])
        assert jnp.allclose(result.log_likelihood[1], alone.log_likelihood, rtol=1e-5)


def test_memory_of_a_score_gradient_is_small(x64):
    """As the compiler reports it, at K = T = 1000 in double precision."""
    model = gg.systems.lorenz63(dt=0.02).model(dynamics="map")
    ys = jnp.zeros((1000, 3))

    def score(key, coefficients, ys):
        return value_and_gradient(
            key,
            model.with_coefficients,
            coefficients,
            ys,
            particle_filter=gg.ParticleFilter(1000, resampling="systematic"),
            form="score",
        )

    compiled = jax.jit(score).lower(jax.random.key(0), model.coefficients, ys).compile()
    analysis = compiled.memory_analysis()
    assert analysis is not None
    assert analysis.temp_size_in_bytes < 120e6


def test_bad_series_are_named():
    model = linear_model()
    for ys, message in [
        (np.array([[1.0, np.inf]]), r"`ys` must be finite, got inf at index \(0, 1\)"),
        (np.zeros((4, 3)), r"`ys` must have shape \(4, 2\), got \(4, 3\)"),
        (np.zeros((0, 2)), "`ys` must have at least 1 rows, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            gg.ParticleFilter()(jax.random.key(0), model, ys)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_particles": 1}, "`num_particles` must be a whole number of at least 2"),
        ({"proposal": "magic"}, "`proposal` must be one of 'bootstrap'"),
        ({"resampling": "none"}, "`resampling` must be one of 'multinomial'"),
        ({"ess_threshold": 2.0}, "`ess_threshold` must be between 0 and 1, got 2.0"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        gg.ParticleFilter(**options)
