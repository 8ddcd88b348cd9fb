"""Flows: one interval against SciPy, the filter against Kalman, fits against truths."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import graphgrad as gg
from graphgrad.engines.information import information
from graphgrad.model import FlowMean, Schedule
from graphgrad.solvers.adaptive.design import _spline_slopes
from graphgrad.solvers.adaptive.substeps import Doubling, next_size
from helpers.stubs import least_squares

KEY = jax.random.key(0)
LIBRARY = gg.Polynomial(3, 2)
NAMES = LIBRARY.names(("x1", "x2", "x3"))


def lorenz():
    A = np.zeros((3, len(NAMES)))
    for row, term, value in (
        (0, "x1", -10.0),
        (0, "x2", 10.0),
        (1, "x1", 28.0),
        (1, "x2", -1.0),
        (1, "x1 x3", -1.0),
        (2, "x1 x2", 1.0),
        (2, "x3", -8 / 3),
    ):
        A[row, NAMES.index(term)] = value
    return A


A = lorenz()
X = np.array([-8.0, 8.0, 27.0])


def rate(_, x):
    return A @ np.asarray(LIBRARY(jnp.asarray(x)))


def flow(h, substeps=1):
    return FlowMean(
        LIBRARY,
        jnp.asarray(A),
        interval=jnp.asarray(h),
        substeps=jnp.asarray(substeps),
    )


def exact(h, x=X):
    return solve_ivp(rate, (0, h), x, rtol=1e-12, atol=1e-12).y[:, -1]


@pytest.mark.slow
@pytest.mark.parametrize("substeps", [1, 2, 8])
def test_errors_fall_with_the_fourth_power_of_the_substeps(x64, substeps):
    coarse, fine = (
        np.abs(flow(0.04, k)(jnp.asarray(X)) - exact(0.04)).max()
        for k in (substeps, 2 * substeps)
    )
    assert 10 < coarse / fine < 26


@pytest.mark.parametrize("substeps", [1, 3])
def test_expansion_is_the_derivative(x64, substeps):
    mean, x = flow(0.02, substeps), jnp.asarray(X)
    active = jnp.broadcast_to(jnp.arange(len(NAMES)), A.shape)
    found = mean.expand(x, jnp.eye(3), active)
    assert found.sensitivity is not None
    np.testing.assert_allclose(found.value, mean(x), rtol=1e-12)
    np.testing.assert_allclose(found.slope, jax.jacfwd(mean)(x), atol=1e-12)
    terms, rest = mean.design(x)
    np.testing.assert_allclose(rest + A @ terms, mean(x), rtol=1e-12)
    true = jax.jacfwd(lambda C: mean.with_coefficients(C)(x))(jnp.asarray(A))
    # To second order in the length of a substep.
    sized = np.abs(true).max()
    np.testing.assert_allclose(
        found.sensitivity, true.reshape(3, -1), atol=0.02 * sized / substeps**2
    )


@pytest.mark.slow
def test_noise_of_one_equation_reaches_the_others(x64):
    """Against the differential equation of the covariance."""

    def covariance(_, z):
        x, Q = z[:3], z[3:].reshape(3, 3)
        J = A @ np.asarray(jax.jacfwd(LIBRARY)(jnp.asarray(x)))
        return np.concatenate([rate(0, x), (J @ Q + Q @ J.T + entering).ravel()])

    entering = np.diag([0.0, 2.0, 0.0])
    start = np.concatenate([X, np.zeros(9)])
    true = solve_ivp(covariance, (0, 0.05), start, rtol=1e-9, atol=1e-12).y[3:, -1]
    factor = jnp.diag(jnp.sqrt(jnp.array([0.0, 2.0, 0.0])))
    found = flow(0.05, 8).expand(jnp.asarray(X), factor).sources
    assert found is not None
    found = found.sum(axis=0)
    scale = np.sqrt(np.diag(true.reshape(3, 3)))
    np.testing.assert_allclose(
        found / np.outer(scale, scale),
        true.reshape(3, 3) / np.outer(scale, scale),
        atol=0.01,
    )
    assert (np.linalg.eigvalsh(found) > 0).all()


def test_inputs_are_held_or_interpolated(x64):
    """dx/dt = u: the end of an interval is the integral of the input."""
    library = gg.Polynomial(2, 1)
    for later, moved in ((None, 2.0), (jnp.array([6.0]), 4.0)):
        moment = Schedule(
            jnp.array(0.5),
            jnp.array(False),
            jnp.zeros(1),
            jnp.array([2.0]),
            later_inputs=later,
        )
        mean = FlowMean(
            library, jnp.array([[0.0, 0.0, 1.0]]), interval=jnp.array(2.0)
        ).at(moment)
        np.testing.assert_allclose(mean(jnp.array([1.0])), [1.0 + moved])


def linear_model(dt=0.3, substeps=8, **options):
    """A damped oscillator: the flow over an interval is a matrix exponential."""
    library = gg.Polynomial(2, 1)
    coefficients = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, -0.2]])
    return gg.state_space_model(
        library,
        coefficients,
        dynamics="flow",
        dt=dt,
        substeps=substeps,
        **{"state_noise": [0.0, 0.3], "observation_noise": 0.1, **options},
    )


def kalman(ys, lengths, model):
    """Log-likelihood of a linear flow, from matrix exponentials."""
    F = np.array([[0.0, 1.0], [-1.0, -0.2]])
    m, P, total = np.zeros(2), np.eye(2), 0.0
    for y, h in zip(ys, lengths, strict=True):
        # Van Loan's block exponential gives transition and noise together.
        block = np.zeros((4, 4))
        block[:2, :2], block[2:, 2:] = -F, F.T
        block[:2, 2:] = np.diag([0.0, 0.3])
        big = expm(block * h)
        Phi = big[2:, 2:].T
        m, P = Phi @ m, Phi @ P @ Phi.T + Phi @ big[:2, 2:]
        seen = ~np.isnan(y)
        if seen.any():
            H = np.eye(2)[seen]
            S = H @ P @ H.T + 0.1 * np.eye(len(H))
            v = y[seen] - H @ m
            total -= 0.5 * (v @ np.linalg.solve(S, v) + np.linalg.slogdet(S)[1])
            total -= 0.5 * len(H) * np.log(2 * np.pi)
            K = P @ H.T @ np.linalg.inv(S)
            m, P = m + K @ v, P - K @ H @ P
    return total


def test_filter_of_a_linear_flow_is_kalmans(x64):
    """Equal intervals, then irregular ones with sensors read at different times."""
    model, rng = linear_model(), np.random.default_rng(0)
    ys = rng.normal(size=(20, 2))
    engine = gg.GaussianSmoother()
    found = engine.sweep(KEY, model, jnp.asarray(ys)).log_likelihood
    np.testing.assert_allclose(found, kalman(ys, np.full(20, 0.3), model), atol=1e-3)
    times = np.cumsum(rng.uniform(0.05, 1.5, 20))
    ys[rng.random(ys.shape) < 0.5] = np.nan
    arranged = gg.arrange(model, ys, times=times, dt=0.3)
    lengths = np.concatenate([[0.3], np.diff(times)])
    found = engine.sweep(KEY, arranged.model, jnp.asarray(arranged.ys)).log_likelihood
    np.testing.assert_allclose(found, kalman(ys, lengths, model), atol=1e-3)
    # Only intervals of more than two usual ones are divided.
    assert len(arranged.ys) == np.ceil(lengths / 0.6 - 1e-6).clip(1).sum()


@pytest.mark.slow
@pytest.mark.parametrize("proposal", ["bootstrap", "locally optimal", "linearised"])
def test_particles_of_a_flow_agree_with_kalman(x64, proposal):
    """The mean of five runs with 1000 particles; other seeds were not tried."""
    model = linear_model(state_noise=[0.2, 0.3])
    ys = gg.simulate(KEY, model, steps=15).observations
    true = gg.GaussianSmoother().sweep(KEY, model, ys).log_likelihood
    run = jax.jit(gg.ParticleFilter(1000, proposal=proposal))
    values = [run(jax.random.key(i), model, ys).log_likelihood for i in range(5)]
    assert abs(np.mean(values) - true) < 0.5


@pytest.mark.slow
def test_ensemble_of_a_flow_agrees_with_kalman(x64):
    model = linear_model(state_noise=[0.2, 0.3])
    ys = gg.simulate(KEY, model, steps=15).observations
    true = gg.GaussianSmoother().sweep(KEY, model, ys).log_likelihood
    found = gg.EnsembleSmoother(40).sweep(KEY, model, ys).log_likelihood
    np.testing.assert_allclose(found, true, atol=0.3)


@pytest.mark.slow
def test_information_is_the_curvature_of_the_likelihood(x64):
    """Of a linear flow, whose innovations are nearly linear in the coefficients."""
    model = linear_model(substeps=2, dt=0.1)
    ys = gg.simulate(KEY, model, steps=200).observations
    engine = gg.GaussianSmoother()
    path = engine.sweep(KEY, model, ys).means()
    active = jnp.broadcast_to(jnp.arange(3), (2, 3))
    found = np.asarray(information(model, ys, path, active).coefficients)

    def value(C):
        return engine.log_likelihood(model.with_coefficients(C), ys, path)

    gradient, width = jax.jit(jax.grad(value)), 1e-5

    def column(number):
        step = width * np.eye(6)[number].reshape(2, 3)
        ends = (gradient(model.coefficients + sign * step) for sign in (1, -1))
        above, below = ends
        return np.asarray(above - below).ravel() / (2 * width)

    hessian = -np.stack([column(number) for number in range(6)])
    scale = np.sqrt(np.diag(found))
    difference = (hessian - found) / np.outer(scale, scale)
    assert np.abs(difference).max() < 0.25


@pytest.mark.parametrize("degree", [1, 2])
def test_derivatives_of_expansions_of_many_states(degree, x64):
    """Of a linear flow, too, whose slope is the same everywhere."""
    library = gg.Polynomial(2, degree)
    model = gg.state_space_model(
        library, state_noise=0.2, observation_noise=0.1, dynamics="flow", dt=0.1
    )
    states = jax.random.normal(KEY, (4, 2))
    C = jax.random.normal(jax.random.key(1), (2, library.n_terms))

    def total(C):
        expand = jax.vmap(model.with_coefficients(jnp.asarray(C)).transition.expand)
        found = expand(states)
        assert found.covariance is not None
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in (found.slope, found.covariance))

    check_grads(total, (C,), order=1, modes=["rev"], eps=1e-6)


@pytest.mark.slow
def test_splines_see_fast_oscillations(x64):
    """Five rows an oscillation: differences miss a quarter of the slope."""
    t = 2 * np.pi / 5 * np.arange(60)
    path = jnp.asarray(np.sin(t)[:, None])
    slopes = np.asarray(_spline_slopes(path, jnp.full((59, 1), 5 / (2 * np.pi))))
    inner = slice(8, -8)
    assert np.abs(slopes[inner, 0] - np.cos(t)[inner]).max() < 0.04
    apart = jnp.full((59, 1), 5 / (2 * np.pi)).at[30].set(0)
    broken = np.asarray(_spline_slopes(path.at[31:].add(100.0), apart))
    np.testing.assert_allclose(broken[8:22, 0], np.cos(t)[8:22], atol=0.04)


def test_sizes_by_step_doubling():
    def change(likelihood, squares=0.0):
        return Doubling(*(jnp.asarray(v) for v in (likelihood, squares, 1.0)))

    assert next_size(change(0.01), 1) == 1
    assert next_size(change(0.5), 1) == 2
    assert next_size(change(0.0, 0.1 * 3.9**8), 1) == 4
    assert next_size(change(jnp.nan), 2) == 8
    assert next_size(change(1.0), 16) is None


def series(noise=0.02, rows=150, dt=0.02, seed=0):
    rng = np.random.default_rng(seed)
    times = dt * np.arange(rows)
    x = solve_ivp(rate, times[[0, -1]], X, t_eval=times, rtol=1e-9, atol=1e-9).y.T
    return x + noise * x.std(axis=0) * rng.normal(size=x.shape)


@pytest.fixture(scope="module")
def fitted():
    return gg.GraphGrad(dt=0.02).fit(series())


@pytest.mark.slow
def test_lorenz_comes_out_with_the_numbers_that_everybody_knows(fitted):
    """One series; how often others come out right is in docs/scoreboards/flows.md."""
    assert fitted.dynamics_ == "flow"
    assert fitted.outcome_ == "converged"
    np.testing.assert_array_equal(fitted.coef_ != 0, A != 0)
    np.testing.assert_allclose(fitted.coef_[A != 0], A[A != 0], rtol=0.05)
    assert (fitted.state_noise_ == 0).all()  # none was there, and none is needed
    assert fitted.equations()[0].startswith("dx1/dt = ")
    away = np.abs(fitted.coef_ - A)[A != 0] / fitted.standard_errors_[A != 0]
    assert away.max() < 4


@pytest.mark.slow
def test_forecasts_of_a_flow_follow_it(fitted):
    ahead = fitted.forecast(steps=10, members=50)
    path = fitted.simulate(fitted.state_means_[-1], steps=10)
    true = solve_ivp(
        lambda _, x: fitted.numpy_function()(0.0, x),
        (0, 0.2),
        fitted.state_means_[-1],
        t_eval=0.02 * np.arange(11),
        rtol=1e-9,
        atol=1e-9,
    ).y.T
    np.testing.assert_allclose(path, true, atol=1e-3)
    np.testing.assert_allclose(ahead.mean, true[1:], atol=1.0)


@pytest.mark.slow
def test_units_do_not_matter(fitted):
    """One column in other units: the same terms, rates and outcome."""
    unit = np.array([1e3, 1.0, 1e-2])
    other = gg.GraphGrad(dt=0.02).fit(series() * unit)
    assert other.outcome_ == fitted.outcome_
    degrees = np.asarray(LIBRARY.degrees)
    back = other.coef_ / unit[:, None] * np.prod(unit[:, None] ** degrees, axis=0)
    np.testing.assert_allclose(back, fitted.coef_, rtol=1e-4, atol=1e-8)


@pytest.mark.slow
def test_hare_and_lynx():
    """21 rows of pelts: Lotka and Volterra's four terms, in any units."""
    hare = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1]
    hare += [40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
    lynx = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4]
    lynx += [8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]
    for unit in ((1, 1), (1000, 1), (1e-3, 1e4)):
        pelts = np.column_stack([hare, lynx]) * unit
        model = gg.GraphGrad(dt=1, states=["hare", "lynx"]).fit(pelts)
        found = {
            (model.state_names_[i], model.terms_[j])
            for i, j in np.argwhere(model.coef_ != 0)
        }
        assert found == {
            ("hare", "hare"),
            ("hare", "hare lynx"),
            ("lynx", "lynx"),
            ("lynx", "hare lynx"),
        }


