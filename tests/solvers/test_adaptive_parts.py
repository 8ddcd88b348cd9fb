"""The pieces of the adaptive solver against brute force and independent recursions."""

import functools
import itertools
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.compiling import compiled
from graphgrad.engines import GaussianSmoother
from graphgrad.engines.choice import choose_engine
from graphgrad.engines.information import information
from graphgrad.engines.sweep import Sweep
from graphgrad.model import GaussianNoise, LinearGaussian
from graphgrad.solution import Outcome
from graphgrad.solvers.adaptive.ascent import Point, ScoringStep
from graphgrad.solvers.adaptive.candidate import begin_exchange
from graphgrad.solvers.adaptive.columns import gather, scatter
from graphgrad.solvers.adaptive.exchange import _accept
from graphgrad.solvers.adaptive.lasso import lasso
from graphgrad.solvers.adaptive.outcome import joint_relative_variance, judge
from graphgrad.solvers.adaptive.plan import Plan
from graphgrad.solvers.adaptive.screening import screen, stand_ins
from graphgrad.solvers.adaptive.statistics import (
    Completed,
    averaged,
    complete,
    statistics,
)
from graphgrad.solvers.adaptive.subset import best_subset, inverse_on, subset_path
from graphgrad.solvers.adaptive.unknowns import (
    LEARNABLE,
    build,
    learn_initial,
    model_unknowns,
    observation_squares,
)
from graphgrad.solvers.adaptive.variances import NOISE_PRIOR, restricted
from graphgrad.solvers.criterion import ExtendedBIC, Terms
from helpers.oracles import Laplace, linear_model

# Weighted lasso.


def lasso_problem(seed, terms=6):
    """Three equations in correlated terms, five penalties; entries differ."""
    rng = np.random.default_rng(seed)
    rows = 6 * terms
    X = rng.normal(size=(3, rows, terms)) + rng.normal(size=(3, rows, 1))
    gram = np.einsum("nta,ntb->nab", X, X)
    linear = np.einsum("nta,nt->na", X, rng.normal(size=(3, rows)) + X[:, :, 1])
    scale = np.sqrt(np.einsum("naa->na", gram))
    heights = np.array([0.0, 0.3, 1.0, 3.0, 100.0])[:, None, None]
    return gram, linear, heights * scale * rng.uniform(0.5, 2, size=(3, terms)), scale


def breach(gram, linear, thresholds, scale, c):
    """Largest breach of the subgradient conditions, one entry after the other."""
    worst = 0.0
    for where in np.ndindex(*c.shape):
        _, n, j = where
        slope = linear[n, j] - gram[n, j] @ c[where[:2]]
        if c[where] == 0:
            fault = max(abs(slope) - thresholds[where], 0)
        else:
            fault = abs(slope - thresholds[where] * np.sign(c[where]))
        worst = max(worst, fault / scale[n, j])
    return worst


# One block of terms, and three that are padded.
@pytest.mark.parametrize(("seed", "terms"), [(0, 6), (1, 6), (2, 6), (3, 67)])
def test_lasso_ends_where_the_optimality_conditions_hold(seed, terms, x64):
    gram, linear, thresholds, scale = lasso_problem(seed, terms)
    start = np.random.default_rng(seed).normal(size=thresholds.shape)
    found = lasso(
        *map(jnp.asarray, (gram, linear, thresholds, start, scale)),
        tolerance=1e-9,
        max_rounds=5000,
    )
    c = np.asarray(found.coefficients)
    assert breach(gram, linear, thresholds, scale, c) < 2e-9
    assert int(found.rounds) < 5000
    # No penalty is least squares; a huge one leaves nothing.
    plain = np.linalg.solve(gram, linear[..., None])[..., 0]
    np.testing.assert_allclose(c[0], plain, atol=1e-7)
    assert (c[-1] == 0).all()
    assert 0 < np.count_nonzero(c[2]) < c[2].size


def test_lasso_cut_short_reports_how_far_it_is(x64):
    gram, linear, thresholds, scale = lasso_problem(0)
    arguments = (gram, linear, thresholds, np.zeros_like(thresholds), scale)
    short = lasso(*map(jnp.asarray, arguments), max_rounds=2)
    assert int(short.rounds) == 2
    fault = breach(gram, linear, thresholds, scale, np.asarray(short.coefficients))
    assert fault > 1e-3
    np.testing.assert_allclose(short.violation, fault, rtol=1e-9)


