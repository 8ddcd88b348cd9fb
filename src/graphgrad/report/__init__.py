"""An HTML report about a fit: text, equations, graph and plots in a single file.

It is built from plain values and does not depend on the estimator or command line.
"""

from .findings import Findings as Findings
from .page import write_report as write_report
