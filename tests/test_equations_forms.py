"""Every way to write equations says C phi(x)."""

import re
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.mathtext import MathTextParser

import graphgrad as gg
from graphgrad.equations.text import rounded

LIBRARIES = {
    "polynomial": gg.Polynomial(3, 3),
    "square roots": gg.Polynomial(3, 1, root=2),
    "cube roots": gg.Polynomial(3, 1, root=3),
    "sixth roots": gg.Polynomial(3, 1, root=6),
    "sum": gg.Polynomial(3, 1)
    + gg.trigonometric_terms(3, (1, 1 / 3), of="differences")
    + gg.exponential_terms(3, (-1, 0.1))
    + gg.FunctionTerms(3, [("tanh(*)", jnp.tanh)]),
}
HOSTILE = ['"; import os; "', "a_b{^}~\\x%$#&\n", "sin(u)'''"]


def example(library, seed, n_states=3):
    """Sparse coefficients, points, and C phi at them by the library itself."""
    rng = np.random.default_rng(seed)
    shape = (n_states, library.n_terms)
    C = rng.normal(size=shape) * (rng.uniform(size=shape) < 0.4)
    x = rng.normal(size=(5, library.n_states))
    if getattr(library, "root", 1) % 2 == 0:
        x = np.abs(x)
    return C, x, np.asarray(library(jnp.asarray(x))) @ C.T


@pytest.mark.parametrize(
    ("kind", "n_states"),
    [*((kind, 3) for kind in LIBRARIES), ("polynomial", 2), ("sum", 2)],
)
def test_sympy_numpy_and_source_agree_with_the_library(x64, kind, n_states):
    library = LIBRARIES[kind]
    C, x, expected = example(library, 0, n_states)
    arguments = np.split(x, [n_states], axis=-1)[: 1 + (n_states < 3)]
    step = gg.numpy_function(C, library)
    np.testing.assert_allclose(step(*arguments), expected, rtol=1e-12)
    room = {}
    exec(gg.numpy_source(C, library, HOSTILE, form="rate", dt=0.02), room)
    rate = (expected - x[:, :n_states]) / 0.02
    np.testing.assert_allclose(room["rate"](*arguments), rate, rtol=1e-10, atol=1e-10)
    symbols = sympy.symbols(["x1", "x2", "x3"] if n_states == 3 else ["x1", "x2", "u1"])
    written = sympy.lambdify(symbols, gg.to_sympy(C, library), "numpy")
    values = [np.broadcast_to(v, 5) for v in written(*x.T)]
    np.testing.assert_allclose(np.stack(values, axis=-1), expected, rtol=1e-12)
    rates = gg.to_sympy(C, library, form="rate", dt=0.02)
    written = sympy.lambdify(symbols, rates, "numpy")
    values = [np.broadcast_to(v, 5) for v in written(*x.T)]
    np.testing.assert_allclose(np.stack(values, -1), rate, rtol=1e-10, atol=1e-10)


def read(line, x):
    """The value of a line of text, by Python."""
    text = line.split(" = ")[1].replace("^", "**")
    text = re.sub(r"(?<=[\w)]) +(?=[\w(])", " * ", text.strip())
    names = {f"x{i + 1}": value for i, value in enumerate(x)}
    return eval(text, {**names, "sin": np.sin, "cos": np.cos, "exp": np.exp})


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("digits", [2, 5])
def test_text_reads_back_to_its_rounding(x64, digits, align):
    library = (
        gg.Polynomial(3, 1, root=2)
        + gg.trigonometric_terms(3, (2,), of="differences")
        + gg.exponential_terms(3, (-1, 0.5))
    )
    C, x, _ = example(library, seed=digits)
    x = np.abs(x)
    phi = np.asarray(library(jnp.asarray(x)))
    lines = gg.equations(C, library, digits=digits, align=align)
    found = np.array([[read(line, point) for line in lines] for point in x])
    bound = 0.5 * 10.0 ** (1 - digits) * np.abs(phi) @ np.abs(C).T
    assert (np.abs(found - phi @ C.T) <= bound + 1e-12).all()
    errors = np.exp(np.random.default_rng(0).normal(-4, 3, size=C.shape))
    lines = gg.equations(C, library, standard_errors=errors, align=align)
    found = np.array([[read(line, point) for line in lines] for point in x])
    # Half a unit in the second digit is at most a twentieth of the error.
    assert (np.abs(found - phi @ C.T) <= 0.0503 * np.abs(phi) @ errors.T + 1e-12).all()


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_rounding_follows_the_error(value, error):
    text = rounded(value, 3, error)
    assert abs(float(text) - value) <= 0.0503 * error + 1e-15 * value
    # No digit that the error does not justify, but one.
    digits = len(text.split("e")[0].replace(".", "").lstrip("0"))
    assert digits <= max(1, np.floor(np.log10(value / error)) + 4)


def test_the_rate_is_that_of_the_system():
    system = gg.systems.lorenz63(dt=0.02)
    C, library = system.coefficients(), system.library()
    lines = gg.equations(C, library, form="rate", dt=0.02)
    assert lines == [
        "dx1/dt = -10 x1 + 10 x2",
        "dx2/dt = 28 x1 - 1 x2 - 1 x1 x3",
        "dx3/dt = -2.67 x3 + 1 x1 x2",
    ]
    errors = 0.02 * np.full(C.shape, 0.0123)
    lines = gg.equations(C, library, form="rate", dt=0.02, standard_errors=errors)
    assert lines[2] == "dx3/dt = -2.667 x3 + 1.000 x1 x2"


