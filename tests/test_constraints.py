"""What the user knows is kept exactly, and contradictions are named."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.model.constraints import knowledge
from graphgrad.solvers.lasso import lasso
from graphgrad.solvers.subset import best_subset, inverse_on

KEY = jax.random.key(1)
SYSTEM = gg.systems.lorenz63(dt=0.02)
TERMS = SYSTEM.model().library.names()


def fit(**options):
    ys = SYSTEM.simulate(jax.random.key(0), steps=100).observations
    return gg.adaptive(KEY, ys, SYSTEM.model(), **options)


@pytest.mark.slow
def test_known_and_forbidden_coefficients_are_kept():
    """A wrong value stays wrong; a true term that is forbidden is replaced."""
    found = fit(
        constraints=[gg.known("x1", "x2", 0.19), gg.forbid("x2", "x1 x3")],
    )
    C = np.asarray(found.coefficients)
    assert C[0, TERMS.index("x2")] == np.float32(0.19)
    assert found.support()[0, TERMS.index("x2")]
    assert found.standard_errors[0, TERMS.index("x2")] == 0
    assert C[1, TERMS.index("x1 x3")] == 0
    assert not (np.asarray(found.path)[:, 1, TERMS.index("x1 x3")]).any()


@pytest.mark.slow
def test_what_is_not_told_is_found():
    """The x1-equation is known: fewer terms to look for, each a little cheaper."""
    truth = np.asarray(SYSTEM.coefficients())
    told = [gg.known("x1", name, c) for name, c in zip(TERMS, truth[0], strict=True)]
    found = fit(constraints=told)
    np.testing.assert_array_equal(found.coefficients[0], truth[0].astype(np.float32))
    assert (found.support() == (truth != 0)).all()
    assert (np.asarray(found.standard_errors)[0] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["map", "rate"])
def test_only_the_edges_that_are_told(form):
    edges = [("x2", "x1"), ("x1", "x2"), ("x3", "x2"), ("x1", "x3"), ("x2", "x3")]
    found = fit(constraints=[gg.only_edges(edges)], form=form)
    acts = np.asarray(
        gg.adjacency(found.coefficients, SYSTEM.model().library.incidence)
    )
    assert not acts[0, 2]
    assert acts[1, 2]
    truth = np.asarray(SYSTEM.coefficients() != 0)
    if form == "map":
        assert (found.support() == truth).all()


def test_constraints_are_arrays():
    library = gg.Polynomial(2, 2)
    told = knowledge(
        [gg.known("prey", "predator", -0.5), gg.only_edges([("predator", "prey")])],
        library,
        ["prey", "predator"],
    )
    names = library.names(["prey", "predator"])
    assert told.values[0, names.index("predator")] == -0.5
    assert np.count_nonzero(told.values) == 1
    assert not told.open[0, names.index("predator")]
    assert told.open[0].sum() == len(names) - 1
    alone = [name for name, open_ in zip(names, told.open[1], strict=True) if open_]
    assert alone == ["1", "predator", "predator^2"]


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ([gg.known("x9", "x1", 1)], "`target` must be one of 'x1', 'x2', 'x3'"),
        ([gg.known("x1", "x9", 1)], "`term` must be one of the library's 10 names"),
        (
            [gg.known("x1", "x2", 1), gg.forbid("x1", "x2")],
            "must agree, got 1 and 0 for 'x2' in the equation of 'x1'",
        ),
        (
            [gg.only_edges([("x1", "x2")]), gg.known("x1", "x3", 1)],
            "a known coefficient for 'x3' in the equation of 'x1', which `only_edges`",
        ),
        ([gg.only_edges([("x1", "y")])], "`only_edges` must be one of 'x1', 'x2'"),
        (
            [gg.sign("x1", "x2", "+"), gg.sign("x1", "x2", "-")],
            "got both signs for 'x2' in the equation of 'x1'",
        ),
        (
            [gg.sign("x1", "x2", "-"), gg.known("x1", "x2", 0.2)],
            "a known coefficient of 0.2 and another sign for 'x2'",
        ),
    ],
)
def test_bad_constraints_are_named(constraints, message):
    with pytest.raises(ValueError, match=message):
        fit(constraints=constraints)


def test_a_known_value_is_finite():
    with pytest.raises(ValueError, match="`value` must be finite, got nan"):
        gg.known("x1", "x2", float("nan"))


@pytest.mark.slow
def test_a_sign_is_kept_and_a_right_one_changes_nothing():
    """The wrong sign for a true term leaves it out; the right one finds the same."""
    place = 1, TERMS.index("x1 x3")
    truth = np.asarray(SYSTEM.coefficients())
    assert truth[place] < 0
    wrong = fit(constraints=[gg.sign("x2", "x1 x3", "+")])
    assert np.asarray(wrong.coefficients)[place] >= 0
    assert (np.asarray(wrong.path)[:, place[0], place[1]] >= 0).all()
    right = fit(constraints=[gg.sign("x2", "x1 x3", "-")])
    assert (right.support() == (truth != 0)).all()


def test_lasso_and_exchange_keep_signs():
    """Coefficients -2 and 3 of independent terms, of which one may not be negative."""
    G, h = jnp.eye(3), jnp.array([-2.0, 3.0, 0.1])
    signs = jnp.array([1.0, 0.0, 0.0])
    one = jnp.ones((1, 3))
    found = lasso(G[None], h[None], 0.5 * one, 0 * one, one, signs=signs[None])
    np.testing.assert_allclose(found.coefficients, [[0, 2.5, 0]])
    assert found.violation < 1e-3
    empty = jnp.zeros(3, bool)
    price = jnp.array(1.0)
    best = best_subset(G, h, empty, inverse_on(G, empty), price, signs=signs)
    assert best.support.tolist() == [False, True, False]
