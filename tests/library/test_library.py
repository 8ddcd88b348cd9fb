"""Term libraries: the degree matrix, names, values, domains and sums."""

import inspect
from itertools import product
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import graphgrad as gg
from graphgrad.library import monomial_names


def explicit_products(x, degrees):
    """prod_i x_i ** D_ij, entry by entry as in Eq. (7)."""
    return np.prod(np.asarray(x)[..., :, None] ** degrees, axis=-2)


def slopes(library, xs):
    """Derivatives of phi at each row, by reverse and forward mode, which must agree."""
    backward, forward = jax.jit(
        jax.vmap(lambda x: (jax.jacrev(library)(x), jax.jacfwd(library)(x)))
    )(jnp.asarray(xs, jnp.float32))
    np.testing.assert_allclose(backward, forward, rtol=1e-5, atol=1e-6)
    return np.asarray(backward)


# The degree matrix --------------------------------------------------------------------


def test_degree_matrix_of_the_paper():
    # Sec. III-C, entry for entry.
    expected = [
        [0, 1, 0, 0, 2, 1, 1, 0, 0, 0],
        [0, 0, 1, 0, 0, 1, 0, 2, 1, 0],
        [0, 0, 0, 1, 0, 0, 1, 0, 1, 2],
    ]
    degrees = gg.degree_matrix(n_states=3, degree=2)
    np.testing.assert_array_equal(degrees, expected)
    assert degrees.dtype.kind == "i"


@pytest.mark.parametrize(("degree", "n_terms"), [(2, 231), (3, 1771)])
def test_number_of_monomials_of_twenty_states(degree, n_terms):
    assert gg.degree_matrix(20, degree).shape == (20, n_terms)
    assert gg.Polynomial(20, degree).n_terms == n_terms


@given(n_states=st.integers(1, 8), degree=st.integers(1, 6))
def test_degree_matrix_holds_every_monomial_once_and_in_order(n_states, degree):
    degrees = gg.degree_matrix(n_states, degree)
    columns = [tuple(column) for column in degrees.T.tolist()]
    # Eq. (8).
    assert len(columns) == sum(
        comb(n + n_states - 1, n_states - 1) for n in range(degree + 1)
    )
    assert len(set(columns)) == len(columns)
    assert degrees.min() == 0
    assert degrees.sum(axis=0).max() == degree
    # Ascending by degree; within one, the higher power of the earlier state first.
    assert columns == sorted(columns, key=lambda c: (sum(c), [-power for power in c]))


def test_degree_matrix_is_a_copy():
    gg.degree_matrix(2, 2)[:] = 7
    assert gg.degree_matrix(2, 2).max() == 2


# Names --------------------------------------------------------------------------------


def test_names_of_monomials():
    library = gg.Polynomial(2, 3)
    assert library.names() == (
        *("1", "x1", "x2", "x1^2", "x1 x2", "x2^2"),
        *("x1^3", "x1^2 x2", "x1 x2^2", "x2^3"),
    )
    assert library.names(["u", "v"])[7] == "u^2 v"


def test_names_of_roots():
    assert gg.Polynomial(1, 2, root=3).names() == (
        *("1", "x1^(1/3)", "x1^(2/3)", "x1"),
        *("x1^(4/3)", "x1^(5/3)", "x1^2"),
    )
    assert monomial_names(np.array([[0.5], [1.5]])) == ("x1^(1/2) x2^(3/2)",)


@pytest.mark.parametrize(
    "library",
    [
        gg.Polynomial(4, 3),
        gg.Polynomial(2, 2, root=2),
        gg.trigonometric_terms(3, (1, 2.5), of="differences"),
        gg.Polynomial(2, 2) + gg.exponential_terms(2, (-1, 3)),
    ],
)
def test_a_term_is_found_by_its_name(library):
    states = ["a", "b", "c", "d"][: library.n_states]
    for given_states in (None, states):
        names = library.names(given_states)
        assert len(set(names)) == len(names) == library.n_terms
        assert [library.index(name, given_states) for name in names] == list(
            range(library.n_terms)
        )


