"""Series that are irregular, several or driven: against a filter with all of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.solvers.adaptive.unknowns import observation_squares
from helpers.oracles import linear_model

KEY = jax.random.key(0)


def filtered(steps, mean, covariance, R):
    """Log-likelihood by the Kalman filter, step by step: (F, constant, Q, y)."""
    m, P, value = np.asarray(mean), np.asarray(covariance), 0.0
    for F, constant, Q, y in steps:
        m, P = F @ m + constant, F @ P @ F.T + Q
        seen = ~np.isnan(y)
        if not seen.any():
            continue
        H = np.eye(len(m))[seen]
        S = H @ P @ H.T + R[np.ix_(seen, seen)]
        gain, surprise = P @ H.T @ np.linalg.inv(S), y[seen] - H @ m
        value -= 0.5 * surprise @ np.linalg.solve(S, surprise)
        value -= 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]
        m, P = m + gain @ surprise, P - gain @ S @ gain.T
    return value


def parts(model):
    C = np.asarray(model.coefficients)
    Q, R, P0 = (
        np.asarray(noise.covariance)
        for noise in (
            model.transition.noise,
            model.observation.noise,
            model.initial_noise,
        )
    )
    return C, Q, R, P0


def engines_value(model, ys):
    return jax.jit(gg.GaussianSmoother().sweep)(KEY, model, jnp.asarray(ys))


def test_irregular_steps_are_shorter_and_longer_steps_of_the_map(x64):
    model = linear_model()
    ys = np.random.default_rng(0).normal(size=(5, 2))
    times = [0.0, 0.5, 0.7, 2.7, 3.0]
    arranged = gg.arrange(model, ys, times=times, dt=0.5, max_step=0.8)
    # 2.0 is divided into three.
    expected = np.array([0.5, 0.5, 0.2, 2 / 3, 2 / 3, 2 / 3, 0.3]) / 0.5
    assert arranged.model.schedule is not None
    np.testing.assert_allclose(arranged.model.schedule.pace, expected)
    assert arranged.rows[0].tolist() == [0, 1, 2, 5, 6]
    np.testing.assert_array_equal(arranged.ys[arranged.rows[0]], ys)
    C, Q, R, P0 = parts(model)
    steps = [
        (np.eye(2) + s * (C[:, 1:] - np.eye(2)), s * C[:, 0], s * Q, y)
        for s, y in zip(expected, arranged.ys, strict=True)
    ]
    value = filtered(steps, model.initial_mean, P0, R)
    sweep = engines_value(arranged.model, arranged.ys)
    np.testing.assert_allclose(sweep.log_likelihood, value, rtol=1e-9)


def test_a_panel_is_as_likely_as_its_series_together(x64):
    model = linear_model()
    rng = np.random.default_rng(1)
    panel = [rng.normal(size=(length, 2)) for length in (4, 7, 3)]
    panel[1][2, 0] = np.nan
    starts = rng.normal(size=(3, 2))
    arranged = gg.arrange(model, panel, initial_means=starts)
    assert len(arranged.ys) == 4 + 7 + 3 + 2  # a row for each first state but one
    for ys, rows in zip(panel, arranged.rows, strict=True):
        np.testing.assert_array_equal(arranged.ys[rows], ys)
    C, Q, R, P0 = parts(model)
    value = sum(
        filtered([(C[:, 1:], C[:, 0], Q, y) for y in ys], start, P0, R)
        for ys, start in zip(panel, starts, strict=True)
    )
    sweep = engines_value(arranged.model, arranged.ys)
    np.testing.assert_allclose(sweep.log_likelihood, value, rtol=1e-9)


@pytest.mark.slow
def test_an_unsure_reading_counts_less(x64):
    """Against the Kalman filter with a covariance for each row; drawn so, too."""
    model = linear_model()
    rng = np.random.default_rng(4)
    ys, doubt = rng.normal(size=(6, 2)), rng.uniform(0.5, 3, size=(6, 2))
    ys[2, 1] = np.nan
    arranged = gg.arrange(model, ys, uncertainty=doubt)
    C, Q, R, P0 = parts(model)
    m, P, value = np.asarray(model.initial_mean), P0, 0.0
    for y, d in zip(ys, doubt, strict=True):
        here = [(C[:, 1:], C[:, 0], Q, y)]
        value += filtered(here, m, P, R * np.outer(d, d))
        m, P = C[:, 1:] @ m + C[:, 0], C[:, 1:] @ P @ C[:, 1:].T + Q
        seen = ~np.isnan(y)
        H = np.eye(2)[seen]
        S = H @ P @ H.T + (R * np.outer(d, d))[np.ix_(seen, seen)]
        gain = P @ H.T @ np.linalg.inv(S)
        m, P = m + gain @ (y[seen] - H @ m), P - gain @ H @ P
    sweep = engines_value(arranged.model, arranged.ys)
    np.testing.assert_allclose(sweep.log_likelihood, value, rtol=1e-9)
    # Squares are in units of the model's variance.
    path = np.asarray(sweep.path[1:])
    squares = (ys - path) ** 2 + np.asarray(sweep.covariances())[1:, [0, 1], [0, 1]]
    found = observation_squares(sweep, arranged.model, jnp.asarray(arranged.ys))
    np.testing.assert_allclose(found, np.nansum(squares / doubt**2, axis=0), rtol=1e-9)
    many = gg.arrange(model, np.zeros((4000, 2)), uncertainty=np.full((4000, 2), 3.0))
    drawn = gg.simulate(KEY, many.model, steps=4000)
    spread = np.var(drawn.observations - drawn.states[1:], axis=0)
    np.testing.assert_allclose(spread, 9 * np.diag(R), rtol=0.1)


def driven_model():
    """One state, 0.8 x + 0.5 u, of a library of x and u."""
    library = gg.Polynomial(2, 1)
    return gg.state_space_model(
        library,
        [[0.0, 0.8, 0.5]],
        state_noise=0.1,
        observation_noise=0.2,
        n_inputs=1,
    )


def test_inputs_act_from_one_observation_to_the_next(x64):
    model = driven_model()
    rng = np.random.default_rng(2)
    ys, inputs = rng.normal(size=(6, 1)), rng.normal(size=(6, 1))
    arranged = gg.arrange(model, ys, inputs=inputs)
    _, Q, R, P0 = parts(model)
    steps = [
        (np.array([[0.8]]), 0.5 * u, Q, y) for u, y in zip(inputs, ys, strict=True)
    ]
    value = filtered(steps, [0.0], P0, R)
    sweep = engines_value(arranged.model, arranged.ys)
    np.testing.assert_allclose(sweep.log_likelihood, value, rtol=1e-9)


@pytest.mark.slow
def test_particles_and_members_know_the_schedule(x64):
    """As the exact engine; the keys 0 to 3 differ by at most 0.31 and 0.33."""
    model = linear_model()
    panel = [np.random.default_rng(3).normal(size=(n, 2)) for n in (5, 4)]
    times = [np.cumsum([1, 0.5, 1.7, 1, 0.4]), np.arange(4.0)]
    doubt = [np.random.default_rng(n).uniform(0.5, 2, size=(n, 2)) for n in (5, 4)]
    model, ys, _ = gg.arrange(model, panel, times=times, uncertainty=doubt)
    exact = engines_value(model, ys)
    for engine in (
        gg.ParticleSmoother(4000, smoothing="backward", paths=300),
        gg.ParticleSmoother(4000, proposal="bootstrap", smoothing="ancestor"),
        gg.EnsembleSmoother(2000),
    ):
        sweep = jax.jit(engine.sweep)(KEY, model, jnp.asarray(ys))
        np.testing.assert_allclose(sweep.log_likelihood, exact.log_likelihood, atol=0.6)
        np.testing.assert_allclose(sweep.means(), exact.means(), atol=0.6)


@pytest.mark.slow
def test_an_input_and_its_coefficient_are_found():
    """In pieces, at irregular times."""
    model = driven_model()
    rng = np.random.default_rng(0)
    lengths = (40, 60, 50)
    inputs = [rng.normal(size=(n, 1)) for n in lengths]
    times = [np.cumsum(rng.uniform(0.5, 1.0, n)) for n in lengths]
    empty = [np.zeros((n, 1)) for n in lengths]
    model, ys, rows = gg.arrange(model, empty, times=times, inputs=inputs)
    drawn = gg.simulate(jax.random.key(5), model, steps=len(ys)).observations
    seen = np.full_like(ys, np.nan)
    for which in rows:
        seen[which] = drawn[which]
    found = gg.adaptive(KEY, seen, model)
    assert found.support().tolist() == [[False, True, True]]
    error = np.abs(found.coefficients - model.coefficients)
    assert (error[0, 1:] < 3 * found.standard_errors[0, 1:]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"times": [0, 1, 1, 2]},
            "`times` must rise from row to row, got 1 and then 1",
        ),
        ({"times": [0, 2, 1, 3]}, "got 2 and then 1 at row 2. Sort the rows"),
        ({"times": [0, 1]}, r"`times` must have shape \(4,\), got \(2,\)"),
        ({"times": [0, 1, np.nan, 2]}, "`times` must be finite"),
        ({"dt": 0}, "`dt` must be a positive finite number"),
        ({"max_step": -1}, "`max_step` must be a positive finite number"),
        ({"inputs": np.ones((3, 1))}, "`inputs` must have shape"),
        ({"uncertainty": np.ones((4, 1))}, "`uncertainty` must have shape"),
        ({"uncertainty": np.zeros((4, 2))}, "`uncertainty` must be a positive finite"),
        ({"initial_means": [1.0, 2.0]}, "`initial_means` must have shape"),
        ({"series": np.ones((4, 3))}, "`series` must have shape"),
        ({"series": np.ones(4)}, "`series` must have shape"),
        ({"series": []}, "`series` must have shape"),
        ({"series": np.full((4, 2), np.nan)}, "an observation in every column"),
    ],
)
def test_bad_series_are_named(change, message):
    options = {"series": np.ones((4, 2)), **change}
    with pytest.raises(ValueError, match=message):
        gg.arrange(linear_model(), **options)


def test_rows_must_be_those_of_the_schedule():
    model, ys, _ = gg.arrange(linear_model(), np.ones((4, 2)), times=[0, 1, 2, 4])
    with pytest.raises(ValueError, match="Give the rows that `arrange` made"):
        gg.adaptive(KEY, ys[:-1], model)
    with pytest.raises(ValueError, match="length of the model's schedule"):
        gg.simulate(KEY, model, steps=3)


@pytest.mark.parametrize(
    ("solve", "who"),
    [
        (lambda m, y: gg.s_graphgrad(KEY, y, m, penalty=gg.L1(1.0)), "paper's solvers"),
        (lambda m, y: gg.choose_penalty(KEY, y, m), "held-out data"),
    ],
)
def test_what_takes_series_apart_refuses_a_schedule(solve, who):
    model, ys, _ = gg.arrange(linear_model(), np.ones((4, 2)), times=[0, 1, 2, 4])
    with pytest.raises(ValueError, match=f"with equal steps for .*{who}"):
        solve(model, ys)
