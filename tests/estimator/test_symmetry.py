"""Symmetries: when they are tried and kept, what is said of them, and where."""

import json
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.cli.options import gather
from graphgrad.diagnostics import symmetry as diagnosed
from graphgrad.estimator import fitting
from graphgrad.library import Polynomial
from graphgrad.model.constraints import Symmetric
from graphgrad.model.symmetry import orbits
from helpers.stubs import least_squares

N = 5


def ring(steps=300, *, odd=0.0):
    """x_i[t+1] = 0.5 x_i + 0.4 x_(i-1), but for x3's own coefficient."""
    A = 0.5 * np.eye(N) + 0.4 * np.roll(np.eye(N), -1, axis=1)
    A[2, 2] += odd
    return steps_of(A, steps)


def steps_of(A, steps):
    rng = np.random.default_rng(0)
    x, rows = np.zeros(len(A)), []
    for _ in range(steps):
        x = A @ x + 0.3 * rng.normal(size=len(A))
        rows.append(x)
    return np.array(rows)


def different(steps=300):
    """Decays of other rates, each with its own neighbour."""
    decays = np.diag(np.random.default_rng(1).uniform(0.1, 0.7, N))
    return steps_of(decays + 0.3 * np.eye(N)[[2, 4, 1, 0, 3]], steps)


@pytest.fixture
def calls(monkeypatch):
    """A regression with a criterion, and the constraints of its calls."""
    made = []

    def solve(key, ys, model, **options):
        made.append(tuple(options["constraints"]))
        found = least_squares(key, ys, model, **options)
        path = np.asarray(found.states)
        terms = np.asarray(model.library(jnp.asarray(path[:-1])))
        ahead = terms @ np.asarray(found.coefficients).T
        left = np.mean((path[2:] - ahead[1:]) ** 2, axis=0) + 1e-9
        deviance = (len(ys) - 1) * float(np.sum(np.log(left)))
        number = np.count_nonzero(found.coefficients)
        if made[-1]:
            number = len(np.unique(np.asarray(found.coefficients).round(9)))
        values = jnp.asarray(-deviance / 2), jnp.asarray(deviance + 7.0 * number)
        return eqx.tree_at(
            lambda s: (s.log_likelihood, s.criterion, s.predicted),
            found,
            (*values, jnp.asarray(ahead[:, : ys.shape[1]])),
        )

    monkeypatch.setattr(fitting, "adaptive", solve)
    return made


def test_a_ring_is_found_said_and_saved(calls, tmp_path):
    model = gg.GraphGrad(dynamics="map").fit(ring())
    assert [len(made) for made in calls] == [0, 1]
    assert model.symmetry_ == gg.cyclic(*model.state_names_)
    (note,) = model._fit.notes
    start = "The equations are the same for all of the ring x1 -> x2 -> ... -> x5 -> x1"
    assert note.startswith(f"{start}: ")
    assert note in model.summary()
    C = model.coef_[:, 1 : N + 1]
    np.testing.assert_array_equal(C[1:, 1:], C[:-1, :-1])
    np.testing.assert_allclose(C[0], [0.5, 0, 0, 0, 0.4], atol=0.1)
    model.save(tmp_path / "fit")
    loaded = gg.GraphGrad.load(tmp_path / "fit")
    assert (loaded.symmetry, loaded.symmetry_) == ("auto", model.symmetry_)
    assert note in loaded.summary()
    header = json.loads((tmp_path / "fit" / "model.json").read_text())
    assert header["notes"] == [note]