# Best subsets.

SIZE = 8


def quadratic(seed):
    """Regression of a few of eight correlated terms: G, b, and the terms and data."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, SIZE)) + 0.7 * rng.normal(size=(30, 1))
    X *= 10.0 ** rng.uniform(-2, 2, size=SIZE)
    truth = np.where(rng.random(SIZE) < 0.5, rng.normal(size=SIZE), 0)
    y = X @ (truth / X.std(axis=0)) + rng.normal(size=30)
    return X.T @ X, X.T @ y, X, y


def squares(X, y, support):
    """Sum of squared residuals of least squares on a support, and coefficients."""
    c = np.zeros(SIZE)
    if support.any():
        c[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    return np.sum((y - X @ c) ** 2), c


def neighbours(support):
    """All supports a toggle or an exchange away."""
    for i in range(SIZE):
        other = support.copy()
        other[i] = ~other[i]
        yield other
    for i, j in itertools.product(np.flatnonzero(support), np.flatnonzero(~support)):
        other = support.copy()
        other[[i, j]] = False, True
        yield other


def cheapest_change(X, y, support, price):
    """What the best neighbour costs more, by brute force."""

    def cost(support):
        return squares(X, y, support)[0] + np.sum(price * support)

    return min(cost(other) for other in neighbours(support)) - cost(support)


# Nearly all of the time of these tests is compilation.
jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


@jit
def search(G, b, start, price):
    return best_subset(G, b, start, inverse_on(G, start), price)


@jit
def stay_there(G, b, start, price):
    return best_subset(G, b, start, inverse_on(G, start), price, max_changes=0)


quick_path = jit(lambda *quadratic: subset_path(*quadratic).coefficients)
quick_inverse = jit(inverse_on)


@pytest.mark.parametrize("price", [0.5, 4.0, 30.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_change_of_the_subset_pays(seed, price, x64):
    G, b, X, y = quadratic(seed)
    rng = np.random.default_rng(seed)
    starts = (np.zeros(SIZE, bool), np.ones(SIZE, bool), rng.random(SIZE) < 0.5)
    # One price for all terms, and one for each.
    each = price * rng.uniform(0.3, 3, SIZE)
    for start, prices in itertools.product(starts, (np.full(SIZE, price), each)):
        found = search(*map(jnp.asarray, (G, b, start, prices)))
        support = np.asarray(found.support)
        margin = cheapest_change(X, y, support, prices)
        assert margin >= -1e-3
        np.testing.assert_allclose(found.margin, margin, atol=1e-6)
        least = squares(X, y, support)[1]
        np.testing.assert_allclose(found.coefficients, least, rtol=1e-6, atol=1e-12)


def test_margin_of_a_support_that_is_kept_may_be_a_gain(x64):
    G, b, X, y = quadratic(0)
    start = np.array([True, False] * (SIZE // 2))
    stay = stay_there(*map(jnp.asarray, (G, b, start, [1e3])))
    assert (stay.support == start).all()
    expected = cheapest_change(X, y, start, 1e3)
    assert expected < 0
    np.testing.assert_allclose(stay.margin, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_terms_enter_as_their_price_falls(seed, x64):
    G, b, X, y = quadratic(seed)
    prices = 1e4 * 2.0 ** -np.arange(0, 20, 1.0)
    path = quick_path(*map(jnp.asarray, (G, b, prices[:, None])))
    counts = np.count_nonzero(path, axis=1)
    assert (np.diff(counts) >= 0).all()
    assert counts[0] < counts[-1]
    for c, price in zip(np.asarray(path), prices, strict=True):
        support = c != 0
        assert cheapest_change(X, y, support, price) >= -1e-3
        least = squares(X, y, support)[1]
        np.testing.assert_allclose(c, least, rtol=1e-6, atol=1e-12)


def test_a_path_with_few_places_has_no_more_terms(x64):
    G, b, X, y = quadratic(1)
    prices = jnp.asarray([[1e3], [1.0], [1e-3]])
    path = np.asarray(
        subset_path(jnp.asarray(G), jnp.asarray(b), prices, most=3).support
    )
    whole = np.asarray(subset_path(jnp.asarray(G), jnp.asarray(b), prices).support)
    assert whole[-1].sum() > 3
    assert path[-1].sum() == 3
    # Exchanges go on where nothing can be added: no other three explain more.
    here = squares(X, y, path[-1])[0]
    others = (other for other in neighbours(path[-1]) if other.sum() == 3)
    assert min(squares(X, y, other)[0] for other in others) > here


def test_inverse_on_a_support_is_that_of_the_block(x64):
    G, *_ = quadratic(1)
    support = np.array([True, True, False, True, False, False, True, False])
    inverse = np.asarray(quick_inverse(jnp.asarray(G), jnp.asarray(support)))
    used = np.ix_(support, support)
    unit = np.sqrt(np.diag(G))[support]
    product = inverse[used] @ G[used] * unit[:, None] / unit
    np.testing.assert_allclose(product, np.eye(4), atol=1e-9)
    outside = inverse.copy()
    outside[used] = 0
    assert (outside == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("double", [False, True])
def test_collinear_terms_do_no_harm(double):
    """One term three times, one that is never anything but zero."""
    _, _, X, _ = quadratic(2)
    X[:, 3], X[:, 5], X[:, 6] = X[:, 1], -2 * X[:, 1], 0
    X /= np.maximum(X.std(axis=0), 1e-9)
    y = 3 * X[:, 1] + X[:, 0] + np.random.default_rng(0).normal(size=30)
    with jax.enable_x64(double):
        G, b = jnp.asarray(X.T @ X), jnp.asarray(X.T @ y)
        everything = jnp.ones(SIZE, bool)
        assert jnp.isfinite(quick_inverse(G, everything)).all()
        for start in (~everything, everything):
            found = search(G, b, start, jnp.asarray([4.0]))
            assert all(jnp.isfinite(leaf).all() for leaf in found)
        fresh = search(G, b, ~everything, jnp.asarray([4.0]))
        assert fresh.support[jnp.array([1, 3, 5])].sum() == 1
        assert not fresh.support[6]
        path = quick_path(G, b, jnp.asarray([[100.0], [10.0], [1.0], [0.1], [1e-3]]))
        assert jnp.isfinite(path).all()
        assert (jnp.count_nonzero(path[:, jnp.array([1, 3, 5])], axis=1) <= 1).all()


# Statistics of the completed data.


def random_sweep(seed=0):
    """Seven steps, four points each, of two states; terms to degree three."""
    rng = np.random.default_rng(seed)
    weights = rng.random((7, 4))
    weights /= weights.sum(axis=1, keepdims=True)
    half = rng.normal(size=(7, 2, 2))
    sweep = Sweep(
        log_likelihood=jnp.zeros(()),
        filtered=jnp.zeros((7, 2)),
        before=jnp.asarray(rng.normal(size=(7, 4, 2))),
        after=jnp.asarray(rng.normal(size=(7, 4, 2))),
        weights=jnp.asarray(weights),
        spread=jnp.asarray(half @ half.transpose(0, 2, 1)),
        variances=jnp.ones((7, 1, 2)),
        path=jnp.zeros((8, 2)),
    )
    return sweep, gg.Polynomial(2, 3), rng.normal(size=(2, 10))


def completed(sweep, library, C):
    model = gg.state_space_model(library, state_noise=1.0, observation_noise=1.0)
    return complete(sweep, model.with_coefficients(C), gg.GaussianSmoother())


@jit
def quick_sums(sweep, library, C, active):
    return statistics(completed(sweep, library, C), active)


ACTIVE = {
    "some": np.array([[0, 3, 9, 4, 1], [2, 1, 0, 7, 8]]),
    "all": np.tile(np.arange(10), (2, 1)),
}


def direct_sums(sweep, library, C, active):
    """Statistics, one weighted point after the other."""
    n, size = active.shape
    gram, cross, square = np.zeros((n, size, size)), np.zeros((n, size)), np.zeros(n)
    terms = np.asarray(library(sweep.before))
    after, weights = np.asarray(sweep.after), np.asarray(sweep.weights)
    for t, p in np.ndindex(*weights.shape):
        phi, w = terms[t, p], weights[t, p]
        residual = after[t, p] - C @ phi
        for i in range(n):
            gram[i] += w * np.outer(phi[active[i]], phi[active[i]])
            cross[i] += w * residual[i] * phi[active[i]]
            square[i] += w * residual[i] ** 2
    return gram, cross, square + np.einsum("tii->i", np.asarray(sweep.spread))


def agree(ours, theirs, **tolerance):
    for mine, true in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, true, **tolerance)


@pytest.mark.parametrize("which", ACTIVE)
def test_statistics_are_sums_over_the_points(which, x64):
    sweep, library, C = random_sweep()
    active = ACTIVE[which]
    sums = quick_sums(sweep, library, jnp.asarray(C), jnp.asarray(active))
    agree(sums, direct_sums(sweep, library, C, active), rtol=1e-9)
    # About other coefficients: as if computed there.
    steps = np.random.default_rng(1).normal(size=(3, *active.shape))
    moved = C + np.asarray(scatter(jnp.asarray(steps), jnp.asarray(active), 10))
    several = sums.squares(jnp.asarray(steps))
    for step, there, square in zip(steps, moved, several, strict=True):
        expected = direct_sums(sweep, library, there, active)
        agree(sums.about(jnp.asarray(step)), expected, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(square, expected[2], rtol=1e-8)


def test_screening_keeps_what_is_kept_and_takes_the_best_of_the_rest(x64):
    sweep, library, C = random_sweep()
    C = jnp.asarray(C)
    data = completed(sweep, library, C)
    keep = np.zeros((2, 10), bool)
    keep[0, [2, 7, 9]], keep[1, 5] = True, True
    active = np.asarray(screen(data, jnp.asarray(keep), jnp.ones_like(keep), 5))
    sums = statistics(data, jnp.asarray(ACTIVE["all"]))
    gains = np.asarray(sums.cross**2) / np.einsum("naa->na", np.asarray(sums.gram))
    for row, kept, gain in zip(active, keep, gains, strict=True):
        assert len(set(row)) == 5
        assert set(np.flatnonzero(kept)) <= set(row)
        chosen = [j for j in row if not kept[j]]
        left = [j for j in range(10) if j not in row]
        assert gain[chosen].min() > gain[left].max()
    everything = screen(data, jnp.asarray(keep), jnp.ones_like(keep), 10)
    assert (everything == np.arange(10)).all()


def test_gather_and_scatter_are_inverse(x64):
    active, rng = ACTIVE["some"], np.random.default_rng(0)
    for lead in ((), (3,)):
        values = rng.normal(size=(*lead, *active.shape))
        dense = np.asarray(scatter(jnp.asarray(values), jnp.asarray(active), 10))
        assert dense.shape == (*lead, 2, 10)
        assert (gather(jnp.asarray(dense), jnp.asarray(active)) == values).all()
        assert np.count_nonzero(dense) == values.size
        for i, row in enumerate(active):
            assert (dense[..., i, row] == values[..., i, :]).all()


def test_running_means_of_statistics(x64):
    """Terms in another order, some new: old where known, new where not."""
    library = gg.Polynomial(2, 3)
    old_active = ACTIVE["some"]
    active = np.array([[4, 0, 5, 9, 6], [8, 7, 2, 1, 0]])
    old, new = (
        quick_sums(
            random_sweep(seed)[0], library, jnp.zeros((2, 10)), jnp.asarray(columns)
        )
        for seed, columns in ((1, old_active), (2, active))
    )

    def mixed(gain):
        return averaged(
            old, jnp.asarray(old_active), new, jnp.asarray(active), jnp.asarray(gain)
        )

    agree(mixed(1.0), new, rtol=1e-12)
    kept, half = mixed(0.0), mixed(0.5)
    np.testing.assert_allclose(kept.square, old.square)
    np.testing.assert_allclose(half.square, (old.square + new.square) / 2)
    for i in range(2):
        place = {column: k for k, column in enumerate(old_active[i])}
        for a, column in enumerate(active[i]):
            was = old.cross[i, place[column]] if column in place else new.cross[i, a]
            np.testing.assert_allclose(kept.cross[i, a], was)
            np.testing.assert_allclose(half.cross[i, a], (was + new.cross[i, a]) / 2)
            for d, other in enumerate(active[i]):
                both = column in place and other in place
                was = (
                    old.gram[i, place[column], place[other]]
                    if both
                    else new.gram[i, a, d]
                )
                np.testing.assert_allclose(kept.gram[i, a, d], was)


@pytest.mark.slow
def test_squares_survive_single_precision():
    """Terms to 30^3 and residuals of 0.14: sums about C do not cancel."""
    system = gg.systems.lorenz63(dt=0.02)
    states = np.asarray(
        system.simulate(jax.random.key(0), steps=300, scheme="euler").states, float
    )
    assert np.abs(states).max() > 30
    C, noise = np.random.default_rng(0).normal(size=(3, 20)), 0.02
    terms = np.asarray(system.library(3)(jnp.asarray(states[:-1])))
    C *= np.sqrt(noise) / np.linalg.norm(terms, axis=0)
    found = []
    for double in (False, True):
        with jax.enable_x64(double):
            n = len(states) - 1
            sweep = Sweep(
                log_likelihood=jnp.zeros(()),
                filtered=jnp.zeros((n, 3)),
                before=jnp.asarray(states[:-1, None]),
                after=jnp.asarray(states[1:, None]),
                weights=jnp.ones((n, 1)),
                spread=jnp.zeros((n, 3, 3)),
                variances=jnp.ones((n, 1, 3)),
                path=jnp.asarray(states),
            )
            sums = quick_sums(
                sweep,
                system.library(3),
                jnp.asarray(system.coefficients(3, dynamics="map")),
                jnp.asarray(np.tile(np.arange(20), (3, 1))),
            )
            assert sums.gram.dtype == (jnp.float64 if double else jnp.float32)
            step = jnp.asarray(C)
            found.append([np.asarray(sums.square), np.asarray(sums.squares(step))])
    agree(*found, rtol=1e-3)
    assert (found[1][0] < 3 * noise * len(states)).all()


# Information.


class Recursion:
    """Kalman filter of `linear_model` in plain NumPy."""

    def __init__(self, model, ys):
        self.ys, self.C = np.asarray(ys), np.asarray(model.coefficients)
        self.Q = np.asarray(model.transition.noise.covariance)
        self.R = np.asarray(model.observation.noise.covariance)
        H = model.observation.matrix
        self.H = np.eye(2) if H is None else np.asarray(H)
        self.mean = np.asarray(model.initial_mean)
        self.P0 = np.asarray(model.initial_noise.covariance)
        self.S, self.gains = self.covariances(self.Q, self.R)

    def covariances(self, Q, R):
        """Covariances of the innovations, and gains: they do not depend on data."""
        F, H, P = self.C[:, 1:], self.H, self.P0
        covariances, gains = [], []
        for _ in self.ys:
            P = F @ P @ F.T + Q
            S = H @ P @ H.T + R
            gain = P @ H.T @ np.linalg.inv(S)
            P = P - gain @ H @ P
            covariances.append(S)
            gains.append(gain)
        return np.array(covariances), np.array(gains)

    def innovations(self, C, gains=None):
        """With the gains of the model's own coefficients, unless others are given."""
        m, all_ = self.mean, []
        gains = self.gains if gains is None else gains
        for y, gain in zip(self.ys, gains, strict=True):
            predicted = C @ np.array([1, *m])
            surprise = y - self.H @ predicted
            m = predicted + gain @ surprise
            all_.append(surprise)
        return np.array(all_)