# Values of monomials ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_states", "degree"),
    [(3, 1), (3, 2), (3, 3), (3, 4), *((n_states, 5) for n_states in range(1, 7))],
)
def test_monomials_are_exact_on_whole_numbers(n_states, degree, x64):
    # Below 2^53 every product of whole numbers is exact in double precision.
    x = np.random.default_rng(0).integers(-9, 10, (5, n_states)).astype(float)
    library = gg.Polynomial(n_states, degree)
    values = jax.jit(library)(jnp.asarray(x))
    np.testing.assert_array_equal(values, explicit_products(x, library.degrees))


@given(
    x=hnp.array_shapes(min_dims=0, max_dims=3, max_side=3).flatmap(
        lambda batch: hnp.arrays(
            np.float64, (*batch, 3), elements=st.floats(-50, 50, width=32)
        )
    )
)
def test_monomials_of_any_batch_are_explicit_products(x):
    with jax.enable_x64(True):
        library = gg.Polynomial(3, 3)
        values = jax.jit(library)(jnp.asarray(x))
        assert values.dtype == jnp.float64
    expected = explicit_products(x, library.degrees)
    # Three products of numbers of 53 bits: at most three roundings.
    np.testing.assert_allclose(values, expected, rtol=1e-15, atol=1e-300)


@pytest.mark.parametrize(
    "library", [gg.Polynomial(2, 3), gg.Polynomial(2, 1, root=2)], ids=["whole", "root"]
)
def test_single_precision_stays_single(library, x64):
    x = jnp.ones((4, 2), jnp.float32)
    assert library(x).dtype == jnp.float32
    assert library.defined(x).dtype == bool


def test_monomials_have_exact_slopes_also_at_zero():
    library = gg.Polynomial(3, 4)
    degrees = library.degrees.astype(float)
    xs = np.array([[0.0, 0.0, 0.0], [0.0, -1.5, 2.0]])
    for x, found in zip(xs, slopes(library, xs), strict=True):
        expected = np.zeros((library.n_terms, 3))
        for j, i in product(range(library.n_terms), range(3)):
            power = degrees[:, j].copy()
            power[i] = max(power[i] - 1, 0)
            expected[j, i] = degrees[i, j] * np.prod(x**power)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_whole_powers_are_defined_everywhere():
    x = jnp.array([[-1.0, 2.0], [0.0, -3.0]])
    np.testing.assert_array_equal(gg.Polynomial(2, 2).defined(x), [True, True])


# Roots --------------------------------------------------------------------------------


@pytest.mark.parametrize("root", [2, 3, 4, 5])
def test_degrees_of_roots_are_divided(root):
    library = gg.Polynomial(2, 2, root=root)
    np.testing.assert_array_equal(library.degrees, gg.degree_matrix(2, 2 * root) / root)
    np.testing.assert_array_equal(library.incidence, library.degrees)


@pytest.mark.parametrize("root", [2, 3, 4, 5])
def test_roots_of_states_that_are_not_negative(root, x64):
    x = np.concatenate([[[0.0, 4.0]], np.random.default_rng(0).gamma(1, 2, (20, 2))])
    library = gg.Polynomial(2, 2, root=root)
    values = jax.jit(library)(jnp.asarray(x))
    expected = explicit_products(x, library.degrees)
    np.testing.assert_allclose(values, expected, rtol=1e-13)
    assert library.defined(jnp.asarray(x)).all()


def test_odd_roots_of_negative_states_are_negative(x64):
    x = np.array([[-8.0, 27.0], [-2.5, -0.001]])
    library = gg.Polynomial(2, 2, root=3)
    values = jax.jit(library)(jnp.asarray(x))
    expected = explicit_products(np.cbrt(x), gg.degree_matrix(2, 6))
    np.testing.assert_allclose(values, expected, rtol=1e-13)
    assert library.defined(jnp.asarray(x)).all()


def test_even_roots_of_negative_states_are_undefined():
    x = jnp.array([[1.0, 2.0], [-1.0, 2.0], [1.0, -1e-6], [0.0, 0.0], [-0.0, 1.0]])
    library = gg.Polynomial(2, 2, root=2)
    np.testing.assert_array_equal(library.defined(x), [True, False, False, True, True])
    assert jnp.isfinite(library(x)).all()


