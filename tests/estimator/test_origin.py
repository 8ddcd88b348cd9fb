"""Another origin of the terms: when it is tried and kept, and where it shows."""

import json
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import graphgrad as gg
from graphgrad.cli.summary import header_equations
from graphgrad.estimator import fitting
from graphgrad.estimator.display import fit_html
from graphgrad.library import Shifted
from helpers.stubs import least_squares

STATES = ["prey", "fox"]
FAR = np.array([40.0, -30.0])


def predators(steps=90):
    """Lotka and Volterra's equations with all coefficients 1, about (1, 1)."""

    def rate(_, z):
        return z[0] * (1 - z[1]), z[1] * (z[0] - 1)

    times = 0.1 * np.arange(steps)
    path = solve_ivp(rate, (0, times[-1]), (1.6, 0.8), t_eval=times, rtol=1e-9).y.T
    return path + 0.005 * np.random.default_rng(0).normal(size=path.shape)


@pytest.fixture
def calls(monkeypatch):
    """A solver that finds equations about another origin better, and its calls."""
    made = []

    def solve(key, ys, model, **options):
        made.append(model.library)
        found = least_squares(key, ys, model, **options)
        value = jnp.asarray(0.0 if isinstance(model.library, Shifted) else 1e3)
        return eqx.tree_at(lambda s: s.criterion, found, value)

    monkeypatch.setattr(fitting, "adaptive", solve)
    return made


def far_rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 2)) + FAR


def test_near_zero_nothing_else_is_tried(calls):
    rows = far_rows() - FAR + np.array([5.0, -3.0])
    model = gg.GraphGrad(dynamics="map").fit(rows)
    assert len(calls) == 1
    np.testing.assert_array_equal(model.origin_, [0, 0])
    assert not model._fit.notes


@pytest.mark.parametrize(
    "settings",
    [
        {"origin": None},
        {"degree": 1},
        {"constraints": [gg.forbid("x1", "x2")]},
        {"library": gg.Polynomial(2, 1) + gg.trigonometric_terms(2)},
        {
            "observation": lambda x: x,
            "states": ["x1", "x2"],
            "initial": (FAR, np.eye(2)),
        },
    ],
)
def test_what_keeps_the_origin_of_the_data(calls, settings):
    model = gg.GraphGrad(dynamics="map", **settings).fit(far_rows())
    assert len(calls) == 1
    assert not model.origin_.any()


def test_ties_go_to_zero(monkeypatch):
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    model = gg.GraphGrad(dynamics="map").fit(far_rows())
    assert not model.origin_.any()
    assert "(" not in "".join(model.terms_)
    (note,) = model._fit.notes
    assert note.startswith("Tried, with the change of the criterion: origin x1=40.")


@pytest.mark.parametrize("scale", [1e-9, 3.7e5])
def test_the_origin_has_the_units_of_its_column(calls, scale):
    y = far_rows()
    sizes = np.array([scale, 1 / scale])
    plain, other = (gg.GraphGrad(dynamics="map").fit(y * s) for s in (1, sizes))
    np.testing.assert_allclose(plain.origin_, y.mean(axis=0), rtol=0.05)
    np.testing.assert_allclose(other.origin_ / sizes, plain.origin_, rtol=1e-9)


@pytest.mark.parametrize("dynamics", ["flow", "map", "difference"])
def test_it_is_the_same_everywhere(calls, dynamics, tmp_path):
    y = np.column_stack([far_rows(), np.random.default_rng(1).normal(size=40)])
    u = 25 + np.random.default_rng(2).normal(size=(40, 1))
    dt = {"dt": 0.5} if dynamics == "flow" else {}
    model = gg.GraphGrad(dynamics=dynamics, **dt).fit(y, inputs=u)
    assert (model.origin_ != 0).tolist() == [True, True, False, True]
    shown = [f"{abs(c):.8g}" for c in model.origin_]
    names = f"(x1 - {shown[0]})", f"(x2 + {shown[1]})", "x3", f"(u1 - {shown[3]})"
    assert tuple(model.terms_[1:5]) == names
    lines = model.equations()
    assert names[0] in lines[0]
    assert shown[0] in model.latex()[0]
    assert names[0] in fit_html(model._fit)  # as reports have it
    # Its NumPy function is the model's own mean.
    rows, time = y[:5], (0.0,) if dynamics == "flow" else ()
    library: Any = model._fit.layout.library
    values = library.centred.powers
    away = np.column_stack([rows, u[:5]]) - model.origin_
    terms = np.prod(away[:, :, None] ** values, axis=1)
    found = model.numpy_function()(*time, rows, u[:5])
    offset = rows if dynamics == "difference" else 0
    np.testing.assert_allclose(found, terms @ model.coef_.T + offset, rtol=1e-9)
    path = tmp_path / "fit"
    model.save(path)
    loaded = gg.GraphGrad.load(path)
    np.testing.assert_array_equal(loaded.origin_, model.origin_)
    assert loaded.equations() == lines
    assert loaded._fit.notes == model._fit.notes
    header = json.loads((path / "model.json").read_text())
    assert header["origin"] == model.origin_.tolist()
    assert names[0] in header_equations(header)[0]


