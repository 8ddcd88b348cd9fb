"""A fit in a notebook: its outcome and its equations."""

from typing import Any

import numpy as np

from ..equations.terms import Monomial, terms
from ..fits.record import Fit
from ..library import origin_of
from ..report import Findings
from ..report.mathml import equation
from ..report.text import safe
from .equations import fit_latex


def fit_html(fit: Fit) -> str:
    """Outcome and equations as HTML, the equations in MathML."""
    found = shown_equations(fit)
    lines = "\n".join(equation(found, a) for a in range(len(found.states)))
    advice = f"<p>Outcome: <b>{safe(found.outcome)}</b>. {safe(found.advice)}</p>"
    return f"<div>\n{lines}\n{advice}\n</div>"


def shown_equations(fit: Fit) -> Findings:
    """The part of the contents of a report from which equations are written."""
    outcome, advice = fit.outcome.name, fit.advice
    return Findings(title="", outcome=outcome, advice=advice, **equation_parts(fit))


def equation_parts(fit: Fit) -> dict[str, Any]:
    """Names, terms and coefficients of the equations, as a report has them.

    Terms of delayed variables, seasons and other origins are written by their names.
    """
    layout, results = fit.layout, fit.shown
    written = terms(layout.library, layout.variables)
    plain = (*layout.present, *fit.task.drivers.given)
    made = np.array([name not in plain for name in layout.variables])
    made |= np.asarray(origin_of(layout.library)) != 0
    by_name = np.asarray(layout.library.incidence)[made].any(axis=0)
    return {
        "states": layout.present,
        "inputs": layout.nodes[fit.n_present :],
        "terms": layout.terms,
        "incidence": layout.incidence.astype(float),
        "monomials": np.array([isinstance(t, Monomial) for t in written]) & ~by_name,
        "coefficients": results.coefficients,
        "dynamics": fit.dynamics,
        "standard_errors": results.standard_errors,
    }


def display_latex(fit: Fit) -> str:
    """The equations as one formula of LaTeX, for a notebook that becomes a PDF."""
    lines = r" \\ ".join(line.replace(" = ", " &= ", 1) for line in fit_latex(fit))
    return rf"$$\begin{{aligned}} {lines} \end{{aligned}}$$"