@pytest.mark.parametrize("root", [2, 3])
def test_roots_have_finite_slopes_everywhere(root):
    xs = [[0.0, 0.0], [-1.0, 0.0], [-3.0, 2.0], [0.0, 5.0]]
    assert np.isfinite(slopes(gg.Polynomial(2, 1, root=root), xs)).all()


# Functions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "names", "expected"),
    [
        (
            gg.trigonometric_terms(1, (1, 2)),
            ("sin(x1)", "cos(x1)", "sin(2 x1)", "cos(2 x1)"),
            lambda a: [np.sin(a), np.cos(a), np.sin(2 * a), np.cos(2 * a)],
        ),
        (
            gg.trigonometric_terms(2, (0.5,), of="differences"),
            ("sin(0.5 (x1 - x2))", "cos(0.5 (x1 - x2))"),
            lambda a, b: [np.sin((a - b) / 2), np.cos((a - b) / 2)],
        ),
        (
            gg.exponential_terms(2, (1, -1)),
            ("exp(x1)", "exp(x2)", "exp(-x1)", "exp(-x2)"),
            lambda a, b: [np.exp(a), np.exp(b), np.exp(-a), np.exp(-b)],
        ),
        (
            gg.exponential_terms(2, (-1,), of="differences"),
            ("exp(-(x1 - x2))",),
            lambda a, b: [np.exp(b - a)],
        ),
        (
            gg.FunctionTerms(2, [("|*|", jnp.abs)], of="differences"),
            ("|x1 - x2|",),
            lambda a, b: [np.abs(a - b)],
        ),
    ],
    ids=["sines", "sines of differences", "exp", "exp of differences", "user"],
)
def test_function_terms(library, names, expected, x64):
    assert library.names() == names
    x = np.random.default_rng(0).normal(size=(3, 4, library.n_states))
    values = library(jnp.asarray(x))
    truth = np.stack(expected(*np.moveaxis(x, -1, 0)), axis=-1)
    np.testing.assert_allclose(values, truth, rtol=1e-13)
    assert library.defined(jnp.asarray(x)).all()
    assert library.n_terms == len(names)


def test_incidence_of_function_terms():
    of_states = gg.exponential_terms(2, (1, 2)).incidence
    np.testing.assert_array_equal(of_states, [[1, 0, 1, 0], [0, 1, 0, 1]])
    of_differences = gg.trigonometric_terms(3, of="differences").incidence
    np.testing.assert_array_equal(
        of_differences, [[1, 1, 0, 1, 1, 0], [1, 0, 1, 1, 0, 1], [0, 1, 1, 0, 1, 1]]
    )


