"""The adaptive solver: nothing to tune, at the statistical limit."""

from .settings import AdaptiveProgress as AdaptiveProgress
from .settings import AdaptiveSteps as AdaptiveSteps
from .solver import adaptive as adaptive
