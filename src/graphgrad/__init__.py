"""graphgrad: which quantities act on which, and by what equations."""

from .library import FunctionTerms as FunctionTerms
from .library import Polynomial as Polynomial
from .library import UserTerms as UserTerms
from .library import degree_matrix as degree_matrix
from .library import exponential_terms as exponential_terms
from .library import trigonometric_terms as trigonometric_terms
from .model import simulate as simulate
from .model import state_space_model as state_space_model
