"""The paper's solvers: mechanics, outcomes, recovery where it can be had."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import graphgrad as gg
from graphgrad.metrics import support_scores
from graphgrad.solvers import SOLVERS
from graphgrad.solvers.paper.batching import padded_lengths
from graphgrad.solvers.paper.outcome import relative_error
from helpers.oracles import linear_model

QUICK = gg.GradientSteps(20, particle_filter=gg.ParticleFilter(20))


def linear_data(steps=20, seed=0):
    model = linear_model()
    return model, gg.simulate(jax.random.key(seed), model, steps=steps).observations


# Those that are there under two names once.
NAMES = {solve: name for name, solve in SOLVERS.items()}.values()


@pytest.mark.parametrize("name", NAMES)
def test_every_solver_keeps_the_contract(name):
    model, ys = linear_data(steps=10)
    solve = SOLVERS[name]
    seen = []
    options = {"settings": QUICK, "callback": seen.append}
    solution = solve(jax.random.key(1), ys, model, gg.L1(0.1), **options)
    again = solve(jax.random.key(1), ys, model, gg.L1(0.1), **options)
    assert isinstance(solution, gg.PaperSolution)
    assert solution.coefficients.shape == model.coefficients.shape
    assert jnp.isfinite(solution.coefficients).all()
    assert (solution.coefficients == again.coefficients).all()
    assert isinstance(solution.outcome, gg.Outcome)
    assert len(solution.advice) > 20
    assert seen[0].batch == 1
    with pytest.raises(ValueError, match="`ys` must be finite"):
        solve(jax.random.key(1), np.full((9, 2), np.inf), model, gg.L1(0.1))
    start = np.zeros((2, 3))
    solution = solve(
        jax.random.key(1), ys, model, gg.L1(0.1), start=start, settings=QUICK
    )
    assert (solution.start == start).all()


def test_batches_are_those_of_algorithm_5():
    assert gg.Telescoping().lengths(100) == tuple(range(10, 101, 10))
    assert gg.Telescoping().lengths(25) == (9, 17, 25)  # ceil(b T / B), B = 3
    assert gg.FixedNumber(3).lengths(3000) == (1000, 2000, 3000)
    assert gg.FixedNumber(9).lengths(4) == (1, 2, 3, 4)
    assert gg.FirstThenAll(10).lengths(7) == (7,)


@pytest.mark.parametrize("T", [25, 50, 200, 1003])
def test_padded_lengths_are_few_and_long_enough(T):
    lengths = gg.Telescoping().lengths(T)
    padded = padded_lengths(lengths)
    assert len(set(padded)) <= 5
    assert all(long - short >= 0 for long, short in zip(padded, lengths, strict=True))
    assert padded[-1] == T


@pytest.mark.slow
def test_same_key_same_result_and_a_watched_fit_is_the_same_fit():
    model, ys = linear_data()
    seen = []
    first = gg.b_graphgrad(jax.random.key(1), ys, model, gg.L1(0.1), settings=QUICK)
    again = gg.b_graphgrad(
        jax.random.key(1), ys, model, gg.L1(0.1), settings=QUICK, callback=seen.append
    )
    other = gg.b_graphgrad(jax.random.key(2), ys, model, gg.L1(0.1), settings=QUICK)
    assert jnp.allclose(first.coefficients, again.coefficients, atol=1e-5)
    assert not jnp.allclose(first.coefficients, other.coefficients, atol=1e-5)
    assert [progress.length for progress in seen] == [10, 20]
    assert seen[-1].batches == 2


@pytest.mark.slow
def test_starts_are_uniform_and_all_batches_are_recorded():
    model, ys = linear_data()
    solution = gg.b_graphgrad(jax.random.key(1), ys, model, gg.L1(0.1), settings=QUICK)
    assert (jnp.abs(solution.start) < 1).all()
    assert sum(len(values) for values in solution.log_likelihoods) == 2
    assert (solution.path[-1][-1] == solution.coefficients).all()


@pytest.mark.slow
def test_one_step_is_gradient_then_prox(x64):
    """Alg. 4, lines 4 to 7, with plain gradient descent done by hand."""
    model, ys = linear_data(steps=10)
    settings = gg.GradientSteps(
        1, optimiser=optax.sgd, learning_rate=1e-3, gradient="score"
    )
    start = jnp.full((2, 3), 0.3)
    key = jax.random.key(1)
    solution = gg.s_graphgrad(
        key, ys, model, gg.L1(50.0), start=start, settings=settings
    )
    _, gradient = gg.value_and_gradient(
        jax.random.fold_in(jax.random.fold_in(key, 0), 0),
        model.with_coefficients,
        start,
        ys,
        particle_filter=settings.particle_filter,
        form="score",
    )
    moved = start + 1e-3 * gradient
    expected = jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - 0.05, 0)
    assert jnp.allclose(solution.coefficients, expected)


@pytest.mark.slow
def test_subgradient_variant_has_no_exact_zeros_where_prox_has(x64):
    model, ys = linear_data()
    fits = {
        update: gg.s_graphgrad(
            jax.random.key(0),
            ys,
            model,
            gg.L1(300.0),
            settings=gg.GradientSteps(
                300,
                learning_rate=1e-2,
                update=update,
                particle_filter=gg.ParticleFilter(20),
            ),
        )
        for update in ("prox", "subgradient")
    }
    assert (fits["prox"].coefficients == 0).any()
    assert not (fits["subgradient"].coefficients == 0).any()


def test_subgradient_of_other_penalties_is_refused():
    model, ys = linear_data()
    settings = gg.GradientSteps(2, update="subgradient")
    with pytest.raises(ValueError, match=r"`penalty` must have a subgradient.*Nuclear"):
        gg.s_graphgrad(jax.random.key(0), ys, model, gg.Nuclear(1.0), settings=settings)


@pytest.mark.slow
def test_too_large_a_penalty_is_an_outcome():
    model, ys = linear_data()
    solution = gg.s_graphgrad(jax.random.key(0), ys, model, gg.L1(1e6), settings=QUICK)
    assert solution.outcome is gg.Outcome.nothing_left
    assert "Lower the penalty" in solution.advice


@pytest.mark.slow
def test_a_likelihood_of_zero_is_an_outcome():
    model, ys = linear_data()
    solution = gg.s_graphgrad(
        jax.random.key(0), ys * 1e30, model, gg.L1(1.0), settings=QUICK
    )
    assert solution.outcome is gg.Outcome.degenerate_likelihood
    assert jnp.isfinite(solution.coefficients).all()
    assert (solution.coefficients == solution.start).all()
    assert int(solution.skipped[-1][-1]) == QUICK.steps


@pytest.mark.slow
def test_predictions_are_measured_against_persistence(x64):
    model, ys = linear_data(steps=200)
    run = gg.ParticleFilter(200)

    def error(coefficients):
        candidate = model.with_coefficients(jnp.asarray(coefficients))
        result = run(jax.random.key(1), candidate, ys)
        return float(relative_error(candidate, result, ys, jnp.asarray(200)))

    assert error(model.coefficients) < 1
    # Predictions of zero miss by the size of the data.
    expected = jnp.mean(
        jnp.sum(ys[1:] ** 2, axis=0) / jnp.sum(jnp.diff(ys, axis=0) ** 2, axis=0)
    )
    assert np.isclose(error(np.zeros((2, 3))), expected)


@pytest.mark.slow
def test_a_model_that_lost_the_track_is_an_outcome():
    """Lorenz 63 with coefficients that make every state jump."""
    model = gg.systems.lorenz63(dt=0.02).model(dynamics="map")
    ys = gg.simulate(jax.random.key(0), model, steps=30).observations
    start = -2 * np.asarray(model.coefficients)
    solution = gg.s_graphgrad(
        jax.random.key(1), ys, model, gg.L1(0.0), start=start, settings=QUICK
    )
    assert solution.outcome in (
        gg.Outcome.worse_than_persistence,
        gg.Outcome.degenerate_likelihood,
    )
    near = gg.s_graphgrad(
        jax.random.key(1),
        ys,
        model,
        gg.L1(0.0),
        start=model.coefficients,
        settings=gg.GradientSteps(20, learning_rate=1e-6),
    )
    assert near.outcome is gg.Outcome.completed


@pytest.mark.slow
def test_lorenz_as_stated_ends_with_an_outcome_that_says_so():
    """The paper's own example; docs/explanation/paper.md has more seeds and steps."""
    system = gg.systems.lorenz63()
    ys = system.simulate(
        jax.random.key(0), steps=25, bounded=True, scheme="euler"
    ).observations
    solution = gg.b_graphgrad(
        jax.random.key(1),
        ys,
        system.model(dynamics="map"),
        gg.L1(1.0),
        settings=gg.GradientSteps(100),
    )
    assert solution.outcome in (
        gg.Outcome.degenerate_likelihood,
        gg.Outcome.worse_than_persistence,
    )
    assert jnp.isfinite(solution.coefficients).all()


