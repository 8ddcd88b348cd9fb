"""Equations as text, LaTeX, SymPy and NumPy."""

from .latex import latex as latex
from .source import numpy_function as numpy_function
from .source import numpy_source as numpy_source
from .symbolic import to_sympy as to_sympy
from .text import equations as equations
