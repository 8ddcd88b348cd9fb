"""What the user knows is kept exactly, and contradictions are named."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.model import resolve_constraints
from graphgrad.model.constraints import OnlyEdges
from graphgrad.solvers.adaptive.lasso import lasso
from graphgrad.solvers.adaptive.subset import best_subset, inverse_on

KEY = jax.random.key(1)
SYSTEM = gg.systems.lorenz63(dt=0.02)
MODEL = SYSTEM.model(dynamics="map")
TERMS = MODEL.library.names()


def fit(**options):
    ys = SYSTEM.simulate(jax.random.key(0), steps=100, scheme="euler").observations
    return gg.adaptive(KEY, ys, MODEL, **options)


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
    truth = np.asarray(SYSTEM.coefficients(dynamics="map"))
    told = [gg.known("x1", name, c) for name, c in zip(TERMS, truth[0], strict=True)]
    found = fit(constraints=told)
    np.testing.assert_array_equal(found.coefficients[0], truth[0].astype(np.float32))
    assert (found.support() == (truth != 0)).all()
    assert (np.asarray(found.standard_errors)[0] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("dynamics", ["map", "difference"])
def test_only_the_edges_that_are_told(dynamics):
    edges = [("x2", "x1"), ("x1", "x2"), ("x3", "x2"), ("x1", "x3"), ("x2", "x3")]
    found = fit(constraints=[gg.only_edges(edges)], dynamics=dynamics)
    acts = np.asarray(gg.adjacency(found.coefficients, MODEL.library.incidence))
    assert not acts[0, 2]
    assert acts[1, 2]
    truth = np.asarray(SYSTEM.coefficients(dynamics="map") != 0)
    if dynamics == "map":
        assert (found.support() == truth).all()


def test_constraints_are_arrays():
    library = gg.Polynomial(2, 2)
    told = resolve_constraints(
        [gg.known("prey", "predator", -0.5), gg.only_edges([("predator", "prey")])],
        library,
        ["prey", "predator"],
    )
    names = library.names(["prey", "predator"])
    assert told.base[0, names.index("predator")] == -0.5
    assert np.count_nonzero(told.base) == 1
    assert not told.free[0, names.index("predator")]
    assert told.free[0].sum() == len(names) - 1
    alone = [name for name, open_ in zip(names, told.free[1], strict=True) if open_]
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
            "a known coefficient, which `only_edges` rules out, for 'x3'",
        ),
        ([gg.only_edges([("x1", "y")])], "`only_edges` must be one of 'x1', 'x2'"),
        (
            [gg.sign("x1", "x2", "+"), gg.sign("x1", "x2", "-")],
            "got both signs for 'x2' in the equation of 'x1'",
        ),
        (
            [gg.sign("x1", "x2", "-"), gg.known("x1", "x2", 0.2)],
            "a known coefficient and another sign for 'x2'",
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
    truth = np.asarray(SYSTEM.coefficients(dynamics="map"))
    assert truth[place] < 0
    wrong = fit(constraints=[gg.sign("x2", "x1 x3", "+")])
    assert np.asarray(wrong.coefficients)[place] >= 0
    assert (np.asarray(wrong.path)[:, place[0], place[1]] >= 0).all()
    right = fit(constraints=[gg.sign("x2", "x1 x3", "-")])
    assert (right.support() == (truth != 0)).all()


@pytest.mark.slow
def test_lasso_and_exchange_keep_signs():
    """Coefficients -2 and 3 of independent terms, of which one may not be negative."""
    G, h = jnp.eye(3), jnp.array([-2.0, 3.0, 0.1])
    signs, far = jnp.array([1.0, 0.0, 0.0]), jnp.full((1, 3), jnp.inf)
    box = jnp.where(signs > 0, 0, -far), far
    one = jnp.ones((1, 3))
    found = lasso(G[None], h[None], 0.5 * one, 0 * one, one, box=box)
    np.testing.assert_allclose(found.coefficients, [[0, 2.5, 0]])
    assert found.violation < 1e-3
    empty = jnp.zeros(3, bool)
    price = jnp.ones(3)
    best = best_subset(G, h, empty, inverse_on(G, empty), price, signs=signs)
    assert best.support.tolist() == [False, True, False]


def test_a_box_holds_in_the_lasso(x64):
    """Against the optimality conditions, with correlated terms."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 5))
    h = A.T @ (A @ np.array([2.0, -1.0, 0.0, 1.0, 0.0]) + rng.normal(size=30))
    low, high = np.array([[-1.0, -0.2, 0, -9, -9]]), np.array([[0.5, 9, 0.1, 9, 9]])
    G, t = A.T @ A, np.full((1, 5), 3.0)
    found = lasso(
        *(jnp.asarray(a) for a in (G[None], h[None], t, 0 * t, t)),
        box=(jnp.asarray(low), jnp.asarray(high)),
        tolerance=1e-5,
    )
    c = np.asarray(found.coefficients)
    assert (c >= low).all()
    assert (c <= high).all()
    assert c[0, 0] == 0.5
    assert found.violation < 1e-5
    cost = 0.5 * c[0] @ G @ c[0] - h @ c[0] + 3 * np.abs(c).sum()
    for _ in range(200):
        other = np.clip(c[0] + 0.05 * rng.normal(size=5), low[0], high[0])
        value = 0.5 * other @ G @ other - h @ other + 3 * np.abs(other).sum()
        assert value >= cost - 1e-4


