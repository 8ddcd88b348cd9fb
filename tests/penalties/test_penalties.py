"""Penalties: one contract for all of them, and an optimality certificate for each."""

from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgrad.library import degree_matrix
from graphgrad.penalties import (
    L0,
    L1,
    PENALTIES,
    AbstractSubgradientPenalty,
    GroupByEdge,
    Nuclear,
    penalty,
)

NX = 3
INCIDENCE = degree_matrix(NX, 2)
SHAPE = INCIDENCE.shape
NOT_CONVEX = {"l0"}
CONVEX = [name for name in PENALTIES if name not in NOT_CONVEX]
WITH_SUBGRADIENT = [
    name
    for name, kind in PENALTIES.items()
    if issubclass(kind, AbstractSubgradientPenalty)
]

names = pytest.mark.parametrize("name", PENALTIES)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def make(name, weight):
    return penalty(name, weight, incidence=INCIDENCE)


def draw(seed, dtype: Any = np.float64, shape=SHAPE):
    """Coefficients of sizes from small to large, a third of them zero."""
    rng = np.random.default_rng(seed)
    sizes = rng.normal(size=shape) * 10 ** rng.uniform(-2, 1, size=shape)
    return jnp.asarray(sizes * (rng.random(shape) < 2 / 3), dtype)


def objective(pen, Z, C, step):
    return float(jnp.sum((Z - C) ** 2) / 2 + step * pen.value(Z))


def slack(C):
    """Rounding of an objective at C."""
    return 32 * float(jnp.finfo(C.dtype).eps) * float(jnp.sum(C**2) + 1)


# --- the contract ---------------------------------------------------------------


@names
def test_zero_is_left_at_zero(name):
    zero = jnp.zeros(SHAPE)
    pen = make(name, 0.7)
    assert float(pen.value(zero)) == 0
    np.testing.assert_array_equal(pen.prox(zero, 0.5), zero)


@names
@dtypes
def test_nothing_moves_without_step_or_weight(x64, name, dtype):
    # The last row holds numbers whose squares underflow.
    C = draw(0, dtype).at[-1].multiply(1e-30 if dtype is np.float32 else 1e-200)
    np.testing.assert_array_equal(make(name, 0.7).prox(C, 0.0), C)
    np.testing.assert_array_equal(make(name, 0.0).prox(C, 0.7), C)


@pytest.mark.slow
@names
@dtypes
@pytest.mark.parametrize("precision", [float, jnp.float32, jnp.float64])
def test_precision_is_that_of_the_coefficients(x64, name, dtype, precision):
    C, pen = draw(1, dtype), make(name, precision(0.3))
    assert pen.prox(C, precision(0.1)).dtype == dtype
    assert pen.value(C).dtype == dtype


@names
@dtypes
@given(
    seed=st.integers(0, 10**6),
    weight=st.floats(0, 3),
    step=st.floats(0, 2),
    size=st.sampled_from([1e-6, 1e-3, 0.1, 1.0]),
)
def test_no_other_point_is_better_than_the_prox(name, dtype, seed, weight, step, size):
    with jax.enable_x64(True):
        C, pen = draw(seed, dtype), make(name, weight)
        Z = pen.prox(C, step)
        best = objective(pen, Z, C, step)
        noise = draw(seed + 1, dtype)
        others = [C, 0 * C, Z + size * noise, Z * (1 + size * noise), Z - size * Z]
        for other in others:
            assert best <= objective(pen, other, C, step) + slack(C)


@names
def test_value_is_linear_in_the_weight_and_not_negative(x64, name):
    C = draw(2)
    one = float(make(name, 1.0).value(C))
    assert one >= 0
    np.testing.assert_allclose(float(make(name, 2.5).value(C)), 2.5 * one)


@names
def test_only_the_product_of_step_and_weight_counts(x64, name):
    C = draw(3)
    np.testing.assert_allclose(
        make(name, 0.2).prox(C, 3.0), make(name, 0.6).prox(C, 1.0), atol=1e-11
    )