@pytest.mark.slow
def test_series_and_penalties_vmap():
    model, _ = linear_data()
    keys = jax.random.split(jax.random.key(5), 2)
    ys = jnp.stack([linear_data(seed=s)[1] for s in range(2)])

    def fit(key, ys, weight):
        solution = gg.b_graphgrad(key, ys, model, gg.L1(weight), settings=QUICK)
        return solution.coefficients

    over = jax.vmap(jax.vmap(fit, in_axes=(None, None, 0)), in_axes=(0, 0, None))
    weights = jnp.array([0.1, 10.0])
    all_fits = jax.jit(over)(keys, ys, weights)
    assert all_fits.shape == (2, 2, 2, 3)
    assert jnp.allclose(all_fits[1, 0], fit(keys[1], ys[1], weights[0]), atol=1e-4)


@pytest.mark.slow
def test_at_most_six_compilations_at_200_steps():
    model, _ = linear_data()
    ys = np.asarray(linear_data(steps=200)[1])
    key, penalty = jax.random.key(0), gg.L1(0.1)
    settings = gg.GradientSteps(3, particle_filter=gg.ParticleFilter(8))
    compiled = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        solution = gg.b_graphgrad(key, ys, model, penalty, settings=settings)
        jax.block_until_ready(solution.coefficients)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert len(solution.lengths) == 20
    assert 1 <= len(compiled) <= 6


