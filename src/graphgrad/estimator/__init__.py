"""The estimator, with the conventions of scikit-learn, and comparison of its fits."""

from .comparison import compare_fits as compare_fits
from .estimator import GraphGrad as GraphGrad