def test_a_coefficient_of_its_own_is_apart(calls):
    model = gg.GraphGrad(dynamics="map").fit(ring(600, odd=-0.9))
    assert isinstance(model.symmetry_, Symmetric)
    assert model.symmetry_.apart == (("x3", "x3"),)
    (note,) = model._fit.notes
    assert "-> x1, but for x3 in that of x3: " in note
    own = np.diag(model.coef_[:, 1:])
    np.testing.assert_allclose(own, [0.5, 0.5, -0.4, 0.5, 0.5], atol=0.15)


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        (different(), {}),
        (ring() * np.array([1, 10, 100, 1, 1]), {}),  # ties are in the user's units
        (ring()[:, :4], {}),
        (ring(), {"symmetry": None}),
        (ring(), {"constraints": [gg.forbid("x1", "x2^2")]}),
        (ring(), {"states": [f"x{i}" for i in range(7)]}),
        (ring(), {"origin": {"x1": 1.0}}),
    ],
)
def test_what_is_no_symmetry(calls, rows, settings):
    if "states" in settings:
        settings = {**settings, "observation": [f"x{i}" for i in range(N)]}
    model = gg.GraphGrad(dynamics="map", **settings).fit(rows)
    assert len(calls) == 1
    assert model.symmetry_ is None


def test_a_symmetry_that_is_not_better_is_said_to_be_tried(calls, monkeypatch):
    plain: Any = fitting.adaptive

    def solve(*args, **options):
        found = plain(*args, **options)
        worse = 1e4 if options["constraints"] else 0.0
        return eqx.tree_at(lambda s: s.criterion, found, found.criterion + worse)

    monkeypatch.setattr(fitting, "adaptive", solve)
    model = gg.GraphGrad(dynamics="map").fit(ring())
    assert len(calls) == 2
    assert model.symmetry_ is None
    (note,) = model._fit.notes
    assert note.startswith("Tried, with the change of the criterion: the equations are")


@pytest.mark.parametrize("kind", ["cyclic", "exchangeable"])
def test_a_symmetry_that_is_stated_holds(calls, kind):
    model = gg.GraphGrad(dynamics="map", symmetry=kind).fit(different())
    assert len(calls) == 1
    assert model.symmetry_ == getattr(gg, kind)(*model.state_names_)
    assert len(np.unique(np.diag(model.coef_[:, 1:]).round(12))) == 1


def test_what_is_no_setting(calls):
    with pytest.raises(ValueError, match="`symmetry` must be one of 'auto', 'cyclic'"):
        gg.GraphGrad(symmetry="mirror").fit(ring())
    with pytest.raises(ValueError, match="--symmetry"):
        gather(None, {"data": "x.csv", "symmetry": "mirror"})
    assert gather(None, {"data": "x.csv", "symmetry": "none"})["symmetry"] == "none"


def test_stepwise_selection_ends_where_no_change_pays():
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.normal(size=(40, 6)) @ (np.eye(6) + 0.5 * rng.normal(size=(6, 6)))
        y = X @ (rng.normal(size=6) * (rng.random(6) < 0.4)) + rng.normal(size=40)
        gram, cross = X.T @ X, X.T @ y

        def cost(on, gram=gram, cross=cross):
            on = np.flatnonzero(on)
            least = np.linalg.solve(gram[np.ix_(on, on)], cross[on])
            return 4.0 * len(on) - cross[on] @ least, least

        found = diagnosed.stepwise(gram, cross, np.full(6, 4.0))
        inside = found != 0
        now, least = cost(inside)
        np.testing.assert_allclose(found[inside], least)
        for i in range(6):
            for j in range(6):
                other = inside.copy()
                other[i] = not other[i]
                if i != j and inside[i] != inside[j]:
                    other[j] = not other[j]
                assert cost(other)[0] > now - 0.01


def test_a_pooled_regression_is_that_of_summed_terms(calls, monkeypatch):
    fit = gg.GraphGrad(dynamics="map", degree=1).fit(ring())._fit
    names = fit.layout.states
    tied = orbits(gg.exchangeable(*names), fit.layout.library, names, N)
    assert tied is not None
    number = tied.max() + 1
    monkeypatch.setattr(diagnosed, "orbit_penalties", lambda *_: np.zeros(number))
    rng = np.random.default_rng(0)
    terms, y = rng.normal(size=(40, N + 1)), rng.normal(size=(40, N))
    weights = rng.uniform(size=(40, N)) * (rng.random((40, N)) < 0.8)
    cross, square = (weights * y).T @ terms, (weights * y**2).sum(axis=0)
    rows = np.full(N, 40.0)
    steps = diagnosed.Steps(terms, weights, cross, square, cross, rows)
    found = diagnosed.pooled(fit, steps, tied)
    design = [terms @ (own[:, None] == np.arange(number)) for own in tied]
    root = np.sqrt(weights.T.ravel())
    X, target = np.concatenate(design) * root[:, None], y.T.ravel() * root
    amounts = np.linalg.lstsq(X, target, rcond=None)[0]
    np.testing.assert_allclose(found.coefficients, amounts[tied])
    left = ((target - X @ amounts) ** 2).reshape(N, 40).sum(axis=1) / 40
    np.testing.assert_allclose(found.criterion, 40 * np.log(left).sum())
    about = (weights * (y - terms @ found.coefficients.T)).T @ terms
    np.testing.assert_allclose(found.steps.pull, about / left[:, None])


