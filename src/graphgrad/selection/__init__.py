"""Which penalty, which degree: the paper's synthetic twin, and whole fits compared."""

from .choice import SELECTIONS as SELECTIONS
from .choice import Choice as Choice
from .choice import choose_degree as choose_degree
from .choice import choose_model as choose_model
from .choice import choose_penalty as choose_penalty
from .choice import choose_weight as choose_weight
from .choice import fit_path as fit_path
from .twin import Tuning as Tuning
from .twin import tune_on_twin as tune_on_twin
from .twin import twin_scores as twin_scores
