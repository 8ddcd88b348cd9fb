"""A fit as one HTML file."""

import importlib.metadata
import platform
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..checks import check_at_least
from ..equations.prepare import prepare
from ..equations.terms import Monomial
from ..plots.phase import vector_field
from ..report import Findings, write_report
from ..solution import PaperSolution
from .drawing import AbstractDrawn, rate_of, seen_states, series_times
from .fitted import in_double
from .record import Fit
from .telling import needs_no_noise

PARTS = ("graphgrad", "jax", "jaxlib", "equinox", "numpy", "scikit-learn")
"""Packages whose versions matter where results differ."""

LEVEL = 0.9
"""Probability of the bands of the states."""

FIELD = (17, 13)
"""Arrows of the vector field in both directions."""


class AbstractReported(AbstractDrawn):
    """A fit that can be read in a browser."""

    @in_double
    def report(
        self, path: str | Path, *, title: str | None = None, forecast: int = 50
    ) -> None:
        """Write one HTML file about the fit that opens offline.

        It has what was found in words, the equations, a graph to explore, the states
        over the data, the path of prices, residuals, a forecast, and the settings.

        How sure a term is comes from `stability` or `posterior`, if one of them was
        called; else from how far its coefficient is from zero, against the price that
        the criterion puts on a term.

        Args:
            path: The file. One that is there is replaced.
            title: Heading of the page.
            forecast: How many steps to look ahead; 0 for none. There is none either
                for several series, or with inputs, whose future is not known.

        Examples:
            >>> import graphgrad as gg, jax, tempfile, pathlib
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
            >>> model.report(path)
            >>> "fox depends on prey" in path.read_text(encoding="utf-8")
            True
        """
        steps = check_at_least("forecast", forecast, 0, "0 leaves the forecast out.")
        write_report(path, self._findings(title, steps))

    def _findings(self, title: str | None, steps: int) -> Findings:
        fit = self._checked()
        layout = fit.layout
        shown = prepare(
            fit.coefficients, layout.library, layout.variables, fit.dynamics
        )
        sure, source = self._confidence(fit)
        ahead, notes = self._ahead(fit, steps)
        rows = [len(series.values) for series in fit.panel.series]
        found = self.residuals()
        return Findings(
            title=title or f"What acts on {_listed(layout.states)}",
            states=tuple(layout.states),
            inputs=tuple(layout.inputs),
            terms=shown.names,
            incidence=np.asarray(layout.library.incidence, float),
            monomials=np.array([isinstance(t, Monomial) for t in shown.terms]),
            coefficients=fit.coefficients,
            dynamics=fit.dynamics,
            standard_errors=fit.standard_errors,
            term_confidence=sure,
            edge_confidence=getattr(self, "edge_confidence_", None),
            edge_strength=_strengths(self.graph(), layout.variables, layout.states),
            latex=tuple(self.latex()),
            times=np.concatenate([series_times(fit, i) for i in range(len(rows))]),
            breaks=tuple(np.cumsum(rows)[:-1].tolist()),
            columns=fit.columns,
            data=np.concatenate([series.values for series in fit.panel.series]),
            means=np.concatenate([e.mean for e in fit.smoothed]),
            bands=np.concatenate([e.band(LEVEL) for e in fit.smoothed]),
            residuals=np.concatenate(found if isinstance(found, list) else [found]),
            verdicts=tuple(self._verdicts(found)),
            outcome=fit.solution.outcome.name,
            advice=fit.solution.advice,
            summary=(*source, *notes),
            scores=_scores(fit),
            settings={
                name: _short(value)
                for name, value in fit.task.settings.items()
                if name != "callback"
            },
            versions=_versions(),
            **_path(fit),
            **self._field(fit),
            **ahead,
        )

    def _confidence(self, fit: Fit) -> tuple[np.ndarray | None, tuple[str, ...]]:
        """How sure each term is, and where that comes from."""
        if hasattr(self, "term_confidence_"):
            return self.term_confidence_, ()
        if isinstance(fit.solution, PaperSolution):
            return None, ()
        return criterion_confidence(fit), (
            "How sure a term is was worked out from its standard error and what a term "
            "costs: against leaving it out, not against another in its place. "
            "`stability` and `posterior` ask more.",
        )

    def _field(self, fit: Fit) -> dict[str, Any]:
        """Where a flow leads in the plane of the first two states."""
        if fit.dynamics != "flow" or len(fit.layout.states) < 2:
            return {}
        path = np.concatenate([estimate.mean for estimate in fit.smoothed])
        seen = [seen_states(fit, i) for i in range(len(fit.panel.series))]
        there = np.concatenate([path, *seen])[:, :2]
        there = np.where(np.isfinite(there), there, np.nan)
        if np.isnan(there).all(axis=0).any():
            return {}
        low, high = np.nanmin(there, axis=0), np.nanmax(there, axis=0)
        # A state that does not move has a plane about it, too.
        edge = np.maximum(0.05 * (high - low), 1e-9 * (1 + np.abs(high)))
        (x0, y0), (x1, y1) = (low - edge).tolist(), (high + edge).tolist()
        limits = ((x0, x1), (y0, y1))
        found = vector_field(rate_of(fit), path, (0, 1), limits, size=FIELD)
        return {"field_x": found.x, "field_y": found.y, "field": found.rates}

    def _ahead(self, fit: Fit, steps: int) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Quantiles of a forecast, and what is to be said about it."""
        if steps == 0 or len(fit.panel.series) > 1 or fit.layout.inputs:
            return {}, ()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the message says it, too
            found = self.forecast(steps)
        levels = (0.05, 0.25, 0.5, 0.75, 0.95)
        # Times of a forecast go on from the last row, also where rows have none.
        begin = series_times(fit, 0)[-1]
        given = {
            "forecast_times": begin + fit.dt * np.arange(1, steps + 1),
            "forecast_levels": levels,
            "forecast": found.states.quantile(levels),
        }
        return given, (found.message,) if found.message else ()


def criterion_confidence(fit: Fit) -> Float[np.ndarray, "Nx M"]:
    """How sure each term is against leaving it out, by the fit's own criterion.

    Half the difference of two models' extended BIC is their log odds (Kass and
    Raftery, JASA 90, 1995). Leaving a term out costs the square of its distance from
    zero in standard errors, and saves its price. What was given is sure.
    """
    away = fit.solution.departures()
    known = fit.standard_errors > 0
    errors = np.where(known, fit.standard_errors, 1.0)
    odds = ((away / errors) ** 2 - fit.term_prices) / 2
    # An estimate of what is all but certain says no more than that.
    sure = 1 / (1 + np.exp(-np.clip(odds, -12, 12)))
    return np.where(away != 0, np.where(known, sure, 1.0), 0.0)


def _strengths(graph: Any, variables: Any, states: Any) -> np.ndarray | None:
    """Of the edges from variables (columns) to states (rows); NaN where none is."""
    out = np.full((len(states), len(variables)), np.nan)
    for source, target, data in graph.edges(data=True):
        if "strength" in data:
            place = list(states).index(target), list(variables).index(source)
            out[place] = data["strength"]
    return None if np.isnan(out).all() else out


def _path(fit: Fit) -> dict[str, Any]:
    """The path of prices."""
    if isinstance(fit.solution, PaperSolution):
        return {}
    prices = np.asarray(fit.solution.prices, float)
    chosen = int(np.argmin(np.abs(np.log(prices / fit.term_price))))
    path = np.asarray(fit.solution.path, float)
    return {"prices": prices, "path": path, "chosen": chosen}


def _scores(fit: Fit) -> dict[str, Any]:
    values = np.concatenate([series.values for series in fit.panel.series])
    scores: dict[str, Any] = {
        "rows": len(values),
        "missing": f"{np.isnan(values).mean():.1%}",
        "log-likelihood": float(fit.solution.log_likelihood),
    }
    if not isinstance(fit.solution, PaperSolution):
        scores["extended BIC"] = float(fit.solution.criterion)
    in_what = "in a unit of time" if fit.dynamics == "flow" else "in a step"
    names = (
        f"deviation of the process noise {in_what}",
        ("deviation of the measurement noise"),
    )
    for name, variances in zip(names, fit.variances, strict=True):
        deviations = ", ".join(f"{value:.3g}" for value in np.sqrt(variances)[:6])
        more = ", ..." * (len(variances) > 6)
        scores[name] = deviations + more
    if needs_no_noise(fit):
        scores[names[0]] = "none is needed"
    return scores


def _versions() -> dict[str, str]:
    parts = {part: importlib.metadata.version(part) for part in PARTS}
    return {"Python": platform.python_version(), **parts}


def _short(value: Any, most: int = 200) -> str:
    text = str(value)
    return text if len(text) <= most else f"{text[:most]} ..."


def _listed(names: Any) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown}, ..."
