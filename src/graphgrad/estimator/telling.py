"""A fit in a few words."""

from typing import Any

import numpy as np

from ..equations.prepare import MOTIONS
from .checking import AbstractChecked
from .describing import AbstractDescribed
from .fitted import in_double
from .record import Fit

MOST_EDGES = 20
"""More edges than this are not listed one by one."""


class AbstractTold(AbstractDescribed, AbstractChecked):
    """What a fit says, for people in a hurry."""

    @in_double
    def summary(self) -> str:
        """What acts on what, how sure that is, how the fit ended and what to do.

        Examples:
            >>> import graphgrad as gg, jax
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> print(model.summary())
            2 states from 100 rows, in steps of 0.03: a flow, dx/dt = A phi(x).
            4 of 12 possible terms are there.
            ...
            Outcome: converged. The likelihood is at its top on the terms found, and ...
            <BLANKLINE>
            dprey/dt =  1.0... prey             - 0.10... prey fox
            dfox/dt  =             - 1.5... fox + 0.07... prey fox
            <BLANKLINE>
            prey acts on itself through prey and prey fox, ... standard errors from 0.
            prey acts on fox through prey fox, ... standard errors from 0.
            fox acts on prey through prey fox, ... standard errors from 0.
            fox acts on itself through fox and prey fox, ... standard errors from 0.
            <BLANKLINE>
            Residuals of prey: as it should be: no memory, normal, as large as expected.
            Residuals of fox: as it should be: no memory, normal, as large as expected.
        """
        fit = self._checked()
        rows = sum(len(series.values) for series in fit.panel.series)
        series = len(fit.panel.series)
        there = fit.solution.departures() != 0
        found, given = int(np.sum(there)), int(np.sum(there & ~fit.estimated))
        possible = max(fit.task.n_open + given, found)
        source = f"{rows} rows" + (f" of {series} series" if series > 1 else "")
        blocks = [
            [
                f"{_count(len(fit.layout.states), 'state')} from {source}, in steps of "
                f"{fit.dt:g}: a {MOTIONS[fit.dynamics]}.",
                f"{found} of {possible} possible terms "
                f"{'is' if found == 1 else 'are'} there"
                f"{f', {given} of them given' if given else ''}.",
                *["No process noise is needed."] * needs_no_noise(fit),
                f"Outcome: {fit.solution.outcome.name}. {fit.solution.advice}",
            ],
            self.equations(align=True),
            _edges(fit, self.graph()),
            [f"Residuals of {line}" for line in self.check_residuals()],
        ]
        return "\n\n".join("\n".join(block) for block in blocks)


def needs_no_noise(fit: Fit) -> bool:
    """Whether process noise was to be learnt, and nothing speaks for any."""
    return fit.noise_free and isinstance(fit.task.settings["state_noise"], str)


def _edges(fit: Fit, graph: Any) -> list[str]:
    """A sentence for each edge, or for each of the strongest."""
    errors, away = fit.standard_errors, np.abs(fit.solution.departures())
    known = errors > 0
    sure = np.divide(away, errors, out=np.full(away.shape, np.inf), where=known)
    edges = list(graph.edges(data=True))
    if len(edges) > MOST_EDGES:
        strongest = sorted(edges, key=lambda edge: -edge[2].get("strength", 0.0))
        edges = strongest[:MOST_EDGES]
    lines = []
    for source, target, data in edges:
        i = fit.layout.states.index(target)
        columns = [fit.layout.terms.index(term) for term in data["terms"]]
        best = float(max(sure[i, j] for j in columns))
        how = f"{best:.0f} standard errors from 0" if best < np.inf else "as given"
        if "confidence" in data:
            how += f", confidence {100 * data['confidence']:.0f} %"
        whom = "itself" if source == target else target
        lines.append(
            f"{source} acts on {whom} through {_listed(data['terms'])}, {how}."
        )
    moved = {target for _, target in graph.edges}
    lines += [f"Nothing acts on {s}." for s in fit.layout.states if s not in moved]
    left = graph.number_of_edges() - len(edges)
    return [*lines, f"{left} weaker edges are not listed."] if left else lines


def _listed(names: tuple[str, ...]) -> str:
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more terms"
    first, last = names[:-1], names[-1:]
    return " and ".join(filter(None, [", ".join(first), *last]))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
