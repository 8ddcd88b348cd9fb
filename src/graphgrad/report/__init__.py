"""One page about a fit: words, equations, graph, pictures, in a single HTML file.

It is made from plain values, and knows neither the estimator nor the command line.
"""

from .findings import Findings as Findings
from .page import write_report as write_report
