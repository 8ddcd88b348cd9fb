"""How the coefficients move: the adaptive solver, and the paper's algorithms.

A new solver is a file of its own and a line in `SOLVERS` of `registries`.
"""

from collections.abc import Callable, MutableMapping

from .. import registries
from ..solution import PaperSolution
from .adaptive import adaptive as adaptive
from .batching import AbstractBatching as AbstractBatching
from .batching import FirstThenAll as FirstThenAll
from .batching import FixedNumber as FixedNumber
from .batching import Telescoping as Telescoping
from .multistart import MultiStart as MultiStart
from .multistart import consensus as consensus
from .multistart import multistart as multistart
from .paper import Progress as Progress
from .paper import b_graphgrad as b_graphgrad
from .paper import pmle as pmle
from .paper import s_graphgrad as s_graphgrad
from .paper import true_mle as true_mle
from .search import AdaptiveProgress as AdaptiveProgress
from .search import AdaptiveSteps as AdaptiveSteps
from .steps import GradientSteps as GradientSteps

SOLVERS: MutableMapping[str, Callable[..., PaperSolution]] = registries.SOLVERS
"""Solvers by name; each takes key, ys, model, penalty, and by name start, settings and
callback."""