def slopes(function, at, width=1e-5):
    """Central differences, one entry of the argument after the other."""
    found = []
    for where in np.ndindex(*at.shape):
        step = np.zeros_like(at)
        step[where] = width
        found.append((function(at + step) - function(at - step)) / (2 * width))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("seen", ["all", "one sum"])
def test_information_is_that_of_the_innovations(seen, x64):
    observe = None if seen == "all" else np.array([[1.0, 0.5]])
    model = linear_model(full=seen != "all", observe=observe)
    ys = gg.simulate(jax.random.key(3), model, steps=12).observations
    # A linear model is the same about any path.
    path = jax.random.normal(jax.random.key(4), (13, 2))
    active = jnp.asarray(np.tile(np.arange(3), (2, 1)))
    found = jit(information, static_argnames="noise")(
        model, ys, path, active, noise=("state_noise", "observation_noise")
    )
    kalman = Recursion(model, ys)
    weigh = np.linalg.inv(kalman.S)
    dv = slopes(kalman.innovations, kalman.C)
    expected = np.einsum("ati,tij,btj->ab", dv, weigh, dv)
    np.testing.assert_allclose(found.coefficients, expected, rtol=1e-6, atol=1e-6)

    def scaled(logs):
        """The diagonals times e^logs."""
        Q, R = kalman.Q.copy(), kalman.R.copy()
        Q[np.diag_indices(2)] *= np.exp(logs[:2])
        R[np.diag_indices(len(R))] *= np.exp(logs[2:])
        return kalman.covariances(Q, R)

    none = np.zeros(2 + len(kalman.R))
    dS = slopes(lambda logs: scaled(logs)[0], none)
    dv = slopes(lambda logs: kalman.innovations(kalman.C, scaled(logs)[1]), none)
    expected = 0.5 * np.einsum("tij,atjk,tkl,btli->ab", weigh, dS, weigh, dS)
    expected += np.einsum("ati,tij,btj->ab", dv, weigh, dv)
    assert found.noise is not None
    np.testing.assert_allclose(found.noise, expected, rtol=1e-6, atol=1e-8)
    # One of the noises: a block of the same matrix.
    m = len(expected)
    for noise, mine in (
        ("state_noise", np.arange(m) < 2),
        ("observation_noise", np.arange(m) >= 2),
    ):
        alone = jit(information, static_argnames="noise")(
            model, ys, path, active, noise=(noise,)
        )
        block = np.where(mine[:, None] & mine, expected, 0)
        np.testing.assert_allclose(alone.noise, block, rtol=1e-6, atol=1e-8)
    # Fewer active terms in another order: a block of the same matrix.
    some = jnp.array([[2, 0], [1, 2]])
    block = jit(information)(model, ys, path, some)
    assert block.noise is None
    index = np.ix_([2, 0, 4, 5], [2, 0, 4, 5])
    full = np.asarray(found.coefficients)[index]
    np.testing.assert_allclose(block.coefficients, full, rtol=1e-9)


