"""The paper's solvers: gradient steps on batches, from one start or several."""

from .algorithms import Progress as Progress
from .algorithms import b_graphgrad as b_graphgrad
from .algorithms import pmle as pmle
from .algorithms import s_graphgrad as s_graphgrad
from .algorithms import true_mle as true_mle
from .batching import AbstractBatching as AbstractBatching
from .batching import FirstThenAll as FirstThenAll
from .batching import FixedNumber as FixedNumber
from .batching import Telescoping as Telescoping
from .multistart import MultiStart as MultiStart
from .multistart import consensus as consensus
from .multistart import multistart as multistart
from .steps import GradientSteps as GradientSteps
