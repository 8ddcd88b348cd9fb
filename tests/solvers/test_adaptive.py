"""The adaptive solver as a whole: what it finds, and what it says about it.

Nearly all of the time is compilation, so the tests share a few fits.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.engines.information import information
from graphgrad.model import GaussianNoise

KEY = jax.random.key(1)
SYSTEM = gg.systems.lorenz63(dt=0.02)
TRUTH = SYSTEM.coefficients(dynamics="map")
STEP_NOISE = SYSTEM.dt * SYSTEM.state_noise
LEAVES = ("coefficients", "standard_errors", "log_likelihood", "states", "path")


@functools.cache
def lorenz(steps=100):
    """The same draw in any precision."""
    with jax.enable_x64(True):
        return jax.tree.map(
            np.asarray, SYSTEM.simulate(jax.random.key(0), steps=steps, scheme="euler")
        )


def jit(function):
    """Compiled for quick compilation, and without threads that might hang."""
    options = {"xla_backend_optimization_level": 0, "xla_cpu_multi_thread_eigen": False}
    return jax.jit(function, compiler_options=options)


def fit(ys, model, **options):
    return gg.adaptive(KEY, ys, model, **options)


def right(solution):
    return (solution.support() == (TRUTH != 0)).all()


def assert_same(one, other):
    for name in LEAVES:
        assert (getattr(one, name) == getattr(other, name)).all(), name


@pytest.fixture(scope="module")
def double():
    """The fit of Lorenz 63 in double precision, left to NumPy."""
    with jax.enable_x64(True):
        solution = fit(lorenz().observations, SYSTEM.model(dynamics="map"))
        return jax.tree.map(np.asarray, solution)


@pytest.fixture(scope="module")
def single():
    """The same in the precision that JAX has by default, as people call it."""
    return gg.adaptive(KEY, lorenz().observations, SYSTEM.model(dynamics="map"))


# Of one fit.


@pytest.mark.slow
def test_lorenz_is_found(double):
    assert right(double)
    assert double.outcome is gg.Outcome.converged
    assert double.advice == gg.Outcome.converged.advice
    assert double.engine.startswith("gaussian: ")
    assert double.coefficients.dtype == jnp.float64
    assert (double.coefficients[~double.support()] == 0).all()
    assert double.margin > 2
    # Given noises are left as they are.
    np.testing.assert_allclose(double.state_noise, STEP_NOISE)
    np.testing.assert_allclose(double.observation_noise, SYSTEM.observation_noise)


@pytest.mark.slow
def test_coefficients_are_within_their_errors(double):
    errors = np.asarray(double.standard_errors)
    support = double.support()
    assert (errors[support] > 0).all()
    assert (errors[~support] == 0).all()
    z = (np.asarray(double.coefficients) - TRUTH)[support] / errors[support]
    assert (np.abs(z) < 4).all()
    # Neither are the errors so large that this says nothing.
    assert (errors[support] < 0.5 * np.abs(TRUTH[support])).all()


@pytest.mark.slow
def test_smoothed_states_are_closer_than_the_data(double):
    data = lorenz()
    states = np.asarray(data.states)
    smoothed = np.asarray(double.states)
    assert smoothed.shape == states.shape

    def miss(guess):
        return np.mean((guess - states[1:]) ** 2)

    assert miss(smoothed[1:]) < miss(np.asarray(double.filtered))
    assert miss(smoothed[1:]) < 0.5 * miss(np.asarray(data.observations))
    # The covariances know how close: squared errors in their unit are about one.
    gaps = smoothed - states
    weigh = np.linalg.inv(np.asarray(double.state_covariances))
    assert 0.4 < np.mean(np.einsum("ti,tij,tj->t", gaps, weigh, gaps)) / 3 < 2


@pytest.mark.slow
def test_path_shows_how_terms_enter(double):
    counts = np.count_nonzero(double.path, axis=(1, 2))
    assert (np.diff(double.prices) < 0).all()
    assert counts[0] < counts[-1]
    # At the price of the criterion, the path has the solution on it.
    at = np.isclose(double.prices, np.log(300) + 2 * np.log(30))
    assert at.sum() == 1
    found = double.path[int(np.argmax(at))]
    np.testing.assert_allclose(found, double.coefficients, rtol=1e-2)


@pytest.mark.slow
def test_criterion_is_the_extended_bic_by_degree(double):
    degrees = np.repeat([0, 1, 2], [1, 3, 6])
    numbers = np.repeat([3, 9 - 3, 18], [1, 3, 6])  # each degree, but own states
    price = np.log(300) + 2 * np.log(numbers) + 4 * degrees * np.log(2)
    price = np.where(np.eye(3, 10, k=1) == 1, np.log(300), price)  # own states
    penalties = np.where(double.support(), price, 0).sum()
    expected = -2 * double.log_likelihood + penalties
    np.testing.assert_allclose(double.criterion, expected)
    assert double.criterion == double.start_criteria.min()
    with jax.enable_x64(True):
        C, states = jnp.asarray(double.coefficients), jnp.asarray(double.states)
        model = SYSTEM.model(dynamics="map").with_coefficients(C)
        sweep = jit(gg.GaussianSmoother().sweep)
        again = sweep(KEY, model, jnp.asarray(lorenz().observations), states)
    np.testing.assert_allclose(again.log_likelihood, double.log_likelihood, atol=0.01)


@pytest.mark.slow
def test_solution_is_at_the_top_of_the_likelihood(double, x64):
    """The rise that Newton's step on the support promises is tiny."""
    ys, model = jnp.asarray(lorenz().observations), SYSTEM.model(dynamics="map")
    engine = gg.GaussianSmoother(iterations=3)

    @jit
    def slope(C):
        def value(C):
            return engine.sweep(KEY, model.with_coefficients(C), ys).log_likelihood

        return jax.grad(value)(C)

    C, states = jnp.asarray(double.coefficients), jnp.asarray(double.states)
    active = jnp.asarray(np.tile(np.arange(C.shape[1]), (3, 1)))
    known = jit(information)(model.with_coefficients(C), ys, states, active)
    used = double.support().ravel()
    weigh = np.linalg.inv(np.asarray(known.coefficients)[np.ix_(used, used)])

    def promise(C):
        gradient = np.asarray(slope(C)).ravel()[used]
        return gradient @ weigh @ gradient

    assert promise(C) < 0.1
    # It is not so everywhere, not even at the truth.
    assert promise(jnp.asarray(TRUTH)) > 1
    np.testing.assert_allclose(
        np.asarray(double.standard_errors).ravel()[used],
        np.sqrt(np.diag(weigh)),
        rtol=1e-6,
    )


