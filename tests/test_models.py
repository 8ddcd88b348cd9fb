"""Models of known structure: constraints are exact; docs/howto/recipes.md fits them."""

import numpy as np
import pandas as pd
import pytest

import graphgrad as gg
from graphgrad.estimator import fitting
from graphgrad.library import Polynomial
from graphgrad.model import resolve_constraints
from helpers.stubs import least_squares


def _resolved(model):
    library = Polynomial(len(model.states), model.degree)
    return library, resolve_constraints(
        model.constraints, library, model.states, n_inputs=0, dynamics="flow"
    )


def _coefficients(model, rates):
    """Coefficients by target and term, if the free parameters have these values."""
    library, resolved = _resolved(model)
    assert int(resolved.free.sum()) == len(rates)
    parameters = np.zeros(resolved.free.shape)
    parameters[resolved.free] = rates
    change = parameters
    if resolved.linear_map is not None:
        change = (resolved.linear_map @ parameters[0]).reshape(resolved.base.shape)
    found = resolved.base + change
    names = library.names(model.states)
    return {
        (model.states[i], names[j]): found[i, j].item()
        for i, j in np.argwhere(found != 0)
    }


def test_an_epidemic_has_two_rates():
    assert _coefficients(gg.models.sir(763), [0.5, 2.0]) in (
        {("S", "S I"): -b, ("I", "S I"): b, ("I", "I"): -a, ("R", "I"): a}
        for a, b in ((0.5, 2.0), (2.0, 0.5))
    )


def test_a_latent_period_has_a_third():
    found = _coefficients(gg.models.seir(763), [1.0, 2.0, 3.0])
    assert found["S", "S I"] == -found["E", "S I"]
    assert found["E", "E"] == -found["I", "E"]
    assert found["I", "I"] == -found["R", "I"]
    assert len(found) == 6


def test_the_first_state_is_the_population():
    model = gg.models.sir(1000, infected=10, reporting=0.5)
    mean, covariance = model.initial
    np.testing.assert_allclose(mean, [0.99, 0.01, 0])
    assert np.linalg.eigvalsh(covariance).min() > -1e-15
    # Who is infected is no longer susceptible.
    np.testing.assert_allclose(covariance[0, 1], -covariance[1, 1])
    np.testing.assert_array_equal(model.observation, [[0, 500, 0]])


def test_what_leaves_one_compartment_enters_another():
    flows = [
        ("plasma", "tissue", "plasma"),
        ("tissue", "plasma", "tissue"),
        ("plasma", "out", "plasma"),
    ]
    model = gg.models.compartments(flows, observed={"plasma": 2.0})
    found = _coefficients(model, [1.0, 2.0, 3.0])
    for term in ("plasma", "tissue"):
        column = [value for (_, name), value in found.items() if name == term]
        assert sum(column) == 0
    assert found["plasma", "plasma"] < 0
    assert ("tissue", "out") not in found
    np.testing.assert_array_equal(model.observation, [[2, 0, 0]])


def test_predators_and_prey_have_four_terms():
    found = _coefficients(gg.models.predator_prey("hare", "lynx"), [1.0, 2, 3, 4])
    assert set(found) == {
        ("hare", "hare"),
        ("hare", "hare lynx"),
        ("lynx", "lynx"),
        ("lynx", "hare lynx"),
    }
    limited = gg.models.predator_prey(limited=True)
    assert ("prey", "prey^2") in _coefficients(limited, np.ones(5))


def test_a_driven_process_has_delays(monkeypatch):
    monkeypatch.setattr(fitting, "adaptive", least_squares)
    u, x = np.random.default_rng(0).normal(size=60), np.zeros(60)
    x[0] = 2 + 4 * u[0]  # at rest
    for t in range(59):
        x[t + 1] = 1 + 0.5 * x[t] + 2 * u[max(t - 1, 0)]
    model = gg.models.driven_process("flow", "valve", delay=3, memory=1)
    rows = pd.DataFrame({"flow": x, "valve": u})
    model.fit(rows[["flow"]], inputs=rows[["valve"]])
    assert model.equations(digits=3) == ["flow[t+1] = 1 + 0.5 flow + 2 valve[t-1]"]
    assert model.terms_[-1] == "valve[t-2]"
    second = gg.models.driven_process("flow", "valve", delay=3)
    assert second.lags == {"flow": 1, "valve": 3}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gg.models.sir(-1), "population"),
        (lambda: gg.models.sir(10, reporting="some"), "'learn'"),
        (lambda: gg.models.sir(10, reporting=0), "reporting"),
        (lambda: gg.models.driven_process(delay=0), "delay"),
        (lambda: gg.models.driven_process("a", "a"), "`drive` must differ"),
        (lambda: gg.models.compartments([], observed=[]), "at least one flow"),
        (lambda: gg.models.compartments([("a", "a", "a")], observed=["a"]), "differ"),
    ],
)
def test_wrong_arguments_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()
