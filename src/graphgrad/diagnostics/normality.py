"""Test of normality by skewness and kurtosis, accurate also for few values.

D'Agostino, Belanger and D'Agostino, The American Statistician 44 (1990): skewness and
kurtosis are transformed to standard normal values, whose squares are added. Far in the
tails, and with a hundred values, the test of Jarque and Bera rejects several times as
often as it says. SciPy has the same test, but its statistics take long to import.
"""

import math
from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """The shape of a sample.

    Attributes:
        skewness: Skewness of the values.
        excess: Their excess kurtosis.
        p_value: Probability of both by chance, if the values are normal.
        p_harmful: Likewise, but only of the skewness for tails that are light.
    """

    skewness: float
    excess: float
    p_value: float
    p_harmful: float


def shape_of(values: np.ndarray) -> Shape:
    """Test values for normality; at least 20, and not all the same.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> shape_of(rng.normal(size=200)).p_value > 0.01
        True
        >>> shape_of(rng.standard_cauchy(200)).p_value < 1e-6
        True
    """
    z = (values - values.mean()) / values.std()
    skewness, excess = float(np.mean(z**3)), float(np.mean(z**4)) - 3
    skew, tails = _of_skewness(skewness, len(z)), _of_excess(excess, len(z))
    p = math.exp(-(skew**2 + tails**2) / 2)  # chi-squared with two degrees of freedom
    harmful = p if excess > 0 else math.erfc(abs(skew) / math.sqrt(2))
    return Shape(skewness, excess, p, harmful)


def _of_skewness(skewness: float, n: int) -> float:
    """Skewness as a standard normal value."""
    y = skewness * math.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    kurtosis = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3)
    kurtosis /= (n - 2) * (n + 5) * (n + 7) * (n + 9)
    width = math.sqrt(2 * (kurtosis - 1)) - 1
    return math.asinh(y * math.sqrt((width - 1) / 2)) / math.sqrt(math.log(width) / 2)


def _of_excess(excess: float, n: int) -> float:
    """Excess kurtosis as a standard normal value."""
    mean = -6 / (n + 1)
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (excess - mean) / math.sqrt(variance)
    skewness = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9))
    skewness *= math.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    shape = 6 + 8 / skewness * (2 / skewness + math.sqrt(1 + 4 / skewness**2))
    denominator = 1 + x * math.sqrt(2 / (shape - 4))
    root = math.copysign(((1 - 2 / shape) / abs(denominator)) ** (1 / 3), denominator)
    return (1 - 2 / (9 * shape) - root) / math.sqrt(2 / (9 * shape))
