"""What makes fits of many states fast: the same results, or nearly the same."""

from importlib import import_module

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.engines.gaussian import GaussianSmoother
from graphgrad.solvers.adaptive.ascent import _inverses
from graphgrad.solvers.adaptive.candidate import begin_exchange
from graphgrad.solvers.adaptive.exchange import _hopeless
from graphgrad.solvers.adaptive.proposal import _best, _best_by_rows, _Problem
from graphgrad.solvers.adaptive.subset import inverse_on
from graphgrad.solvers.adaptive.unknowns import Unknowns

MODULE = import_module("graphgrad.engines.information")
NOISES = ("state_noise", "observation_noise")


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_derivative_of_monomials_is_that_of_automatic_differentiation(degree):
    library = gg.Polynomial(3, degree)
    rng = np.random.default_rng(degree)
    C = jnp.asarray(rng.normal(size=(2, library.n_terms)))
    x = jnp.asarray(rng.normal(size=3))
    expected = jax.jacfwd(lambda x: C @ library(x))(x)
    np.testing.assert_allclose(library.derivative(C, x), expected, rtol=1e-5)


@pytest.mark.slow
def test_derivative_of_a_sum_of_libraries():
    library = gg.Polynomial(2, 2) + gg.trigonometric_terms(2)
    rng = np.random.default_rng(0)
    C = jnp.asarray(rng.normal(size=(2, library.n_terms)))
    x = jnp.asarray(rng.normal(size=2))
    expected = jax.jacfwd(lambda x: C @ library(x))(x)
    np.testing.assert_allclose(library.derivative(C, x), expected, rtol=1e-5)


@pytest.mark.slow
def test_two_points_a_row_have_the_same_means_and_on_average_covariances():
    model = gg.systems.lorenz63(dt=0.02).model(dynamics="map")
    ys = gg.simulate(jax.random.key(0), model, steps=64)[1]
    sweep = GaussianSmoother().sweep(jax.random.key(1), model, ys)
    # The same distribution in all rows, so that rows can be averaged over.
    sweep = sweep._replace(
        before=jnp.broadcast_to(sweep.before[9], sweep.before.shape),
        after=jnp.broadcast_to(sweep.after[9], sweep.after.shape),
    )
    thin = sweep.thinned()
    assert thin.before.shape == (64, 2, 3)
    np.testing.assert_allclose(thin.means(), sweep.means(), rtol=1e-5, atol=1e-5)

    def product(found):
        away = found.before - jnp.mean(found.before, axis=1, keepdims=True)
        later = found.after - jnp.mean(found.after, axis=1, keepdims=True)
        return jnp.einsum("tp,tpi,tpj->ij", found.weights, away, later) / 64

    np.testing.assert_allclose(product(thin), product(sweep), rtol=1e-4, atol=1e-7)


def _separate_states(n):
    """States that do not act on each other, and a trajectory."""
    C = np.zeros((n, n + 1))
    C[np.arange(n), np.arange(n) + 1] = np.linspace(0.5, 0.9, n)
    library = gg.Polynomial(n, 1)
    model = gg.state_space_model(library, state_noise=0.3, observation_noise=0.2)
    model = model.with_coefficients(jnp.asarray(C))
    ys = gg.simulate(jax.random.key(0), model, steps=40)[1]
    smoothed = GaussianSmoother().sweep(jax.random.key(1), model, ys)
    return model, ys, smoothed.means()