@names
def test_jit_and_vmap_over_weights_and_batches(x64, name):
    weights = jnp.array([0.0, 0.1, 1.0, 10.0])
    batch = jnp.stack([draw(seed) for seed in range(4)])
    alone = [
        (make(name, w).value(C), make(name, w).prox(C, 0.5))
        for w, C in zip(weights, batch, strict=True)
    ]
    values, points = map(jnp.stack, zip(*alone, strict=True))
    ready = make(name, 1.0)

    @jax.jit
    def together(weights, batch):
        def one(weight, C):
            pen = eqx.tree_at(lambda p: p.weight, ready, weight)
            return pen.value(C), pen.prox(C, jnp.array(0.5))

        return jax.vmap(one)(weights, batch)

    got_values, got_points = together(weights, batch)
    np.testing.assert_allclose(got_values, values, rtol=1e-12)
    np.testing.assert_allclose(got_points, points, atol=1e-11)
    # Arrays are leaves and everything else is static: a penalty goes through `jit`
    # and `vmap` as an argument, too.
    stacked = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), ready)
    got = jax.jit(jax.vmap(lambda pen, C: pen.prox(C, 0.5)))(stacked, batch)
    np.testing.assert_allclose(
        got, jnp.stack([ready.prox(C, 0.5) for C in batch]), atol=1e-11
    )


@names
def test_nan_comes_out_as_nan(name):
    Z = make(name, 1.0).prox(draw(4, np.float32).at[1, 4].set(jnp.nan), 0.5)
    assert np.isnan(Z[1, 4])


@pytest.mark.parametrize("name", CONVEX)
@dtypes
@given(seed=st.integers(0, 10**6), near=st.sampled_from([1e-4, 1e-2, 1.0]))
def test_prox_of_a_convex_penalty_is_firmly_non_expansive(name, dtype, seed, near):
    with jax.enable_x64(True):
        A, pen = draw(seed, dtype), make(name, 1.0)
        B = A + near * draw(seed + 1, dtype)
        difference = pen.prox(A, 0.5) - pen.prox(B, 0.5)
        moved, allowed = jnp.sum(difference**2), jnp.sum(difference * (A - B))
        # The group prox ends within eps^(3/4) of a radius, here 0.5.
        wide = float(jnp.finfo(dtype).eps) ** 0.75 * float(jnp.linalg.norm(A - B))
        assert float(moved) <= float(allowed) + slack(A) * near + 10 * wide


@pytest.mark.parametrize("name", WITH_SUBGRADIENT)
def test_subgradients_support_the_penalty_from_below(x64, name):
    pen, C = make(name, 0.4), draw(5)
    assert isinstance(pen, AbstractSubgradientPenalty)
    for seed in range(20):
        other = draw(100 + seed)
        below = pen.value(C) + jnp.sum(pen.subgradient(C) * (other - C))
        assert float(pen.value(other)) >= float(below) - 1e-12


# --- L1, L0, nuclear: exact conditions ---------------------------------------------


@dtypes
def test_l1_meets_its_optimality_condition(x64, dtype):
    C, weight, step = draw(6, dtype), 0.8, 0.5
    Z = L1(weight).prox(C, step)
    sub = (C - Z) / (step * weight)
    np.testing.assert_allclose(sub[Z != 0], jnp.sign(Z)[Z != 0], rtol=1e-5)
    assert np.all(np.abs(sub[Z == 0]) <= 1)
    assert 0 < np.sum(np.asarray(Z) == 0) < Z.size


def test_l1_subgradient_is_the_sign_with_zero_at_zero():
    got = L1(0.5).subgradient(jnp.array([[-3.0, 0.0, 2.0]]))
    assert got.tolist() == [[-0.5, 0.0, 0.5]]


def test_l0_has_no_subgradient():
    assert "l1" in WITH_SUBGRADIENT
    assert "l0" not in WITH_SUBGRADIENT


@given(
    entries=st.lists(st.floats(-3, 3, width=32), min_size=8, max_size=8),
    weight=st.floats(0, 4),
)
def test_l0_is_the_better_of_keeping_and_dropping_each_entry(entries, weight):
    with jax.enable_x64(True):
        C, pen, step = jnp.array([entries]), L0(weight), 0.5
        Z = pen.prox(C, step)
        assert np.all((Z == 0) | (Z == C))
        # Both choices for each entry: the objective is separable.
        keep, drop = step * weight * (C != 0), C**2 / 2
        brute = float(jnp.sum(jnp.minimum(keep, drop)))
        assert objective(pen, Z, C, step) == pytest.approx(brute, abs=1e-12)