# Unknowns.


def parts(model):
    return {
        "coefficients": (model.coefficients,),
        "state_noise": (model.transition.noise.covariance,),
        "observation_noise": (model.observation.noise.covariance,),
        "initial": (model.initial_mean, model.initial_noise.covariance),
    }


@pytest.mark.parametrize(
    "replace", [(), *((name,) for name in LEARNABLE), tuple(LEARNABLE)]
)
def test_build_replaces_just_what_is_asked(replace, x64):
    model = linear_model(observe=np.array([[1.0, 0.5]]))
    other = jax.tree.map(lambda leaf: 2 * leaf + 1, model_unknowns(model))
    before, after = parts(model), parts(build(model, other.parameters, other, replace))
    asked = {
        "coefficients": (other.parameters,),
        "state_noise": (jnp.diag(other.state_noise),),
        "observation_noise": (jnp.diag(other.observation_noise),),
        "initial": (other.initial_mean, jnp.diag(other.initial_noise)),
    }
    for name, found in after.items():
        new = name in replace or name == "coefficients"
        agree(found, asked[name] if new else before[name], rtol=1e-12)
    seen = build(model, other.parameters, other, replace).observation
    assert isinstance(seen, LinearGaussian)
    assert (seen.matrix == np.array([[1.0, 0.5]])).all()


