"""Equations as text."""

import numpy as np
import pytest

import graphgrad as gg

LIBRARY = gg.Polynomial(2, 2)


def test_signs_constants_names_and_zeros():
    coefficients = np.zeros((2, 6))
    coefficients[0, [0, 1, 4]] = [-1.5, 0.25, -2]
    lines = gg.equations(coefficients, LIBRARY, ["prey", "fox"])
    assert lines == ["prey[t+1] = -1.5 + 0.25 prey - 2 prey fox", "fox[t+1] = 0"]


@pytest.mark.parametrize("seed", range(5))
def test_text_says_what_the_model_does(seed):
    """Read back as Python, the text gives the value of C phi(x)."""
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(2, 6)) * (rng.uniform(size=(2, 6)) < 0.6)
    x = rng.normal(size=2)
    expected = coefficients @ np.array(
        [1, x[0], x[1], x[0] ** 2, x[0] * x[1], x[1] ** 2]
    )
    for line, value in zip(
        gg.equations(coefficients, LIBRARY, digits=17), expected, strict=True
    ):
        text = line.split(" = ")[1].replace("^", "**")
        text = text.replace(" x", " * x")
        read = eval(text, {"x1": x[0], "x2": x[1]})
        assert np.isclose(read, value, rtol=1e-12)


def test_bad_coefficients_are_named():
    with pytest.raises(ValueError, match=r"`coefficients` must have shape \(2, 6\)"):
        gg.equations(np.zeros((2, 5)), LIBRARY)
    with pytest.raises(ValueError, match="`coefficients` must be finite"):
        gg.equations(np.full((2, 6), np.nan), LIBRARY)