@dtypes
@pytest.mark.parametrize("drop", [0, 1, 2, 3])
def test_nuclear_meets_its_optimality_condition(x64, dtype, drop):
    """(C - Z) / (step lambda) = U V' + W, W orthogonal to both and of norm <= 1."""
    C = draw(7, dtype)
    sizes = np.linalg.svd(np.asarray(C), compute_uv=False)
    # Between two singular values, so that exactly `drop` of them vanish.
    edges = [sizes[0] * 1.5, *sizes, 0.0]
    middle = (edges[NX - drop] + edges[NX - drop + 1]) / 2
    Z = np.asarray(Nuclear(middle / 0.5).prox(C, 0.5))
    tol = 200 * np.finfo(dtype).eps * sizes[0] / middle
    sub = (np.asarray(C) - Z) / middle
    left, kept, right = np.linalg.svd(Z, full_matrices=False)
    rank = int(np.sum(kept > 100 * np.finfo(dtype).eps * sizes[0]))
    assert rank == NX - drop
    left, right = left[:, :rank], right[:rank]
    rest = sub - left @ right
    assert np.linalg.norm(rest, 2) <= 1 + tol
    assert np.abs(left.T @ rest).max(initial=0) <= tol
    assert np.abs(rest @ right.T).max(initial=0) <= tol
    if drop == NX:
        assert not Z.any()


# --- groups: duality gap, closed form, exact zeros ------------------------------------


@pytest.mark.slow
@dtypes
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("step", [1e-4, 0.1, 0.5, 1.0, 3.0])
def test_group_prox_has_a_small_duality_gap(x64, dtype, degree, step):
    incidence = degree_matrix(NX, degree)
    pen = GroupByEdge(1.0, incidence)
    bound = {np.float32: 1e-5, np.float64: 1e-13}[dtype]
    for seed in range(5):
        C = draw(seed, dtype, incidence.shape)
        Z, dual = pen.prox(C, step), pen.dual(C, step)
        assert float(pen.duality_gap(C, Z, dual, step)) <= bound * objective(
            pen, 0 * C, C, step
        )
        np.testing.assert_allclose(C - dual.sum(1), Z, atol=1e3 * bound**0.75)


@given(seed=st.integers(0, 10**6), step=st.floats(0, 2), size=st.floats(0, 5))
def test_duality_gap_bounds_the_excess_of_any_point_by_any_dual(seed, step, size):
    with jax.enable_x64(True):
        pen, C, Z = GroupByEdge(1.0, INCIDENCE), draw(seed), draw(seed + 1)
        dual = size * draw(seed + 2, shape=(NX, *SHAPE))
        gap = float(pen.duality_gap(C, Z, dual, step))
        P = pen.prox(C, step)
        assert gap >= objective(pen, Z, C, step) - objective(pen, P, C, step) - 1e-9
        assert 2 * gap >= float(jnp.sum((Z - P) ** 2)) - 1e-9


@dtypes
@pytest.mark.parametrize(
    "incidence",
    [degree_matrix(NX, 1), np.tile(np.eye(NX), (1, 4))],
    ids=["degree 1", "four functions of each state"],
)
def test_group_prox_is_block_soft_threshold_without_overlap(x64, dtype, incidence):
    C, radius = draw(8, dtype, incidence.shape), 0.6
    expected = np.asarray(C, float).copy()
    for terms in incidence != 0:
        norms = np.linalg.norm(np.asarray(C, float)[:, terms], axis=1, keepdims=True)
        expected[:, terms] *= np.maximum(1 - radius / np.maximum(norms, 1e-300), 0)
    Z = GroupByEdge(radius, incidence).prox(C, 1.0)
    np.testing.assert_allclose(Z, expected, atol=8 * np.finfo(dtype).eps * 10)
    np.testing.assert_array_equal(np.asarray(Z) == 0, expected == 0)