def test_what_a_model_gives_rebuilds_it(x64):
    model = linear_model()
    again = build(model, model.coefficients, model_unknowns(model), LEARNABLE)
    for name, found in parts(again).items():
        agree(found, parts(model)[name], rtol=1e-12)


@pytest.mark.slow
def test_expectations_for_the_noises(x64):
    """From the smoothed laws: squares of what observations miss; the law of x_0."""
    model = linear_model(full=True, observe=np.array([[1.0, 0.5]]))
    ys = gg.simulate(jax.random.key(3), model, steps=12).observations
    sweep = jit(gg.GaussianSmoother().sweep)(jax.random.key(0), model, ys)
    means, covariances = sweep.means(), sweep.covariances()
    H = np.array([[1.0, 0.5]])
    miss = np.asarray(ys) - np.asarray(means[1:]) @ H.T
    expected = np.sum(miss**2, axis=0)
    expected += np.einsum("ni,tij,nj->n", H, np.asarray(covariances[1:]), H)
    found = observation_squares(sweep, model, ys)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    unknowns = model_unknowns(model)._replace(state_noise=jnp.array([1e-3, 10.0]))
    first = learn_initial(sweep, unknowns)
    np.testing.assert_allclose(first.initial_mean, means[0], rtol=1e-9)
    low = float(covariances[0, 0, 0])
    assert low > 1e-3
    np.testing.assert_allclose(first.initial_noise, [low, 10.0], rtol=1e-9)