@pytest.mark.slow
def test_a_tied_fit_from_a_start_is_a_pooled_regression():
    """With hardly any measurement noise the states are known: an exact oracle."""
    n, names = 3, ("x1", "x2", "x3")
    A = 0.5 * np.eye(n) + 0.4 * np.roll(np.eye(n), -1, axis=1)
    rows, library = steps_of(A, 90), Polynomial(n, 1)
    ring_of_three = gg.cyclic(*names)
    with jax.enable_x64(True):
        model = gg.state_space_model(
            library,
            dynamics="map",
            state_noise=0.1,
            observation_noise=1e-8,
            initial_mean=rows[0],
            initial_noise=1.0,
        )
        options = {"learn": ("state_noise",), "constraints": [ring_of_three]}
        key = jax.random.key(0)
        start = least_squares(key, rows, model, engine="auto", **options)
        found = gg.adaptive(key, rows, model, states=names, start=start, **options)
        C, errors = np.asarray(found.coefficients), np.asarray(found.standard_errors)
        weights = 1 / np.asarray(found.state_noise)
    assert found.outcome.name == "converged"
    for i in range(n):  # x_i and the one before it
        assert np.flatnonzero(C[i]).tolist() == sorted([1 + i, 1 + (i - 1) % n])
    design = np.stack([rows[:-1], np.roll(rows[:-1], 1, axis=1)])
    gram = np.einsum("ati,bti,i->ab", design, design, weights)
    cross = np.einsum("ati,ti,i->a", design, rows[1:], weights)
    oracle = np.linalg.solve(gram, cross)
    np.testing.assert_allclose(C[1, [2, 1]], oracle, rtol=0.02)
    np.testing.assert_allclose(C[1:, 2:], C[:-1, 1:-1])
    least = np.sqrt(np.diag(np.linalg.inv(gram)))
    np.testing.assert_allclose(errors[1, [2, 1]], least, rtol=0.02)
    left = rows[1:] - np.einsum("a,ati->ti", oracle, design)
    np.testing.assert_allclose(1 / weights, (left**2).mean(axis=0), rtol=0.05)


@pytest.mark.slow
def test_information_on_few_parameters_is_that_on_all_coefficients():
    from graphgrad.engines.information import information
    from graphgrad.model import resolve_constraints

    with jax.enable_x64(True):
        library = Polynomial(4, 1)
        told = resolve_constraints([gg.cyclic("x1", "x2", "x3", "x4")], library)
        assert told.linear_map is not None
        C = 0.3 * told.linear_map.sum(axis=1).reshape(4, 5) * np.eye(4, 5, 1)
        model = gg.state_space_model(
            library, C, dynamics="map", state_noise=0.1, observation_noise=0.1
        )
        rows = jnp.asarray(np.random.default_rng(0).normal(size=(30, 4)))
        path = jnp.concatenate([rows[:1], rows])
        active = jnp.broadcast_to(jnp.arange(5), (4, 5))
        L = jnp.asarray(told.linear_map)
        noise = ("state_noise", "observation_noise")
        every = information(model, rows, path, active, noise=noise)
        few = information(model, rows, path, active, noise=noise, linear_map=L)
    ties, matrix = told.linear_map, np.asarray(every.coefficients)
    np.testing.assert_allclose(few.coefficients, ties.T @ matrix @ ties)
    np.testing.assert_allclose(np.asarray(few.noise), np.asarray(every.noise))