def test_user_terms():
    library = gg.UserTerms(
        3,
        {
            "x3 / (1 + x1)": ([2, 0], lambda c, a: c / (1 + a)),
            "step": ([1], lambda b: b > 0),
            "two": ([], lambda: 2),
        },
    )
    assert library.names(["a", "b", "c"]) == ("x3 / (1 + x1)", "step", "two")
    np.testing.assert_array_equal(library.incidence, [[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    x = jnp.array([[1.0, -1.0, 4.0], [3.0, 0.5, 8.0]])
    np.testing.assert_array_equal(library(x), [[2, 0, 2], [2, 1, 2]])
    assert library(x).dtype == x.dtype


@pytest.mark.parametrize(
    ("function", "good", "bad"),
    [
        (lambda x: 1 / x, 2.0, 0.0),
        (jnp.log, 2.0, 0.0),
        (jnp.log, 2.0, -1.0),
        (jnp.sqrt, 2.0, -1.0),
        (jnp.exp, 2.0, 1e4),
    ],
    ids=["1/0", "log 0", "log -1", "sqrt -1", "overflow"],
)
@pytest.mark.parametrize("kind", ["user", "function"])
def test_terms_that_are_undefined_somewhere(kind, function, good, bad):
    if kind == "user":
        terms = {"x1 x2": ([0, 1], jnp.multiply), "f(x2)": ([1], function)}
        library = gg.UserTerms(2, terms)
    else:
        library = gg.FunctionTerms(2, [("*", lambda x: x), ("f(*)", function)])
    x = jnp.array([[3.0, good], [3.0, bad]])
    np.testing.assert_array_equal(library.defined(x), [True, False])
    assert jnp.isfinite(library(x)).all()
    # Where a term is defined its slope is its own; where not, the slope is 0, and
    # the slopes of the other terms are what they are.
    own = jax.grad(function)(good)
    where_defined, where_not = slopes(library, x)
    np.testing.assert_allclose(where_defined[-1], [0, own], rtol=1e-6)
    np.testing.assert_array_equal(where_not[-1], [0, 0])
    np.testing.assert_allclose(where_not[0], [bad, 3] if kind == "user" else [1, 0])


# Sums ---------------------------------------------------------------------------------


def test_a_sum_puts_libraries_side_by_side():
    parts = (
        gg.Polynomial(2, 2),
        gg.trigonometric_terms(2, of="differences"),
        gg.UserTerms(2, {"1/x2": ([1], lambda b: 1 / b)}),
    )
    library = parts[0] + parts[1] + parts[2]
    x = jnp.array([[1.0, 2.0], [3.0, 0.0]])
    assert library.names(["u", "v"]) == (
        *("1", "u", "v", "u^2", "u v", "v^2"),
        *("sin(u - v)", "cos(u - v)", "1/x2"),
    )
    np.testing.assert_array_equal(
        library(x), np.concatenate([part(x) for part in parts], axis=-1)
    )
    np.testing.assert_array_equal(
        library.incidence, np.concatenate([part.incidence for part in parts], axis=1)
    )
    np.testing.assert_array_equal(library.defined(x), [True, False])
    assert library.n_terms == 9


# Bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, True])
@pytest.mark.parametrize("argument", ["n_states", "degree"])
@pytest.mark.parametrize("door", [gg.degree_matrix, gg.Polynomial])
def test_sizes_must_be_whole_and_positive(door, argument, value):
    sizes = {"n_states": 2, "degree": 2, argument: value}
    rule = f"`{argument}` must be a whole number of at least 1, got {value}"
    with pytest.raises(ValueError, match=rule):
        door(**sizes)


@pytest.mark.parametrize("value", [1.5, "2", None])
def test_sizes_of_another_type_are_refused(value):
    # Past the type checker of the tests, which users do not run.
    door = inspect.unwrap(gg.degree_matrix)
    with pytest.raises(ValueError, match=f"`degree` must be .* got {value!r}"):
        door(3, value)


def _never():
    raise AssertionError("never called")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: gg.Polynomial(2, 2, root=0), "`root` must be .* at least 1, got 0"),
        (lambda: gg.trigonometric_terms(0), "`n_states` must be .* got 0"),
        (
            lambda: gg.trigonometric_terms(1, of="differences"),
            "at least 2, got 1. A difference needs two states",
        ),
        (
            lambda: gg.exponential_terms(2, of="sums"),
            "`of` must be one of 'states', 'differences', got 'sums'",
        ),
        (lambda: gg.trigonometric_terms(2, ()), "`functions` must hold at least one"),
        (lambda: gg.UserTerms(2, {}), "`terms` must hold at least one"),
        (lambda: gg.UserTerms(0, {"f": ([0], _never)}), "`n_states` must be"),
        (
            lambda: gg.UserTerms(2, {"f": ([0, 2], _never)}),
            r"`terms\['f'\]` must name states 0 to 1, got \[0, 2\]",
        ),
        (lambda: gg.UserTerms(2, {"f": ([-1], _never)}), r"got \[-1\]"),
        (
            lambda: gg.Polynomial(2, 2) + gg.Polynomial(2, 1),
            "no term in common, got 1, x1, x2 twice",
        ),
        (
            lambda: gg.Polynomial(2, 2) + gg.trigonometric_terms(3),
            r"same number of states, got \[2, 3\]",
        ),
        (
            lambda: gg.Polynomial(2, 1).index("x1^2"),
            "one of the library's 3 names, got 'x1\\^2'. They are: 1, x1, x2$",
        ),
        (lambda: gg.Polynomial(3, 3).index("y"), "20 names, got 'y'. .*, \\.\\.\\.$"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()
