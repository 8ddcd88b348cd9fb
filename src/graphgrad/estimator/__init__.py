"""The estimator with scikit-learn's conventions, and comparisons of its fits."""

from .estimator import GraphGrad as GraphGrad
from .estimator import compare_fits as compare_fits
