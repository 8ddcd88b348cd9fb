"""Test of normality by skewness and kurtosis, accurate also for few values.

D'Agostino, Belanger and D'Agostino, The American Statistician 44 (1990): skewness and
kurtosis are transformed to standard normal values, whose squares are added. Far in the
tails, and with a hundred values, the test of Jarque and Bera rejects several times as
often as it says.
"""

from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """Skewness and excess kurtosis of values, and the p-value of normality."""

    skewness: float
    excess: float
    p_value: float


def shape_of(values: np.ndarray) -> Shape:
    """Test values for normality; at least 20.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> shape_of(rng.normal(size=200)).p_value > 0.01
        True
        >>> shape_of(rng.standard_cauchy(200)).p_value < 1e-6
        True
    """
    n = len(values)
    z = (values - values.mean()) / (values.std() or 1.0)
    skewness, kurtosis = float(np.mean(z**3)), float(np.mean(z**4))
    total = _normal_skewness(skewness, n) ** 2 + _normal_kurtosis(kurtosis, n) ** 2
    return Shape(skewness, kurtosis - 3, float(np.exp(-total / 2)))


def _normal_skewness(skewness: float, n: int) -> float:
    """Equations 11 to 16: Johnson's transformation of the skewness."""
    y = skewness * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    beta = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3)
    beta /= (n - 2) * (n + 5) * (n + 7) * (n + 9)
    w2 = np.sqrt(2 * (beta - 1)) - 1
    delta, alpha = 1 / np.sqrt(np.log(w2) / 2), np.sqrt(2 / (w2 - 1))
    return float(delta * np.arcsinh(y / alpha))


def _normal_kurtosis(kurtosis: float, n: int) -> float:
    """Equations 19 and 20: the transformation of Anscombe and Glynn."""
    mean = 3 * (n - 1) / (n + 1)
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (kurtosis - mean) / np.sqrt(variance)
    root = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9))
    root *= np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a = 6 + 8 / root * (2 / root + np.sqrt(1 + 4 / root**2))
    inner = (1 - 2 / a) / (1 + x * np.sqrt(2 / (a - 4)))
    return float((1 - 2 / (9 * a) - np.cbrt(inner)) / np.sqrt(2 / (9 * a)))