def test_terms_stand_in_columns():
    C = np.array([[0, 0.5, 0], [-12.25, 0, 3]])
    library = gg.Polynomial(2, 1)
    assert gg.equations(C, library, ["a", "fox"], align=True) == [
        "a[t+1]   =         0.5 a",
        "fox[t+1] = -12.2         + 3 fox",
    ]
    nothing = gg.equations(np.zeros((2, 3)), library, align=True)
    assert nothing == ["x1[t+1] =  0", "x2[t+1] =  0"]


def test_latex():
    library = gg.Polynomial(3, 1, root=2) + gg.exponential_terms(3, (-0.5,))
    C = np.zeros((2, library.n_terms))
    C[0, [0, 2]] = [-1.25e-7, 3]
    C[1, [library.index("x1"), library.index("exp(-0.5 x3)")]] = [1, 2]
    states = ["x1", "fast_prey", "u_2"]
    assert gg.latex(C, library, states) == [
        r"x_{1,t+1} = -1.25 \times 10^{-7} + 3\,\mathrm{fast\_prey}_{t}^{1/2}",
        r"\mathrm{fast\_prey}_{t+1} = 1\,x_{1,t} "
        r"+ 2\,\exp\left(-0.5\,u_{2,t+1}\right)",
    ]
    assert gg.latex(np.full((1, 3), 1 / 3), gg.Polynomial(2, 1), digits=None) == [
        r"x_{1,t+1} = 0.3333333333333333 + 0.3333333333333333\,x_{1,t} "
        r"+ 0.3333333333333333\,u_{1,t+1}"
    ]


@pytest.mark.parametrize(("kind", "form"), [("cube roots", "rate"), ("sum", "map")])
def test_latex_can_be_set(kind, form):
    """Matplotlib sets a part of LaTeX; of the escapes all but those of # and &."""
    C, _, _ = example(LIBRARIES[kind], seed=0)
    parser = MathTextParser("path")
    for states in (["x12", "a_b{", "c}^~\\x"], ["y", "prey3", "%$ d\n"]):
        for line in gg.latex(C, LIBRARIES[kind], states, form=form, dt=0.1):
            parser.parse(f"${line}$")


def test_functions_of_users():
    library = gg.Polynomial(2, 1) + gg.UserTerms(2, {"hill": ([1], lambda x: x / 2)})
    C = [[0, 1, 0, 3], [0, 0, 1, 0]]
    first, _ = gg.to_sympy(C, library, ["a", "b"])
    a, b = sympy.symbols("a b")
    assert first == 1.0 * a + 3.0 * sympy.Function("hill")(b)
    lambdified = sympy.lambdify([a, b], first, [{"hill": lambda x: x / 2}, "numpy"])
    assert lambdified(1.0, 4.0) == 7
    assert gg.latex(C, library)[0].endswith(r"3\,\mathrm{hill}")
    with pytest.raises(ValueError, match=r"must hold terms that NumPy can.*'hill'"):
        gg.numpy_function(C, library)
    # A term that does not enter does not disturb.
    assert gg.numpy_function([[0, 1, 0, 0], [0, 0, 1, 0]], library)([1, 2])[1] == 2
    own = gg.FunctionTerms(1, [("f(*)", lambda x: x)])
    assert str(gg.to_sympy([[2]], own)[0]) == "2.0*f(x1)"
    apart = gg.FunctionTerms(2, [("f(*)", lambda x: x)], of="differences")
    assert str(gg.to_sympy([[2], [0]], apart)[0]) == "2.0*f(x1 - x2)"
    assert gg.latex([[2], [0]], apart)[0] == r"x_{1,t+1} = 2\,\mathrm{f(x1\ -\ x2)}"
    with pytest.raises(ValueError, match=r"NumPy can compute, got 'f\(x1 - x2\)'"):
        gg.numpy_source([[2], [0]], apart)


def test_shapes_of_the_function():
    step = gg.numpy_function([[2, 0, 0], [0, 1, 0]], gg.Polynomial(2, 1))
    assert step(np.zeros((4, 3, 2))).shape == (4, 3, 2)
    assert step(np.zeros(2)).tolist() == [2, 0]
    with pytest.raises(ValueError, match="unpack"):
        step(np.zeros(3))
    driven = gg.numpy_function([[0, 1, 1]], gg.Polynomial(2, 1))
    assert driven(np.zeros((4, 1)), [1.0]).tolist() == [[1.0]] * 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"form": "ode"}, "`form` must be one of 'map', 'rate', got 'ode'"),
        ({"form": "rate"}, "`dt` must be a positive finite number, got None"),
        ({"states": ["a", "a"]}, "`states` must be 2 different names, got 'a' twice"),
        ({"states": ["a"]}, "`states` must be 2 different names, got 1"),
        ({"digits": 0}, "`digits` must be a whole number of at least 1"),
    ],
)
@pytest.mark.parametrize(
    "write",
    [gg.equations, gg.latex, gg.to_sympy, gg.numpy_function],
    ids=lambda f: f.__name__,
)
def test_faults_are_named(write, changed, message):
    with pytest.raises(ValueError, match=message):
        write(np.ones((2, 3)), gg.Polynomial(2, 1), **changed)


def test_a_rate_needs_the_states_among_the_terms():
    library = gg.trigonometric_terms(1)
    with pytest.raises(
        ValueError, match=r"`form` must be 'map'.*without the term 'x1'"
    ):
        gg.equations([[1, 1]], library, form="rate", dt=1.0)
    with pytest.raises(ValueError, match=r"`standard_errors` must have shape \(1, 2\)"):
        gg.equations([[1, 1]], library, standard_errors=[1, 1])


def test_nothing_heavy_is_imported():
    code = (
        "import sys, graphgrad; "
        "print({'matplotlib', 'networkx', 'sympy'} & set(sys.modules))"
    )
    run = [sys.executable, "-c", code]
    assert subprocess.check_output(run, text=True).strip() == "set()"