@pytest.mark.slow
def test_b_graphgrad_recovers_a_damped_linear_system(x64):
    """F1 is 1 for seeds 0 to 4; docs/explanation/paper.md has ten."""
    model = gg.systems.damped_oscillator().model(dynamics="map")
    ys = gg.simulate(jax.random.key(0), model, steps=50).observations
    settings = gg.GradientSteps(particle_filter=gg.ParticleFilter(30))
    solution = gg.b_graphgrad(
        jax.random.key(100), ys, model, gg.L1(3.0), settings=settings
    )
    assert solution.outcome in (gg.Outcome.completed, gg.Outcome.still_rising)
    assert support_scores(solution.coefficients, model.coefficients).f1 == 1


@pytest.mark.parametrize(
    ("ys", "message"),
    [
        (np.zeros((0, 2)), "`ys` must have at least 2 rows, got 0"),
        (np.zeros((1, 2)), "`ys` must have at least 2 rows, got 1"),
        (np.zeros(9), r"`ys` must be a \(T, Ny\) array, got shape \(9,\)"),
        (np.zeros((9, 3)), r"`ys` must have shape \(9, 2\), got \(9, 3\)"),
        (np.full((9, 2), np.inf), r"`ys` must be finite, got inf at index \(0, 0\)"),
        (np.full((9, 2), np.inf), "`ys` must be finite, got inf"),
        ([["a", "b"], ["c", "d"]], "`ys` must hold numbers"),
    ],
)
def test_bad_series_are_named(ys, message):
    with pytest.raises(ValueError, match=message):
        gg.b_graphgrad(jax.random.key(0), ys, linear_model(), gg.L1(1.0))


def test_bad_start_and_settings_are_named():
    model, ys = linear_data()
    for start, message in [
        (np.zeros((3, 3)), r"`start` must have shape \(2, 3\), got \(3, 3\)"),
        (np.full((2, 3), np.nan), "`start` must be finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            gg.b_graphgrad(jax.random.key(0), ys, model, gg.L1(1.0), start=start)
    for options, message in [
        ({"steps": 0}, "`steps` must be a whole number of at least 1, got 0"),
        ({"learning_rate": -1.0}, "`learning_rate` must be a positive finite number"),
        ({"gradient": "exact"}, "`gradient` must be one of 'particles', 'score'"),
        ({"update": "both"}, "`update` must be one of 'prox', 'subgradient'"),
    ]:
        with pytest.raises(ValueError, match=message):
            gg.GradientSteps(**options)
    with pytest.raises(ValueError, match="`increment` must be a whole number"):
        gg.Telescoping(0)
