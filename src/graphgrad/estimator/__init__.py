"""The estimator, with the conventions of scikit-learn, and comparison of its fits."""

from .estimator import GraphGrad as GraphGrad
from .estimator import compare_fits as compare_fits