def uneven(seed, dtype, incidence):
    """Coefficients nowhere zero, with a size of its own for each equation and state.

    Every zero of a prox is then the penalty's doing, and some edges are worth it.
    """
    rng = np.random.default_rng(seed)
    sizes = 10 ** rng.uniform(-1, 1, size=(len(incidence), len(incidence)))
    C = rng.normal(size=incidence.shape) * np.exp(np.log(sizes) @ (incidence != 0))
    return jnp.asarray(C, dtype)


def by_enumeration(c, members, radius):
    """One row's prox without duality: try every set of edges, keep the best.

    For given edges the objective is smooth, and z = c / (1 + sum of r / |z_g|) lowers
    it at every turn (the groups' norms replaced by their quadratic upper bounds).
    """
    best = (np.inf, c)
    for edges in product([False, True], repeat=len(members)):
        allowed = ~members[~np.array(edges)].any(0)
        kept = members[np.array(edges)] & allowed
        z = np.where(allowed, c, 0)
        for _ in range(1500):
            norms = np.maximum(np.linalg.norm(z * kept, axis=1), 1e-300)
            z = np.where(allowed, c, 0) / (1 + (radius / norms) @ kept)
        norms = np.linalg.norm(z * members, axis=1)
        found = np.sum((z - c) ** 2) / 2 + radius * norms.sum()
        # Fewer edges come first, so that a tie up to rounding goes to them.
        if found < best[0] * (1 - 1e-12):
            best = (found, z)
    return best[1]


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.5, 2.0])
def test_group_prox_is_the_best_over_every_set_of_edges(x64, step):
    pen, edges = GroupByEdge(1.0, INCIDENCE), 0
    for seed in range(4):
        C = uneven(seed, np.float64, INCIDENCE)
        Z = pen.prox(C, step)
        rows = [by_enumeration(row, INCIDENCE != 0, step) for row in np.asarray(C)]
        np.testing.assert_allclose(Z, rows, atol=1e-7)
        np.testing.assert_array_equal(np.asarray(Z) != 0, np.array(rows) != 0)
        edges += sum(Z[:, terms].any(1).sum() for terms in INCIDENCE != 0)
    assert 0 < edges < 4 * NX * NX


@pytest.mark.slow
@dtypes
@pytest.mark.parametrize("n_states", [3, 6])
@pytest.mark.parametrize("step", [1.0, 5.0])
def test_zeros_are_exact_and_made_of_whole_groups(x64, dtype, n_states, step):
    incidence = degree_matrix(n_states, 2)
    pen, edges = GroupByEdge(1.0, incidence), 0
    for seed in range(8):
        C = uneven(seed, dtype, incidence)
        Z = np.asarray(pen.prox(C, step))
        gone = np.stack([~Z[:, terms].any(1) for terms in incidence != 0], axis=1)
        expected = np.ones(Z.shape, bool)
        for b, terms in enumerate(incidence != 0):
            expected[np.ix_(gone[:, b], terms)] = False
        np.testing.assert_array_equal(Z != 0, expected)
        # Complementary slackness: a dual vector inside its ball has a zero group.
        lengths = np.linalg.norm(pen.dual(C, step), axis=-1)
        inside = lengths < step * (1 - 1e3 * float(jnp.finfo(dtype).eps) ** 0.75)
        assert gone[inside].all()
        edges += np.sum(~gone)
    assert 0 < edges < 8 * n_states**2


def test_small_groups_that_belong_there_are_kept(x64):
    """A group far smaller than the others is not taken for a rest of the iteration."""
    incidence = np.tile(np.eye(2), (1, 2))
    C = jnp.array([[1.0, 2e-6, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]], jnp.float32)
    Z = GroupByEdge(1.0, incidence).prox(C, 1e-6)
    np.testing.assert_allclose(Z[0, 1], 1e-6, rtol=1e-5)


def test_terms_without_states_are_not_penalised(x64):
    C = draw(9).at[:, 0].set(2.0)
    Z = np.asarray(GroupByEdge(1e6, INCIDENCE).prox(C, 1.0))
    assert (Z[:, 0] == 2).all()
    assert not Z[:, 1:].any()