# Compilation.


@compiled
def power(x, name):
    """A product, a factorisation, and an argument that is no array."""
    L = jnp.linalg.cholesky(jnp.eye(2) + jnp.outer(x, x))
    return {"matrix": L @ L.T, "size": jnp.sum(x**2)}[name]


@pytest.mark.parametrize("name", ["matrix", "size"])
def test_compiled_functions_nest(name):
    xs = jnp.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]])
    expected = {
        "matrix": np.eye(2) + np.einsum("bi,bj->bij", xs, xs),
        "size": np.sum(np.asarray(xs) ** 2, axis=1),
    }[name]

    def call(x):
        return power(x, name)

    batch = jax.vmap(call)
    np.testing.assert_allclose(call(xs[0]), expected[0], rtol=1e-6)
    np.testing.assert_allclose(jax.jit(call)(xs[0]), expected[0], rtol=1e-6)
    for function in (batch, jax.jit(batch)):
        np.testing.assert_allclose(function(xs), expected, rtol=1e-6, atol=1e-6)
    assert power.__doc__ is not None


# The choice of an engine.


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gaussian", gg.GaussianSmoother),
        ("particle", gg.ParticleSmoother),
        ("ensemble", gg.EnsembleSmoother),
    ],
)
def test_engines_by_name(name, kind):
    engine, reason = choose_engine(name, linear_model())
    assert type(engine) is kind
    assert reason == f"{name}: as asked for"


