"""Which penalty: the paper's synthetic twin."""

from .twin import Tuning as Tuning
from .twin import tune_on_twin as tune_on_twin
from .twin import twin_scores as twin_scores
