"""A fit in a notebook: its outcome and its equations."""

import numpy as np

from ..equations.prepare import prepare
from ..equations.terms import Monomial
from ..fits.record import Fit
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
    layout = fit.layout
    shown = prepare(fit.coefficients, layout.library, layout.variables, fit.dynamics)
    return Findings(
        title="",
        states=tuple(layout.states),
        inputs=tuple(layout.inputs),
        terms=shown.names,
        incidence=np.asarray(layout.library.incidence, float),
        monomials=np.array([isinstance(t, Monomial) for t in shown.terms]),
        coefficients=fit.coefficients,
        dynamics=fit.dynamics,
        standard_errors=fit.standard_errors,
        outcome=fit.outcome.name,
        advice=fit.advice,
    )


def display_latex(fit: Fit) -> str:
    """The equations as one formula of LaTeX, for a notebook that becomes a PDF."""
    lines = r" \\ ".join(line.replace(" = ", " &= ", 1) for line in fit_latex(fit))
    return rf"$$\begin{{aligned}} {lines} \end{{aligned}}$$"
