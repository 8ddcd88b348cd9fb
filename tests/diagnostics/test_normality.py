"""The test of normality is that of SciPy."""

import numpy as np
import pytest
from scipy import stats

from graphgrad.diagnostics.normality import shape_of


@pytest.mark.parametrize("number", [20, 51, 1000])
@pytest.mark.parametrize(
    "kind", ["normal", "exponential", "uniform", "standard_cauchy"]
)
def test_shape_is_that_of_scipy(kind, number):
    values = getattr(np.random.default_rng(number), kind)(size=number)
    expected = stats.skew(values), stats.kurtosis(values)
    found = shape_of(values)
    np.testing.assert_allclose(found[:2], expected, rtol=1e-9)
    p_value = stats.normaltest(values).pvalue
    np.testing.assert_allclose(found.p_value, p_value, rtol=1e-7, atol=1e-300)
    if found.excess < 0:
        p_value = stats.skewtest(values).pvalue
    np.testing.assert_allclose(found.p_harmful, p_value, rtol=1e-7, atol=1e-300)


def test_symmetric_values_have_no_skewness():
    # SciPy takes a skewness of zero for another one.
    values = np.repeat([-1.0, 1.0], 50)
    both = stats.kurtosistest(values).statistic ** 2
    assert shape_of(values) == pytest.approx((0, -2, np.exp(-both / 2), 1))