@pytest.mark.slow
def test_a_pendulum_whose_velocity_is_not_seen():
    """A shorter series than those of `benchmarks/flow_checks.py`: 19 of 20 right."""
    rng = np.random.default_rng(1)
    times = 0.15 * np.arange(200)
    x = (
        solve_ivp(
            lambda _, z: [z[1], -np.sin(z[0]) - 0.05 * z[1]],
            times[[0, -1]],
            [2.3, 0.0],
            t_eval=times,
            rtol=1e-9,
        )
        .y[:1]
        .T
    )
    y = x + 0.03 * x.std() * rng.normal(size=x.shape)
    library = gg.Polynomial(2, 2) + gg.trigonometric_terms(2)
    model = gg.GraphGrad(
        dt=0.15, library=library, states=["x"], constraints=[gg.velocity("x", "v")]
    ).fit(y)
    assert model.state_names_ == ["x", "v"]
    terms = {model.terms_[j] for j in np.flatnonzero(model.coef_[1])}
    assert terms == {"v", "sin(x)"}


@pytest.mark.slow
def test_an_alternating_series_is_no_flow():
    """Its map is fitted in the end, and said."""
    rng, x = np.random.default_rng(0), [1.0]
    for _ in range(80):
        x.append(-0.9 * x[-1] + 0.3 * rng.normal())
    y = np.array(x)[:, None]
    model = gg.GraphGrad(degree=1, dt=1.0).fit(y)
    assert model.dynamics_ == "map"
    assert model.coef_[0, 1] < -0.7
    asked = gg.GraphGrad(degree=1, dt=1.0, dynamics="flow").fit(y)
    assert asked.outcome_ == "interval_too_long"
    assert "Sample more often" in asked.advice_