def test_a_delayed_state_has_the_origin_of_the_state(calls):
    model = gg.GraphGrad(lags=1).fit(far_rows())
    np.testing.assert_array_equal(model.origin_[:2], model.origin_[2:])
    assert model.origin_.all()
    # Its equation is that it is the state a step before.
    step = model.numpy_function()(np.array([41.0, -29.0, 39.0, -31.0]))
    np.testing.assert_allclose(step[2:], [41, -29], rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"origin": {"T": 3.0}}, "T"),
        ({"origin": "mean"}, "'mean'"),
        ({"origin": 3.0}, "3.0"),
        ({"origin": {"x1": np.nan}}, "finite"),
        (
            {"origin": {"x1": 3.0}, "constraints": [gg.forbid("x1", "x2")]},
            "constraints",
        ),
        ({"origin": {"x1": 3.0}, "library": gg.Polynomial(2, 1, root=2)}, "monomials"),
    ],
)
def test_what_cannot_be_an_origin(calls, settings, words):
    with pytest.raises(ValueError, match="origin") as caught:
        gg.GraphGrad(dynamics="map", **settings).fit(far_rows())
    assert words in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("dynamics", ["flow", "map"])
def test_about_a_given_origin_the_fit_is_that_of_the_distance(dynamics):
    y = predators()
    options = {"dt": 0.1, "dynamics": dynamics, "states": STATES}
    plain = gg.GraphGrad(**options).fit(y)
    given = dict(zip(STATES, FAR.tolist(), strict=True))
    model = gg.GraphGrad(**options, origin=given).fit(y + FAR)
    still = np.zeros_like(plain.coef_)
    if dynamics == "map":
        still[:, 0] = FAR
    np.testing.assert_allclose(model.coef_ - still, plain.coef_, rtol=1e-9, atol=1e-12)
    assert model.outcome_ == plain.outcome_
    assert model.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-8)
    np.testing.assert_allclose(model.state_means_ - FAR, plain.state_means_, atol=1e-9)
    ahead, there = (fit.forecast(10, members=20) for fit in (plain, model))
    np.testing.assert_allclose(there.mean - FAR, ahead.mean, atol=1e-6)
    np.testing.assert_array_equal(model.adjacency_, plain.adjacency_)


@pytest.mark.slow
def test_kelvin_celsius_and_other_units_give_the_same_sparse_equations():
    y = predators()
    options = {"dt": 0.1, "states": STATES}
    plain = gg.GraphGrad(**options).fit(y + FAR)
    # Lotka and Volterra's equations about their fixed point.
    np.testing.assert_allclose(plain.origin_, FAR + 1, atol=0.01)
    assert np.flatnonzero(plain.coef_[0]).tolist() == [2, 4]
    assert np.flatnonzero(plain.coef_[1]).tolist() == [1, 4]
    np.testing.assert_allclose(np.abs(plain.coef_[plain.coef_ != 0]), 1, atol=0.03)
    ahead = plain.forecast(10, members=20)
    for shift, scale in (((273.15, 0.0), (1.0, 1.0)), ((0.0, 0.0), (1e9, 3.7e-9))):
        level, size = np.array(shift), np.array(scale)
        model = gg.GraphGrad(**options).fit((y + FAR + level) * size)
        np.testing.assert_allclose(
            model.origin_ / size - level, plain.origin_, rtol=1e-7
        )
        terms = np.prod(size[:, None] ** model.degrees_, axis=0) / size[:, None]
        np.testing.assert_allclose(model.coef_ * terms, plain.coef_, rtol=1e-5)
        there = model.forecast(10, members=20).mean / size - level
        np.testing.assert_allclose(there, ahead.mean, atol=1e-6)


@pytest.mark.slow
def test_a_room_has_no_constant_in_kelvin_either():
    # A room that follows the weather; both in Celsius.
    rng = np.random.default_rng(0)
    room, weather, rows = 16.0, 12.0, []
    for _ in range(90 * 20):
        rows.append((room, weather))
        room += 0.02 * (0.5 * (weather - room)) + 0.01 * rng.normal()
        weather += 0.02 * 0.3 * (14 - weather) + 0.3 * rng.normal()
    y = np.array(rows)[::20] + 0.02 * rng.normal(size=(90, 2))
    celsius, kelvin = (
        gg.GraphGrad(dt=0.4, states=["room", "weather"]).fit(y + c) for c in (0, 273.15)
    )
    assert not celsius.origin_.any()
    assert not kelvin.origin_.any()
    for model in (celsius, kelvin):
        assert np.flatnonzero(model.coef_[0]).tolist() == [1, 2], model.equations()
    np.testing.assert_allclose(kelvin.coef_[0], celsius.coef_[0], rtol=0.1)
    ahead, there = (fit.forecast(20, members=200) for fit in (celsius, kelvin))
    width = np.diff(ahead.band(), axis=-1)[..., 0]
    assert (np.abs(there.mean - 273.15 - ahead.mean) < 0.1 * width).all()
