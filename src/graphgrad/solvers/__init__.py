"""How the coefficients move: the paper's algorithms."""

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
from .steps import GradientSteps as GradientSteps