@pytest.mark.slow
def test_a_rate_in_the_wrong_unit_contradicts_the_data():
    """A coefficient of a step, given as a rate."""
    rng, times = np.random.default_rng(0), 0.1 * np.arange(100)
    x = np.column_stack([np.cos(times), np.sin(times)]) * np.exp(-0.1 * times)[:, None]
    y = x + 0.01 * rng.normal(size=x.shape)
    for value, outcome in ((-0.1, "contradicted"), (-1.0, "converged")):
        told = [gg.known("x1", "x2", value)]
        model = gg.GraphGrad(dt=0.1, constraints=told).fit(y)
        assert model.outcome_ == outcome


@pytest.mark.slow
def test_posterior_of_a_flow_is_that_of_exact_sums(x64):
    """Supports of a constant and a rate, coefficients integrated on a grid."""
    model = gg.state_space_model(
        gg.Polynomial(1, 1),
        [[0.4, -0.9]],
        dynamics="flow",
        dt=0.5,
        substeps=2,
        state_noise=0.3,
        observation_noise=1e-6,
        initial_noise=1e-6,
    )
    ys = gg.simulate(jax.random.key(2), model, steps=25).observations
    # The draws may begin anywhere, such as from a regression on Euler steps.
    fit = least_squares(KEY, ys, model, engine=None, learn=())
    states = jnp.asarray(fit.states)
    zero = model.mean.with_coefficients(jnp.zeros((1, 2)))
    sizes = np.sqrt(np.mean(np.asarray(zero.design(states[:-1])[0]) ** 2, axis=0))
    slab = np.sqrt(np.mean(np.asarray(states[1:]) ** 2)) / sizes

    @jax.jit
    @jax.vmap
    def density(c):
        transition = model.with_coefficients(c[None]).transition
        return jnp.sum(transition.log_prob(states[1:], states[:-1]))

    grids = [np.linspace(-5 * s, 5 * s, 201) for s in slab]
    steps = [grid[1] - grid[0] for grid in grids]

    def evidence(on):
        axes = [
            grid if used else np.zeros(1) for grid, used in zip(grids, on, strict=True)
        ]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
        prior = sum(
            -0.5 * (points[:, j] / slab[j]) ** 2
            - np.log(slab[j] * np.sqrt(2 * np.pi))
            + np.log(steps[j])
            for j in range(2)
            if on[j]
        )
        return jax.nn.logsumexp(density(jnp.asarray(points)) + prior)

    from itertools import product

    from scipy.special import betaln

    supports = np.array(list(product([False, True], repeat=2)))
    weights = np.array(
        [float(evidence(s)) + betaln(1 + s.sum(), 3 - s.sum()) for s in supports]
    )
    weights = np.exp(weights - weights.max())
    true = (weights / weights.sum()) @ supports
    found = gg.posterior(jax.random.key(1), ys, model, fit, draws=6000, num_particles=5)
    np.testing.assert_allclose(found.terms[0], true, atol=0.05)