def test_engine_of_ones_own_is_taken_as_it_is():
    mine = gg.ParticleSmoother(7)
    engine, reason = choose_engine(mine, linear_model())
    assert engine is mine
    assert reason == "ParticleSmoother: as asked for"


def many_states(n):
    return gg.state_space_model(
        gg.Polynomial(n, 1), state_noise=1.0, observation_noise=1.0
    )


def test_engine_is_chosen_by_the_model():
    for n, name in ((250, "gaussian"), (251, "ensemble")):
        engine, reason = choose_engine("auto", many_states(n))
        assert type(engine).__name__.lower().startswith(name)
        assert reason.startswith(f"{name}: ")
        assert ("251 states are many" in reason) == (n == 251)
    heavy = Laplace(jnp.full(2, 0.4))
    for place in (
        lambda m: m.transition.noise,
        lambda m: m.initial_noise,
        lambda m: m.observation,
    ):
        model = eqx.tree_at(place, linear_model(), heavy)
        engine, reason = choose_engine("auto", model)
        assert type(engine) is gg.ParticleSmoother
        assert reason == "particle: not all distributions are known to be unimodal"
    assert isinstance(linear_model().initial_noise, GaussianNoise)


def test_unknown_engine_is_refused_with_the_choices():
    message = (
        "`engine` must be one of 'auto', 'gaussian', 'particle', 'ensemble', "
        "got 'kalman'"
    )
    with pytest.raises(ValueError, match=message):
        choose_engine("kalman", linear_model())


def test_a_hidden_term_is_found_as_a_stand_in():
    """Beside its wrong double the right term explains nothing; it must be screened."""
    rng = np.random.default_rng(0)
    terms = rng.normal(size=(200, 8))
    terms[:, 3] = terms[:, 1] + 0.3 * rng.normal(size=200)  # the double of 1
    departures = np.zeros((1, 8))
    departures[0, [0, 3]] = 5.0, 1.0
    residuals = (terms[:, 1] - terms[:, 3])[:, None]
    seen = jnp.asarray(terms), jnp.asarray(residuals)
    found = stand_ins(*seen, jnp.asarray(departures))
    assert found.shape == (1, 8)
    outside = np.delete(np.asarray(found[0]), [0, 3])
    assert np.argmax(outside) == 0  # term 1
    # What is missed without term 3 is term 1 itself.
    np.testing.assert_allclose(found[0, 1], 1, atol=1e-5)
    data = Completed(
        jnp.asarray(terms),
        jnp.asarray(residuals),
        jnp.ones((200, 1)),
        jnp.zeros(1),
    )
    keep = jnp.asarray(departures != 0)
    anything = jnp.ones_like(keep)
    assert 1 in np.asarray(screen(data, keep, anything, 3, found))
    allowed = anything.at[0, 1].set(False)
    assert 1 not in np.asarray(screen(data, keep, allowed, 3, found))


