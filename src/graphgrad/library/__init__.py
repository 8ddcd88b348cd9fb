"""Libraries of candidate terms phi(x): values, names, and states in each term."""

from .base import AbstractLibrary as AbstractLibrary
from .base import SumLibrary as SumLibrary
from .degrees import degree_matrix as degree_matrix
from .degrees import monomial_names as monomial_names
from .degrees import variable_names as variable_names
from .functions import FunctionTerms as FunctionTerms
from .functions import Stretched as Stretched
from .functions import UserTerms as UserTerms
from .functions import exponential_terms as exponential_terms
from .functions import trigonometric_terms as trigonometric_terms
from .monomials import Monomials as Monomials
from .monomials import partly_linear as partly_linear
from .polynomial import Polynomial as Polynomial
from .shifted import Shifted as Shifted
from .shifted import about as about
from .shifted import centred as centred
from .shifted import from_origin as from_origin
from .shifted import moved_origin as moved_origin
from .shifted import origin_of as origin_of
