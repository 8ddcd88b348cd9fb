"""Which coefficients a symmetry makes equal."""

import itertools

import numpy as np
import pytest

import graphgrad as gg
from graphgrad.model import resolve_constraints
from graphgrad.model.symmetry import orbits
from graphgrad.solvers.adaptive.units import constraints_in, standard_units

UNITS = ("x1", "x2", "x3", "x4")
PAIRS = (("v1", "w1"), ("v2", "w2"), ("v3", "w3"))


def permuted(moves, x):
    """A state in which the numbers of variables have gone where `moves` says."""
    out = np.empty_like(x)
    out[moves] = x
    return out


@pytest.mark.parametrize(
    ("symmetry", "states", "moves"),
    [
        (gg.cyclic(*UNITS), UNITS, [[1, 2, 3, 0]]),
        (gg.exchangeable(*UNITS), UNITS, list(itertools.permutations(range(4)))),
        (gg.cyclic(*PAIRS), [*PAIRS[0], *PAIRS[1], *PAIRS[2]], [[2, 3, 4, 5, 0, 1]]),
        (
            gg.exchangeable(*PAIRS),
            ["v1", "v2", "v3", "w1", "w2", "w3"],
            [[1, 0, 2, 4, 3, 5], [2, 0, 1, 5, 3, 4]],
        ),
    ],
)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_equations_of_equal_coefficients_commute_with_permutations(
    symmetry, states, moves, degree
):
    """Exact: f(P x) = P f(x) for any amounts, and for no other coefficients."""
    library = gg.Polynomial(len(states), degree)
    told = resolve_constraints([symmetry], library, states)
    assert told.linear_map is not None
    rng = np.random.default_rng(0)
    x = rng.integers(1, 4, (5, len(states))).astype(float)
    amounts = rng.integers(1, 9, told.linear_map.shape[1]).astype(float)
    C = (told.linear_map @ amounts).reshape(told.base.shape)

    def rate(x):
        return np.prod(x[:, None] ** library.powers, axis=0) @ C.T

    for move in moves:
        for row in x:
            moved = rate(permuted(np.array(move), row))
            np.testing.assert_array_equal(moved, permuted(np.array(move), rate(row)))
    # Each coefficient is in one parameter, and none could be split.
    assert ((told.linear_map != 0).sum(axis=1) == 1).all()
    number = len(amounts)
    powers = {tuple(column): j for j, column in enumerate(library.powers.T.tolist())}
    group = [np.array(move) for move in moves]
    commuting = []
    for move in group:
        image = [powers[tuple(permuted(move, p).tolist())] for p in library.powers.T]
        place = np.arange(C.size).reshape(C.shape)
        equal = np.zeros((C.size, C.size))
        equal[place.ravel(), place[np.ix_(move, np.array(image))].ravel()] = 1
        commuting.append(equal - np.eye(C.size))
    rank = np.linalg.matrix_rank(np.concatenate(commuting))
    assert number == C.size - rank


def test_a_coefficient_apart_is_its_own():
    ring = gg.cyclic(*UNITS, apart=[("x2", "x1")])
    told = resolve_constraints([ring], gg.Polynomial(4, 1))
    assert told.linear_map is not None
    alone = told.linear_map.reshape(4, 5, -1)[1, 1]
    assert told.linear_map[:, alone != 0].sum() == 1
    assert told.linear_map.sum(axis=0).tolist().count(3) == 1


def test_what_is_known_of_one_state_is_known_of_all():
    told = resolve_constraints(
        [gg.cyclic(*UNITS), gg.known("x2", "x1", 0.5)], gg.Polynomial(4, 1)
    )
    np.testing.assert_array_equal(told.base[:, 1:], 0.5 * np.roll(np.eye(4), -1, 1))


def test_equal_coefficients_are_so_in_the_units_of_the_user():
    ys = np.random.default_rng(0).normal(size=(30, 4)) * [1.0, 10.0, 1e-3, 7.0]
    model = gg.state_space_model(
        gg.Polynomial(4, 2), state_noise=1.0, observation_noise=1.0, dynamics="map"
    )
    told = resolve_constraints([gg.cyclic(*UNITS)], model.library)
    units = standard_units(model, ys)
    assert units is not None
    inside = constraints_in(units, told)
    assert told.linear_map is not None
    assert inside.linear_map is not None
    rng = np.random.default_rng(1)
    C = inside.linear_map @ rng.normal(size=told.linear_map.shape[1])
    user = C / np.asarray(units.coefficients).ravel()
    for column in told.linear_map.T:
        np.testing.assert_allclose(np.ptp(user[column != 0]), 0, atol=1e-12)


def test_inputs_stay_where_they_are():
    names = (*UNITS, "u")
    found = orbits(gg.cyclic(*UNITS), gg.Polynomial(5, 1), names, 4)
    assert found is not None
    assert len(set(found[:, 5])) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gg.cyclic("x1"), "`cyclic` must be given two or more units"),
        (lambda: gg.exchangeable("x1", "x1"), "as many different states"),
        (lambda: gg.cyclic(["x1", "x2"], ["x3"]), "as many different states"),
        (
            lambda: resolve_constraints([gg.cyclic("x1", "q")], gg.Polynomial(2, 1)),
            "`cyclic` must be one of 'x1', 'x2', got 'q'",
        ),
        (
            lambda: resolve_constraints(
                [gg.cyclic("x1", "x2")],
                gg.UserTerms(2, {"x1": ([0], lambda x: x)}),
            ),
            "`cyclic` must permute terms of the library",
        ),
        (
            lambda: resolve_constraints(
                [gg.cyclic("x1", "x2"), gg.equal(("x1", "1"), ("x2", "1"))],
                gg.Polynomial(2, 1),
            ),
            "`equal` twice for '1'",
        ),
    ],
)
def test_what_is_no_symmetry(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_functions_are_permuted_by_name():
    library = gg.Polynomial(3, 1) + gg.trigonometric_terms(3)
    told = resolve_constraints([gg.exchangeable("x1", "x2", "x3")], library)
    assert told.linear_map is not None
    # 1, x and the others' x, and the same for sine and cosine.
    assert told.linear_map.shape == (30, 7)