# Precision, keys, callbacks.


@pytest.mark.slow
def test_single_precision_finds_the_same(single, double):
    assert single.coefficients.dtype == jnp.float32
    assert single.outcome is gg.Outcome.converged
    assert (single.support() == double.support()).all()
    away = np.asarray(single.coefficients) - np.asarray(double.coefficients)
    errors = np.asarray(double.standard_errors)
    assert (np.abs(away) <= 0.5 * errors).all()


@pytest.mark.slow
def test_keys_and_callbacks_do_not_matter(single):
    """Same key, another key (the engine draws nothing), somebody watching."""
    ys, model = lorenz().observations, SYSTEM.model(dynamics="map")
    assert_same(single, gg.adaptive(KEY, ys, model))
    assert_same(single, gg.adaptive(jax.random.key(99), ys, model))
    told = []
    assert_same(single, gg.adaptive(KEY, ys, model, callback=told.append))
    stages = [progress.stage for progress in told]
    assert set(stages) == {"anneal", "refine"}
    assert (stages[0], stages[-1]) == ("anneal", "refine")
    for progress in told:
        assert 0 < progress.sweeps <= progress.most
    assert told[0].sweeps == 10
    assert told[-1].n_nonzero == single.support().sum()
    # But for the last start, which is made of the others.
    np.testing.assert_allclose(
        told[-1].log_likelihood, single.log_likelihood, atol=0.05
    )


@pytest.mark.slow
def test_observations_may_be_of_any_kind(single):
    ys = np.asarray(lorenz().observations).tolist()
    assert_same(single, gg.adaptive(KEY, ys, SYSTEM.model(dynamics="map")))


@pytest.mark.slow
def test_dearer_terms_are_fewer(single):
    ys, model = lorenz().observations, SYSTEM.model(dynamics="map")
    counts = []
    for weight in (0.3, 1.0, 3.0, 30.0):
        solution = gg.adaptive(KEY, ys, model, weight=weight)
        counts.append(int(solution.support().sum()))
        np.testing.assert_allclose(solution.prices, weight * single.prices, rtol=1e-5)
    assert counts == sorted(counts, reverse=True)
    assert counts[1] == single.support().sum()
    none = gg.adaptive(KEY, ys, model, weight=1e6)
    assert none.outcome is gg.Outcome.nothing_left
    assert not none.support().any()
    assert "Lower the penalty" in none.advice


@pytest.mark.slow
def test_differences_are_departures_from_the_identity(single):
    ys, model = lorenz().observations, SYSTEM.model(dynamics="difference")
    solution = gg.adaptive(KEY, ys, model)
    truth = SYSTEM.coefficients(dynamics="difference")
    np.testing.assert_allclose(truth, TRUTH - np.eye(*TRUTH.shape, k=1), atol=1e-15)
    assert not solution.base.any()
    A, errors = np.asarray(solution.coefficients), np.asarray(solution.standard_errors)
    assert (A[~solution.support()] == 0).all()
    assert ((errors > 0) == solution.support()).all()
    # The right model has as many terms in both. Whatever is found instead (x2 x3 is all
    # but x2 in so short a series) must explain the data at least as well.
    assert (truth != 0).sum() == (TRUTH != 0).sum()
    assert right(single)
    assert solution.criterion < single.criterion + 0.1
    assert solution.support()[np.abs(truth) > 0.03].all()
    # A map can be looked for as a difference without another model.
    again = gg.adaptive(KEY, ys, SYSTEM.model(dynamics="map"), dynamics="difference")
    assert_same(solution, again)


