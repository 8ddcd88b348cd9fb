"""The units of columns and of time do not change what is found."""

import jax
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.diagnostics.term_confidence import criterion_confidence

pytestmark = pytest.mark.slow

SCALES = ((1e3, 1.0), (1e-9, 1e9), (1e9, 1e-6), (3.7e-5, 0.02))
STATES = ["prey", "predator"]


@pytest.fixture(scope="module")
def series() -> np.ndarray:
    system = gg.systems.lotka_volterra()
    rows = np.array(system.simulate(jax.random.key(0), steps=100).observations)
    rows[10, 0] = rows[30:33, 1] = np.nan
    return rows


def of_terms(model: gg.GraphGrad, scale: np.ndarray) -> np.ndarray:
    """Sizes of the terms, if each state has the size of `scale`."""
    return np.prod(scale[:, None] ** model.degrees_, axis=0)


@pytest.mark.parametrize("dynamics", ["flow", "map"])
def test_units_do_not_matter(series: np.ndarray, dynamics: str) -> None:
    fits = {}
    for scale in ((1.0, 1.0), *SCALES):
        dt = 0.03 if scale[0] > 1e-6 else 0.03 / 86_400
        model = gg.GraphGrad(dt=dt, dynamics=dynamics, states=STATES)
        fits[scale] = model.fit(series * np.array(scale))
    plain = fits[1.0, 1.0]
    ahead = plain.forecast(20, members=50)
    for scale, model in fits.items():
        size, time = np.array(scale), 0.03 / model.dt_ if dynamics == "flow" else 1
        terms = of_terms(model, size) / size[:, None]
        assert model.outcome_ == plain.outcome_
        np.testing.assert_array_equal(model.coef_ != 0, plain.coef_ != 0)
        np.testing.assert_allclose(model.coef_ * terms / time, plain.coef_, rtol=1e-7)
        found = model.standard_errors_ * terms / time
        np.testing.assert_allclose(found, plain.standard_errors_, rtol=1e-5)
        count = (~np.isnan(series)).sum(axis=0)
        density = model.log_likelihood_ + count @ np.log(size)
        assert density == pytest.approx(plain.log_likelihood_, abs=1e-6)
        states = model.state_means_ / size
        np.testing.assert_allclose(states, plain.state_means_, rtol=1e-7)
        sure, before = (criterion_confidence(fit._fit) for fit in (model, plain))
        np.testing.assert_allclose(sure, before, atol=1e-6)
        forecast = model.forecast(20, members=50)
        np.testing.assert_allclose(forecast.mean / size, ahead.mean, rtol=1e-6)
        np.testing.assert_allclose(
            forecast.band() / size[:, None], ahead.band(), rtol=1e-5
        )


def test_constraints_keep_the_units_of_the_user() -> None:
    # dx/dt = -a x, dy/dt = a x: x in grams, y in grams; sums are conserved in grams,
    # whatever the size of the two columns.
    rng = np.random.default_rng(0)
    t = 0.1 * np.arange(60)
    x = np.stack([1e-4 * np.exp(-0.5 * t), 10 + 1e-4 * (1 - np.exp(-0.5 * t))], axis=1)
    x += rng.normal(size=x.shape) * 1e-6
    model = gg.GraphGrad(
        1,
        dt=0.1,
        states=["x", "y"],
        constraints=[gg.conserve("x", "y"), gg.forbid("x", "y"), gg.forbid("x", "1")],
    ).fit(x)
    rate = model.coef_[0, model.terms_.index("x")]
    assert rate == pytest.approx(-0.5, rel=0.05)
    np.testing.assert_array_equal(model.coef_[0], -model.coef_[1])
    known = gg.GraphGrad(
        1,
        dt=0.1,
        states=["x", "y"],
        constraints=[gg.known("x", "x", -0.5), gg.bounds("y", "x", 0.1, 0.3)],
    ).fit(x)
    assert known.coef_[0, 1] == -0.5
    assert 0.1 <= known.coef_[1, 1] <= 0.3 * (1 + 1e-12)
