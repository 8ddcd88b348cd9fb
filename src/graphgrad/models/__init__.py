"""Models of known structure, ready to be fitted: each function returns a `GraphGrad`.

The terms are given, and their rates are estimated.
"""

from .compartments import compartments
from .driven import driven_process
from .epidemics import seir, sir
from .motion import oscillator, predator_prey

__all__ = [
    "compartments",
    "driven_process",
    "oscillator",
    "predator_prey",
    "seir",
    "sir",
]