def spread(told, amounts):
    return told.base + (told.linear_map @ amounts).reshape(told.base.shape)


def test_what_is_conserved_is_for_any_amounts():
    states, library = ("S", "I", "R", "V"), gg.Polynomial(4, 2)
    told = resolve_constraints(
        [
            gg.conserve("S", "I", "R"),
            gg.known("S", "S I", -0.5),
            gg.forbid("R", "V"),
            gg.sign("S", "I", "-"),
        ],
        library,
        states,
    )
    assert told.linear_map is not None
    names = library.names(states)
    amounts = np.random.default_rng(0).normal(size=told.linear_map.shape[1])
    C = spread(told, np.clip(amounts, told.low[0], told.high[0]))
    still = [float(name in states[:3]) for name in names]
    np.testing.assert_allclose(C[:3].sum(axis=0), still, atol=1e-12)
    assert C[0, names.index("S I")] == -0.5
    assert C[2, names.index("V")] == 0
    assert C[0, names.index("I")] <= 0
    # Flows between three states, between two of them, and a row of its own.
    count = 3 * (len(names) - 2) + 2 * 1 + len(names)
    assert told.free.shape == (1, count)
    assert told.free.all()
    assert told.zero[:3].sum(axis=0).tolist() == still
    assert not told.zero[3].any()


def test_equal_coefficients_share_what_is_known():
    library = gg.Polynomial(2, 1)
    pair = gg.equal(("x1", "x2"), ("x2", "x1"))
    told = resolve_constraints([pair, gg.bounds("x1", "x2", -0.3, 0.4)], library)
    assert told.linear_map is not None
    assert told.linear_map.shape == (6, 5)
    C = spread(told, np.arange(1.0, 6.0))
    assert C[0, 2] == C[1, 1] == 1
    k = int(np.flatnonzero(told.linear_map[2])[0])
    assert (told.low[0, k], told.high[0, k]) == (-0.3, 0.4)
    told = resolve_constraints([pair, gg.known("x2", "x1", 0.2)], library)
    assert told.linear_map is not None
    assert told.base[0, 2] == told.base[1, 1] == 0.2
    assert told.linear_map.shape == (6, 4)