@pytest.mark.slow
def test_restricted_noise_divides_by_degrees_of_freedom():
    """States seen exactly: s / (T - k) and a third, where likelihood has s / T."""
    system = gg.systems.lotka_volterra()
    T, path = 400, system.simulate(jax.random.key(0), steps=400, scheme="euler")
    model = system.model(dynamics="map")
    noise = jnp.asarray(system.dt * system.state_noise)
    seen = gg.state_space_model(
        model.library,
        state_noise=noise,
        observation_noise=1e-6 * noise,
        initial_mean=path.states[0],
        initial_noise=1e-12,
    ).with_coefficients(model.coefficients)
    ys = jnp.asarray(path.states[1:])
    zeros = jnp.zeros_like(model.coefficients)
    plan = Plan(
        ys,
        seen,
        base=zeros,
        zero=zeros,
        low=zeros - jnp.inf,
        high=zeros + jnp.inf,
        identity=zeros,
        linear_map=None,
        floor=noise,
        criterion=ExtendedBIC(),
        terms=Terms.of(jnp.ones_like(zeros, bool), zeros.astype(int), 0),
        multiplier=jnp.array(1.0),
        trajectory=path.states,
        interpolated=jnp.zeros(T + 1, bool),
        long_gaps=None,
        free_noise=jnp.array(True),
        sources=jnp.full(len(zeros), -1),
    )
    unknowns = model_unknowns(seen)
    count = np.asarray(unknowns.parameters != 0).sum(axis=1)
    found = restricted(unknowns, jnp.asarray(path.states), plan, ("state_noise",))
    found = np.asarray(found / noise)
    slope = count / 2 + 1 / 3 - NOISE_PRIOR
    np.testing.assert_allclose(found, np.exp(slope / (T / 2 + 1)), rtol=1e-3)


@pytest.mark.parametrize("variance", [0.1, 1.0, np.inf, np.nan])
def test_coefficients_are_determined_only_if_their_variance_is_known(variance):
    code = judge(
        jnp.array(1.0),
        done=jnp.array(True),
        margin=jnp.array(9.0),
        error=jnp.array(0.5),
        relative_variance=jnp.array(variance),
        something=jnp.array(True),
        unsure=2.0,
    )
    expected = Outcome.converged if variance < 0.25 else Outcome.not_determined
    assert Outcome(int(code)) == expected


def test_identifiability_is_the_variance_of_a_joint_relative_change():
    """A hidden state's scale: what one coefficient gains the other one loses."""
    c = jnp.array([2.0, 0.5, 0.0, -3.0])
    relative = np.diag([1e-4, 1e-4, 0, 1e-2])
    tight = relative * np.outer(c, c)
    np.testing.assert_allclose(
        joint_relative_variance(c, jnp.asarray(tight)), 1e-2, rtol=1e-4
    )
    relative[:2, :2] += [[100, -100], [-100, 100]]
    loose = relative * np.outer(c, c)
    np.testing.assert_allclose(
        joint_relative_variance(c, jnp.asarray(loose)), 200, rtol=1e-4
    )


def test_a_step_that_drops_terms_must_not_lose():
    """Of rates that may not change their sign, one step too long would drop all."""
    rest = jnp.zeros(1)
    sweep: Any = SimpleNamespace(sweep=SimpleNamespace(path=rest))
    step = ScoringStep(rest, rest, jnp.asarray(1.0), rest[0], rest, rest)
    unknowns = model_unknowns(gg.systems.lotka_volterra().model())
    begun = begin_exchange(unknowns, jnp.zeros((2, 2)))
    before = begun.at._replace(log_likelihood=jnp.asarray(-70.0))

    def accepted(value, share):
        state = begun._replace(at=before, share=jnp.asarray(share))
        support = unknowns.parameters == 0  # all terms were dropped
        point = Point(unknowns, ~support, jnp.asarray(value), sweep)
        found = _accept(point, step, state, GaussianSmoother(), 15, 0.01)
        return bool(found.accepted)

    assert accepted(-69.0, 1.0)
    assert not accepted(-89.0, 1.0)
    assert accepted(-89.0, 0.04)  # the shortest share