@pytest.mark.slow
def test_information_by_equation_is_the_diagonal_of_the_joint_one():
    model, ys, states = _separate_states(3)
    active = jnp.broadcast_to(jnp.arange(4), (3, 4))
    joint = MODULE.information(model, ys, states, active)
    rows = MODULE.information(model, ys, states, active, joint=False)
    blocks = joint.coefficients.reshape(3, 4, 3, 4)
    expected = np.stack([blocks[i, :, i] for i in range(3)])
    np.testing.assert_allclose(rows.coefficients, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_information_of_own_states_is_exact_for_states_that_do_not_act_on_others(
    monkeypatch,
):
    model, ys, states = _separate_states(3)
    active = jnp.broadcast_to(jnp.arange(4), (3, 4))
    exact = MODULE.information(model, ys, states, active, noise=NOISES, joint=False)
    monkeypatch.setattr(MODULE, "MOST_STATES", 2)
    monkeypatch.setattr(MODULE, "OWN_ROWS", 15)  # in chunks of rows, too
    own = MODULE.information(model, ys, states, active, noise=NOISES, joint=False)
    for one, other in zip(own, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_information_on_variances_is_exact_for_states_that_do_not_act_on_others(
    monkeypatch,
):
    model, ys, states = _separate_states(3)
    active = jnp.zeros((3, 1), int)
    exact = MODULE.information(model, ys, states, active, noise=NOISES)
    monkeypatch.setattr(MODULE, "MOST_VARIANCES", 2)
    pooled = MODULE.information(model, ys, states, active, noise=NOISES)
    np.testing.assert_allclose(pooled.noise, exact.noise, rtol=1e-4, atol=1e-4)
    one = MODULE.information(model, ys, states, active, noise=NOISES[:1])
    np.testing.assert_allclose(
        one.noise[:3, :3], exact.noise[:3, :3], rtol=1e-4, atol=1e-4
    )


def _problem(rows, size):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(rows, 50, size))
    metric = jnp.asarray(np.einsum("rna,rnb->rab", Z, Z))
    truth = np.where(rng.uniform(size=(rows, size)) < 0.3, 2.0, 0.0)
    inside = jnp.zeros((rows, size), bool)
    return _Problem(
        metric=metric,
        inverse=jnp.zeros_like(metric),
        gradient=jnp.einsum("rab,rb->ra", metric, jnp.asarray(truth)),
        here=jnp.zeros((rows, size)),
        inside=inside,
        penalty=jnp.full((rows, size), 5.0),
        signs=jnp.zeros((rows, size)),
    ), truth


@pytest.mark.slow
def test_terms_by_equation_are_those_of_all_equations_together():
    problem, truth = _problem(3, 6)
    found = _best_by_rows(problem, jnp.asarray(100))
    assert np.array_equal(found.support, truth != 0)
    joined = jax.tree.map(jnp.ravel, problem)._replace(
        metric=jax.scipy.linalg.block_diag(*problem.metric),
        inverse=jnp.zeros((18, 18)),
    )
    together = _best(joined, jnp.asarray(100))
    assert np.array_equal(together.support.reshape(3, 6), found.support)


def test_with_a_limit_the_equations_that_gain_most_are_changed():
    problem, _ = _problem(3, 6)
    problem = problem._replace(gradient=problem.gradient.at[1].multiply(3))
    found = _best_by_rows(problem, jnp.asarray(1))
    assert np.sum(found.support[1]) == 1
    assert not np.any(found.support[jnp.array([0, 2])])
    # What is inside stays, at the minimum on it.
    inside = problem.inside.at[:, 0].set(True)
    held = problem._replace(
        inside=inside, inverse=jax.vmap(inverse_on)(problem.metric, inside)
    )
    found = _best_by_rows(held, jnp.asarray(1))
    assert np.all(found.support[jnp.array([0, 2]), 0])


def test_inverses_by_equation_are_those_of_all_equations_together():
    problem, _ = _problem(3, 6)
    free = jnp.arange(18) % 4 > 0
    noise, free_noise = jnp.diag(jnp.arange(1.0, 5.0)), jnp.arange(4) != 2
    blocks, by_rows = _inverses(problem.metric, noise, free, free_noise)
    whole = jax.scipy.linalg.block_diag(*problem.metric)
    inverse, together = _inverses(whole, noise, free, free_noise)
    joined = jax.scipy.linalg.block_diag(*blocks)
    np.testing.assert_allclose(joined, inverse, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(by_rows, together, rtol=1e-5)


@pytest.mark.parametrize(
    ("rise", "promised", "again", "given_up"),
    [
        (0.1, 0.1, False, True),
        (2.0, 0.1, False, False),  # four sweeps of it are enough
        (0.1, 2.0, False, False),
        (0.1, 0.1, True, False),  # the best support itself
    ],
)
def test_ascent_that_cannot_catch_up_is_given_up(rise, promised, again, given_up):
    one, states = jnp.ones(1), jnp.zeros((3, 1))
    state = begin_exchange(Unknowns(jnp.ones((1, 2)), one, one, one, one), states)
    low = jnp.asarray(-50.0)
    state = state._replace(
        at=state.at._replace(log_likelihood=low),
        best=state.best._replace(criterion=jnp.asarray(90.0)),
        sweeps_here=jnp.asarray(5),
        again=jnp.asarray(again),
    )
    reached = state.at._replace(
        log_likelihood=low + rise,
        criterion=-2 * (low + rise),
        decrement=jnp.asarray(promised),
    )
    assert _hopeless(reached, state, 10, 10) == given_up
    # Of a first support, or at the first sweep on another one, nothing is known.
    first = state._replace(best=state.best._replace(criterion=jnp.asarray(jnp.inf)))
    assert not _hopeless(reached, first, 10, 10)
    fresh = state._replace(at=state.at._replace(log_likelihood=-jnp.asarray(jnp.inf)))
    assert not _hopeless(reached, fresh, 10, 10)
    assert not given_up or _hopeless(reached, state, 10, 1)


def test_ascent_that_need_not_be_exact_is_hoped_for_over_fewer_sweeps():
    one, states = jnp.ones(1), jnp.zeros((3, 1))
    state = begin_exchange(Unknowns(jnp.ones((1, 2)), one, one, one, one), states)
    low = jnp.asarray(-50.0)
    state = state._replace(
        at=state.at._replace(log_likelihood=low),
        best=state.best._replace(criterion=jnp.asarray(90.0)),
    )
    reached = state.at._replace(
        log_likelihood=low + 1, criterion=-2 * (low + 1), decrement=jnp.asarray(0.1)
    )
    assert not _hopeless(reached, state, 10, 10)
    assert _hopeless(reached, state, 10, 3)


@pytest.mark.slow
def test_eight_states_are_found():
    system = gg.systems.lorenz96(n_states=8, dt=0.025)
    with jax.enable_x64(True):
        draw = system.simulate(
            jax.random.key(1), 100, bounded=True, max_redraws=1000, scheme="euler"
        )
        found = gg.GraphGrad(degree=2, dynamics="map").fit(draw.observations)
    truth = np.asarray(system.coefficients(dynamics="map")) != 0
    assert np.array_equal(np.asarray(found.coef_) != 0, truth)
