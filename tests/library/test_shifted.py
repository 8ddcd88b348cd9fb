"""Terms about another origin: values, names, and equations in every format."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.library import (
    Polynomial,
    Shifted,
    about,
    moved_origin,
    origin_of,
    partly_linear,
)

ORIGIN = np.array([293.15, 0.0, -4.0])
STATES = ("T1", "x", "u")


@pytest.fixture(scope="module")
def shifted():
    return Shifted(Polynomial(3, 2), ORIGIN)


def drawn(library, rows, seed=0):
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(rows, library.n_terms))
    return np.where(rng.random(C.shape) < 0.5, C, 0), ORIGIN + rng.normal(size=(7, 3))


def test_values_and_derivatives_are_those_at_the_distance(shifted):
    C, x = drawn(shifted, 2)
    with jax.enable_x64(True):
        C, x = jnp.asarray(C), jnp.asarray(x)
        np.testing.assert_array_equal(shifted(x), shifted.centred(x - ORIGIN))
        slope = jax.jacfwd(lambda x: C @ shifted(x))(x[0])
        found = shifted.derivative(C, x[0])
        assert shifted.defined(x).all()
    np.testing.assert_allclose(found, slope, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(origin_of(shifted), ORIGIN)


def test_zero_is_the_library_itself():
    plain = Polynomial(3, 2)
    assert about(plain, np.zeros(3)) is plain
    assert not np.any(origin_of(plain))


@pytest.mark.parametrize(
    "library", [Polynomial(3, 3), partly_linear(3, 2, [False, False, True])]
)
def test_the_same_polynomial_about_another_origin(library):
    C, x = drawn(library, 2)
    other = np.array([1.5, -2.0, 0.0])
    moved = moved_origin(C, library.powers, other - ORIGIN)
    with jax.enable_x64(True):
        terms, there = (
            np.asarray(library(jnp.asarray(x - c))) for c in (ORIGIN, other)
        )
    np.testing.assert_allclose(there @ moved.T, terms @ C.T, rtol=1e-6)
    back = moved_origin(moved, library.powers, ORIGIN - other)
    np.testing.assert_allclose(back, C, atol=1e-6 * np.abs(moved).max())


def test_equations_print_the_distance(shifted):
    C = np.zeros((2, shifted.n_terms))
    names = shifted.names(STATES)
    C[0, names.index("(T1 - 293.15)^2")] = -2.0
    C[1, names.index("x (u + 4)")] = 0.5
    C[1, names.index("1")] = 3.0
    given = C, shifted, STATES
    assert gg.equations(*given, dynamics="flow") == [
        "dT1/dt = -2 (T1 - 293.15)^2",
        "dx/dt = 3 + 0.5 x (u + 4)",
    ]
    first, second = gg.latex(*given, dynamics="flow")
    assert first.endswith(r"= -2\,\left(T_{1} - 293.15\right)^{2}")
    assert second.endswith(r"0.5\,x\,\left(u + 4\right)")


@pytest.mark.parametrize("dynamics", ["flow", "map", "difference"])
def test_numpy_and_sympy_compute_the_same(shifted, dynamics):
    C, x = drawn(shifted, 2)
    with jax.enable_x64(True):
        expected = np.asarray(shifted(jnp.asarray(x))) @ C.T
    time = (0.0,) if dynamics == "flow" else ()
    function = gg.numpy_function(C, shifted, STATES, dynamics=dynamics)
    offset = x[:, :2] if dynamics == "difference" else 0
    found = function(*time, x[:, :2], x[:, 2:])
    np.testing.assert_allclose(found, offset + expected, rtol=1e-10)
    for expression, values in zip(
        gg.to_sympy(C, shifted, STATES), expected.T, strict=True
    ):
        at: Any = dict(zip(STATES, x[0], strict=True))
        assert float(expression.subs(at)) == pytest.approx(values[0], rel=1e-9)
