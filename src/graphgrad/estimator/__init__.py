"""The estimator with scikit-learn's conventions, and comparisons of its fits."""

from .comparison import Comparison as Comparison
from .comparison import compare_fits as compare_fits
from .estimator import GraphGrad as GraphGrad
from .evaluation import Evaluation as Evaluation
from .forecast import Ensemble as Ensemble
from .forecast import Forecast as Forecast
from .states import StateEstimate as StateEstimate
