"""How sure each term and each edge is: refits on blocks, and posterior draws."""

from .posterior import Posterior as Posterior
from .posterior import posterior as posterior
from .stability import Stability as Stability
from .stability import stability as stability
