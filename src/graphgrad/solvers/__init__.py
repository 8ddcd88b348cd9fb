"""How the coefficients move: the adaptive solver, and the paper's algorithms.

A new solver is a file of its own and a line in `SOLVERS` of `registries`.
"""

from collections.abc import Callable, MutableMapping

from .. import registries
from ..solution import PaperSolution
from .adaptive import AdaptiveProgress as AdaptiveProgress
from .adaptive import AdaptiveSteps as AdaptiveSteps
from .adaptive import adaptive as adaptive
from .criterion import CRITERIA as CRITERIA
from .paper import AbstractBatching as AbstractBatching
from .paper import FirstThenAll as FirstThenAll
from .paper import FixedNumber as FixedNumber
from .paper import GradientSteps as GradientSteps
from .paper import MultiStart as MultiStart
from .paper import Progress as Progress
from .paper import Telescoping as Telescoping
from .paper import b_graphgrad as b_graphgrad
from .paper import consensus as consensus
from .paper import multistart as multistart
from .paper import pmle as pmle
from .paper import s_graphgrad as s_graphgrad
from .paper import true_mle as true_mle

SOLVERS: MutableMapping[str, Callable[..., PaperSolution]] = registries.SOLVERS
"""Solvers by name; each takes key, ys, model, penalty, and by name start, settings and
callback."""