@pytest.mark.slow
def test_cut_short_it_says_so():
    """One sweep cannot both climb and see that no change pays."""
    ys, model = lorenz().observations, SYSTEM.model(dynamics="map")
    short = gg.AdaptiveSteps(2, ramp=1, sweeps=1)
    solution = fit(ys, model, settings=short)
    assert solution.outcome in (
        gg.Outcome.out_of_sweeps,
        gg.Outcome.degenerate_likelihood,
    )
    assert (solution.sweeps <= 1).all()


# Noises.


@pytest.mark.slow
def test_state_noise_is_learnt(x64):
    ys, model = lorenz().observations, SYSTEM.model(dynamics="map")
    large = GaussianNoise.of(jnp.asarray(9 * STEP_NOISE))
    wrong = eqx.tree_at(lambda m: m.transition.noise, model, large)
    solution = fit(ys, wrong, learn=("state_noise",))
    assert right(solution)
    ratio = np.asarray(solution.state_noise) / STEP_NOISE
    assert (ratio < 3).all()
    assert (ratio > 1 / 3).all()
    np.testing.assert_allclose(solution.observation_noise, SYSTEM.observation_noise)
    np.testing.assert_allclose(solution.initial_mean, model.initial_mean)


@pytest.mark.slow
def test_all_noises_are_learnt(x64):
    data = lorenz(200)
    learn = ("state_noise", "observation_noise", "initial")
    solution = fit(data.observations, SYSTEM.model(dynamics="map"), learn=learn)
    assert right(solution)
    assert solution.outcome is gg.Outcome.converged
    ratio = np.asarray(solution.observation_noise) / SYSTEM.observation_noise
    assert (np.abs(ratio - 1) < 0.4).all()
    assert (solution.state_noise > 0).all()
    away = np.asarray(solution.initial_mean - data.states[0])
    assert (np.abs(away) < 3 * np.sqrt(SYSTEM.observation_noise)).all()
    assert (solution.initial_noise < 1).all()
    assert (solution.initial_noise >= 0.5 * solution.state_noise).all()


# Another engine, of a linear model.


@pytest.mark.slow
def test_particles_find_what_gaussians_do():
    model = gg.systems.damped_oscillator().model(dynamics="map")
    ys = gg.simulate(jax.random.key(5), model, steps=60).observations
    engine = gg.ParticleSmoother(100, smoothing="backward")
    gaussian = gg.adaptive(KEY, ys, model)
    few = gg.AdaptiveSteps(40, rounds=1, sweeps=60)
    particle = fit(ys, model, engine=engine, settings=few)
    assert particle.engine == "ParticleSmoother: as asked for"
    assert (gaussian.support() == (model.coefficients != 0)).all()
    assert (particle.support() == gaussian.support()).all()
    used = gaussian.support()
    away = np.abs(particle.coefficients - gaussian.coefficients)[used]
    assert (away < 2 * gaussian.standard_errors[used]).all()


# At the door.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"learn": ("coefficients",)},
            "`learn` must be one of 'state_noise', 'observation_noise', 'initial', "
            "got 'coefficients'",
        ),
        ({"form": "rate"}, "`form` must be left out, got 'rate'. Use `dynamics`"),
        ({"dynamics": "ode"}, "`dynamics` must be one of 'auto', 'flow', .* got 'ode'"),
        ({"dynamics": "flow"}, "`dynamics` must be .*'flow'"),
        ({"engine": "kalman"}, "`engine` must be one of 'auto', .* got 'kalman'"),
        ({"weight": -1.0}, "`weight` must be a positive finite number, got -1.0. 1 is"),
        ({"weight": np.nan}, "`weight` must be a positive finite number, got nan"),
        ({"ys": np.zeros((2, 3))}, "`ys` must have at least 3 rows, got 2"),
        ({"ys": np.zeros((9, 2))}, r"`ys` must have shape \(9, 3\), got \(9, 2\)"),
        ({"ys": np.full((9, 3), np.inf)}, r"`ys` must be finite, got inf at index"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    ys = options.pop("ys", np.zeros((9, 3)))
    with pytest.raises(ValueError, match=message):
        gg.adaptive(KEY, ys, SYSTEM.model(dynamics="map"), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anneal": 0}, "`anneal` must be a whole number of at least 1, got 0"),
        ({"ramp": 0}, "`ramp` must be a whole number of at least 1, got 0"),
        ({"sweeps": 0}, "`sweeps` must be a whole number of at least 1, got 0"),
        ({"climb": 3}, "`climb` must be a whole number of at least 4, got 3"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        gg.AdaptiveSteps(**options)


def test_a_model_of_another_precision_is_refused():
    model = gg.systems.lotka_volterra().model(dynamics="map")
    with (
        jax.enable_x64(True),
        pytest.raises(ValueError, match="JAX is set to, float64, got float32"),
    ):
        gg.adaptive(jax.random.key(0), np.zeros((9, 2)), model)