def flow_model(**options):
    return gg.state_space_model(
        gg.Polynomial(1, 1),
        dynamics="flow",
        dt=0.1,
        **{"state_noise": 0.1, "observation_noise": 0.1, **options},
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gg.GraphGrad(dynamics="flow").fit(np.zeros((5, 1))),
            "`dt` or times must be given for `dynamics='flow'`, got neither",
        ),
        (
            lambda: gg.state_space_model(
                gg.Polynomial(1, 1),
                dynamics="flow",
                state_noise=1.0,
                observation_noise=1.0,
            ),
            "`dt` must be given for `dynamics='flow'`, got None",
        ),
        (
            lambda: gg.GraphGrad(**{"form": "rate"}),  # pyright: ignore
            "Use `dynamics`: 'flow' for dx/dt",
        ),
        (
            lambda: gg.adaptive(KEY, np.zeros((5, 1)), flow_model(), form="rate"),
            "`form` must be left out, got 'rate'",
        ),
        (
            lambda: gg.adaptive(KEY, np.zeros((5, 1)), flow_model(), dynamics="map"),
            "`dynamics` must be that of the model, 'flow', got 'map'",
        ),
        (
            lambda: gg.adaptive(
                KEY, np.zeros((5, 1)), flow_model(state_noise=0), engine="particle"
            ),
            "`state_noise` must not be 0 for an engine that samples states",
        ),
        (
            lambda: gg.b_graphgrad(KEY, np.zeros((9, 1)), flow_model(), gg.L1(1.0)),
            "`model` must be a map for the paper's solvers, got a flow",
        ),
        (
            lambda: gg.GraphGrad(solver="paper", dynamics="flow", dt=1.0).fit(
                np.zeros((5, 1))
            ),
            "`dynamics` must be 'map' for the paper's solver, got 'flow'",
        ),
        (
            lambda: gg.GraphGrad(constraints=[gg.velocity("x1", "v")]).fit(
                np.arange(5.0)[:, None] ** 2
            ),
            "`velocity` must be absent for `dynamics='map'`",
        ),
        (lambda: gg.velocity("x", "x"), "must be another state than `position`"),
        (
            lambda: gg.arrange(
                linear_model(), np.zeros((3, 2)), times=[0, 2, 1], dt=0.3
            ),
            "`times` must rise from row to row",
        ),
        (
            lambda: gg.state_space_model(
                gg.Polynomial(1, 1), state_noise=0.0, observation_noise=1.0
            ),
            "state_noise",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.* columns that vary")
def test_bad_settings_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_model_carries_what_it_is():
    model = flow_model(substeps=3)
    assert model.dynamics == "flow"
    assert isinstance(model.mean, FlowMean)
    assert int(model.mean.substeps) == 3
    moved = model.with_coefficients(jnp.ones((1, 2)))
    assert isinstance(moved.mean, FlowMean)
    assert eqx.tree_equal(moved.mean.interval, model.mean.interval)