def test_group_weights_are_factors_of_the_weight_of_single_edges(x64):
    C = draw(10) + 1
    twice = GroupByEdge(0.2, INCIDENCE, group_weights=np.full((NX, NX), 2.0))
    np.testing.assert_allclose(
        twice.prox(C, 1.0), GroupByEdge(0.4, INCIDENCE).prox(C, 1.0), atol=1e-11
    )
    # A heavy weight on 2 -> 1 (counted from 0) takes that edge out and leaves the
    # other equations as without penalty.
    factors = np.zeros((NX, NX))
    factors[1, 2] = 1e6
    Z = GroupByEdge(1.0, INCIDENCE, group_weights=factors).prox(C, 1.0)
    expected = np.array(C)
    expected[1, INCIDENCE[2] != 0] = 0
    np.testing.assert_array_equal(Z, expected)


def test_a_prox_cut_short_is_worse_and_the_gap_says_so(x64):
    C, step = draw(11), 0.5
    full = GroupByEdge(1.0, INCIDENCE)
    short = GroupByEdge(1.0, INCIDENCE, max_iterations=2)
    gaps = [
        float(full.duality_gap(C, pen.prox(C, step), pen.dual(C, step), step))
        for pen in (full, short)
    ]
    excess = objective(full, short.prox(C, step), C, step)
    excess -= objective(full, full.prox(C, step), C, step)
    assert gaps[0] < 1e-12 < excess <= gaps[1]


def test_rows_do_not_touch_each_other(x64):
    pen, C = GroupByEdge(1.0, INCIDENCE), draw(12)
    other = C.at[1:].multiply(100.0)
    np.testing.assert_array_equal(pen.prox(C, 0.7)[0], pen.prox(other, 0.7)[0])


# --- the door ---------------------------------------------------------------------


def test_a_ready_penalty_keeps_its_weight_unless_told():
    ready = GroupByEdge(0.5, INCIDENCE, max_iterations=7)
    assert penalty(ready) is ready
    told = penalty(ready, 2)
    assert isinstance(told, GroupByEdge)
    assert float(told.weight) == 2
    assert told.max_iterations == 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: penalty("l3", 1.0), "`penalty` must be one of 'l1', .*got 'l3'"),
        (lambda: penalty("l1"), "`weight` must be .*got None.*Zero is no penalty"),
        (lambda: penalty("l1", -1.0), "`weight` must be .*zero or positive, got -1"),
        (lambda: penalty("l1", np.nan), "`weight` must be a finite number.*got nan"),
        (lambda: penalty("l1", np.inf), "`weight` must be a finite number.*got inf"),
        (lambda: penalty("l1", [1, 2]), r"`weight` must be .*got \[1, 2\]"),
        (lambda: penalty(L1(1.0), -2), "`weight` must be .*got -2"),
        (lambda: penalty("group", 1.0), "`incidence` must be given.*of the library"),
        (lambda: GroupByEdge(1.0, [1, 2]), r"`incidence` must be a \(Nx, M\) array"),
        (lambda: GroupByEdge(1.0, [[np.nan]]), "`incidence` must be finite"),
        (
            lambda: GroupByEdge(1.0, INCIDENCE, group_weights=np.ones(3)),
            r"`group_weights` must have shape \(3, 3\), got \(3,\).*b -> a",
        ),
        (
            lambda: GroupByEdge(1.0, INCIDENCE, group_weights=-np.eye(3)),
            r"`group_weights` must not be negative, got -1.0",
        ),
        (
            lambda: GroupByEdge(1.0, INCIDENCE, max_iterations=0),
            "`max_iterations` must be a whole number of at least 1, got 0",
        ),
        (
            lambda: GroupByEdge(1.0, INCIDENCE).prox(jnp.zeros((3, 4)), 1.0),
            r"`C` must have shape \(3, 10\), got \(3, 4\).*incidence",
        ),
        (
            lambda: GroupByEdge(1.0, INCIDENCE).value(jnp.zeros((2, 10))),
            r"`C` must have shape \(3, 10\), got \(2, 10\)",
        ),
    ],
)
def test_bad_input_is_named_with_its_rule_and_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