def test_bounds_without_zero_start_at_the_nearer_one():
    told = resolve_constraints([gg.bounds("x1", "x2", 0.1, 0.3)], gg.Polynomial(2, 1))
    assert told.base[0, 2] == 0.1
    assert told.low[0, 2] == 0
    np.testing.assert_allclose(told.high[0, 2], 0.2)
    bound = [gg.bounds("x1", "x1", -0.5, 1)]
    rate = resolve_constraints(bound, gg.Polynomial(2, 1), dynamics="flow")
    assert rate.base[0, 1] == rate.zero[0, 1] == 0
    assert (rate.low[0, 1], rate.high[0, 1]) == (-0.5, 1)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            [gg.conserve("x1", "x2"), gg.conserve("x2", "x3")],
            "must conserve a state once, got 'x2' twice",
        ),
        ([gg.conserve("x1", "q")], "`conserve` must be one of 'x1', 'x2', 'x3'"),
        (
            [gg.conserve("x1", "x2"), gg.known("x1", "1", 1), gg.known("x2", "1", 1)],
            "known coefficients that do not conserve the sum for '1'",
        ),
        (
            [gg.conserve("x1", "x2"), gg.bounds("x1", "1", 0, 1)],
            "bounds and `conserve` for '1' in the equation of 'x1'",
        ),
        (
            [gg.conserve("x1", "x2"), gg.equal(("x1", "1"), ("x3", "1"))],
            "`equal` and `conserve` for '1'",
        ),
        (
            [gg.equal(("x1", "1"), ("x2", "1")), gg.equal(("x1", "1"), ("x3", "1"))],
            "`equal` twice for '1'",
        ),
        (
            [
                gg.equal(("x1", "1"), ("x2", "1")),
                gg.known("x1", "1", 1),
                gg.known("x2", "1", 2),
            ],
            "two values and `equal` for '1'",
        ),
        (
            [
                gg.equal(("x1", "1"), ("x2", "1")),
                gg.sign("x1", "1", "+"),
                gg.sign("x2", "1", "-"),
            ],
            "two signs and `equal` for '1'",
        ),
        (
            [gg.bounds("x1", "x2", 0, 1), gg.known("x1", "x2", 2)],
            "a known coefficient outside its bounds for 'x2'",
        ),
        (
            [gg.bounds("x1", "x2", 1, 2), gg.sign("x1", "x2", "-")],
            "bounds and signs that leave nothing for 'x2'",
        ),
        (
            [gg.bounds("x1", "x3", 1, 2), gg.only_edges([("x1", "x2")])],
            "bounds without zero, which `only_edges` rules out, for 'x3'",
        ),
    ],
)
def test_ties_and_bounds_that_disagree_are_named(constraints, message):
    with pytest.raises(ValueError, match=message):
        resolve_constraints(constraints, gg.Polynomial(3, 2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gg.bounds("x1", "x2", 2, 1), "`low` must be below `high`, got 2 and"),
        (lambda: gg.conserve("S"), "`conserve` must be given two or more different"),
        (lambda: gg.equal(("x1", "1"), ("x1", "1")), "`equal` must be given two or"),
        (
            lambda: resolve_constraints(
                [gg.conserve("x1", "x2")], gg.Polynomial(12, 2)
            ),
            "must tie no coefficients of a model with more than 640 different",
        ),
        (
            lambda: resolve_constraints(
                [gg.conserve("x1", "x2")],
                gg.UserTerms(2, {"x1": ([0], lambda x: x)}),
            ),
            "`conserve` must be absent for a map whose library lacks the term 'x2'",
        ),
    ],
)
def test_bad_ties_and_bounds_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.slow
def test_a_flow_is_found_and_the_sum_is_kept():
    """Two tanks: what flows from the one to the other, seen in one of them only."""
    library = gg.Polynomial(2, 1)
    assert list(library.names()) == ["1", "x1", "x2"]
    truth = np.array([[0, 0.9, 0.05], [0, 0.1, 0.95]])

    def model(C=None):
        return gg.state_space_model(
            library,
            C,
            state_noise=1e-4,
            observation_noise=4e-4,
            observation=["x1"],
            initial_mean=[3.0, 0.0],
            initial_noise=1e-4,
        )

    ys = gg.simulate(jax.random.key(0), model(truth), steps=150).observations
    # The sum is nearly constant: a constant flow would be one of both.
    told = [gg.conserve("x1", "x2"), gg.forbid("x1", "1")]
    found = gg.adaptive(KEY, ys, model(), constraints=told)
    C = np.asarray(found.coefficients)
    np.testing.assert_allclose(C.sum(axis=0), [0, 1, 1], atol=1e-6)
    assert ((C != 0) == (truth != 0)).all()
    errors = np.asarray(found.standard_errors)
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-4)
    assert (np.abs(C - truth) <= 3 * errors).all()
    # Both states change by both terms.
    assert (found.support() == (truth != 0)).all()


@pytest.mark.slow
def test_bounds_and_equal_coefficients_are_kept():
    """A bound that the truth breaks is where the coefficient ends."""
    system = gg.systems.lotka_volterra()
    ys = system.simulate(jax.random.key(0), steps=100, scheme="euler").observations
    low = float(system.coefficients(dynamics="map")[0, 1]) + 0.02 * system.dt
    found = gg.adaptive(
        KEY,
        ys,
        system.model(dynamics="map"),
        constraints=[
            gg.bounds("x1", "x1", low=low),
            gg.equal(("x1", "x2"), ("x2", "x1")),
        ],
    )
    C = np.asarray(found.coefficients)
    assert C[0, 1] == np.float32(low)
    assert C[0, 2] == C[1, 1]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (gg.known("x1", "x2", 0.5), "must be a list of constraints, got Known"),
        ("forbid(x1, x2)", "must be a list of constraints, got 'forbid"),
        (5, "must be a list of constraints, got 5"),
        (None, "must be a list of constraints, got None"),
        (["forbid(x1, x2)"], "must be made by `known`, `forbid` and the like"),
        ([("x1", "x2", 1.0)], "must be made by `known`"),
        ([OnlyEdges(((1, 2),))], "names of states and terms, got 1"),  # pyright: ignore
    ],
)
def test_what_is_no_list_of_constraints_is_told(given, complaint):
    with pytest.raises(ValueError, match=complaint):
        gg.GraphGrad(constraints=given, degree=1).fit(np.eye(9, 2))
