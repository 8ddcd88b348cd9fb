"""Contents of the report of a fit, as plain values."""

import importlib.metadata
import platform
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..checks import check_at_least, shortened
from ..data.clock import as_dates
from ..diagnostics.alternatives import noticeable
from ..diagnostics.free_run import edge_signs, run_freely
from ..diagnostics.residuals import fit_residuals, residual_verdicts
from ..diagnostics.skill import Skill, one_step_skill
from ..diagnostics.term_confidence import criterion_confidence
from ..fits.record import Fit
from ..plots.phase import vector_field
from ..prediction.forecast import forecast
from ..prediction.rollout import rate_of
from ..report import Findings
from ..solution import PaperSolution
from .display import equation_parts
from .equations import fit_equations, fit_graph, fit_latex

PARTS = ("graphgrad", "jax", "jaxlib", "equinox", "numpy", "scikit-learn")
"""Packages whose versions are recorded."""

LEVEL = 0.9
"""Probability of the bands of the states."""

FIELD = (17, 13)
"""Number of arrows of the vector field, horizontally and vertically."""


def fit_findings(
    key: PRNGKeyArray,
    fit: Fit,
    *,
    title: str | None = None,
    steps: Any = 50,
    term_confidence: Float[np.ndarray, "Nx M"] | None = None,
    edge_confidence: Float[np.ndarray, "Nx Nv"] | None = None,
) -> Findings:
    """Contents of the report of a fit, as plain values.

    Args:
        key: Random key.
        fit: The fit.
        title: Heading of the page.
        steps: Number of steps to forecast; 0 for none.
        term_confidence: Confidence in each term; by the extended BIC if None.
        edge_confidence: Confidence in each edge, if known.
    """
    steps = check_at_least("forecast", steps, 0, "0 leaves the forecast out.")
    smoothed = fit.shown.smoothed
    confidence, source = _confidence(fit, term_confidence)
    if fit.doubted:
        confidence, edge_confidence, source = None, None, ()
    ahead, notes = _ahead(key, fit, steps)
    rows = [len(series.values) for series in fit.panel.series]
    found = fit_residuals(key, fit)
    verdicts = residual_verdicts(fit, found)
    return Findings(
        title=title or f"What acts on {shortened(fit.layout.present, 4)}",
        **equation_parts(fit),
        term_confidence=confidence,
        edge_confidence=edge_confidence,
        edge_strength=_strengths(fit),
        edge_sign=edge_signs(fit),
        latex=tuple(fit_latex(fit)),
        alternatives=tuple(
            (other.sentence, tuple(fit_equations(fit, coefficients=other.coefficients)))
            for other in noticeable(fit)
        ),
        times=np.concatenate([_when(fit, fit.times(i), i) for i in range(len(rows))]),
        dated=_dated(fit),
        time_name="date" if _dated(fit) else _time_name(fit),
        time_unit=fit.time_unit or "",
        breaks=tuple(np.cumsum(rows)[:-1].tolist()),
        columns=fit.columns,
        data=np.concatenate([series.values for series in fit.panel.series]),
        means=np.concatenate([e.mean for e in smoothed]),
        bands=np.concatenate([e.band(LEVEL) for e in smoothed]),
        residuals=np.concatenate(found if isinstance(found, list) else [found]),
        verdicts=tuple(verdicts),
        residuals_first=fit.doubted or _fails(verdicts),
        skills=tuple(map(_skill_row, one_step_skill(fit))),
        **_inputs(fit),
        **_free_run(fit),
        outcome=fit.outcome.name,
        advice=fit.advice,
        summary=(*source, *notes),
        scores=_scores(fit),
        settings={
            name: _short(value)
            for name, value in fit.task.settings.items()
            if name != "callback"
        },
        versions=_versions(),
        **_path(fit),
        **_field(fit),
        **ahead,
    )


def _confidence(
    fit: Fit, known: np.ndarray | None
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Confidence in each term, and a note on its source."""
    if known is not None:
        return known, ()
    if isinstance(fit.solution, PaperSolution):
        return None, ()
    return criterion_confidence(fit)[: fit.n_present], (
        "The confidence in a term comes from its standard error and its extended BIC "
        "penalty, and from the alternatives of the fit that do not have it. "
        "`stability` tests more.",
    )


def _fails(verdicts: list[str]) -> bool:
    """Whether a test of the residuals rejects."""
    return any("(p = " in line for line in verdicts)


def _skill_row(skill: Skill) -> dict[str, Any]:
    return {
        "column": skill.column,
        "R\N{SUPERSCRIPT TWO}": skill.r2,
        "error of the fit": skill.error,
        "of persistence": skill.persistence,
        "of an autoregression": skill.autoregression,
        "its order": str(skill.order) if np.isfinite(skill.autoregression) else "",
    }


def _inputs(fit: Fit) -> dict[str, Any]:
    inputs, n = fit.task.acting, len(fit.task.drivers.undelayed)
    if inputs is None:
        return {}
    return {
        "input_data": np.concatenate([part.values[:, :n] for part in inputs.series])
    }


def _free_run(fit: Fit) -> dict[str, Any]:
    """The equations on their own, from the first smoothed state of one series."""
    if len(fit.panel.series) > 1:
        return {}
    found = run_freely(fit, 0, fit.smoothed[0].mean[:1], np.zeros(1, int))
    if found is None:
        return {}
    # Over uneven intervals the run has steps of dt, up to the last row.
    times = fit.times(0)
    when = times[0] + fit.dt * np.arange(1, len(found) + 1)
    kept = when <= times[-1] + 0.5 * fit.dt
    run = found[kept, 0, : fit.n_present]
    return {"free_times": _when(fit, when[kept]), "free_run": run}


def _dated(fit: Fit) -> bool:
    """Whether the times of all series are dates."""
    return all(s.clock is not None and s.clock.epoch for s in fit.panel.series)


def _when(fit: Fit, times: np.ndarray, number: int = 0) -> np.ndarray:
    """Times for the report: milliseconds since 1970 if they are dates."""
    if not _dated(fit):
        return times
    dates = as_dates(times, fit.panel.series[number].clock)
    return dates.astype("datetime64[ms]").astype("int64").astype(float)


def _time_name(fit: Fit) -> str:
    return f"time in {fit.time_unit}s" if fit.time_unit else "time"


def _field(fit: Fit) -> dict[str, Any]:
    """Vector field of a flow in the plane of the first two states."""
    if fit.dynamics != "flow" or len(fit.layout.states) < 2:
        return {}
    means = np.concatenate([estimate.mean for estimate in fit.smoothed])
    observed = [fit.observed_states(i) for i in range(len(fit.panel.series))]
    there = np.concatenate([means, *observed])[:, :2]
    there = np.where(np.isfinite(there), there, np.nan)
    if np.isnan(there).all(axis=0).any():
        return {}
    low, high = np.nanmin(there, axis=0), np.nanmax(there, axis=0)
    # The margin is positive for a constant state, too.
    edge = np.maximum(0.05 * (high - low), 1e-9 * (1 + np.abs(high)))
    (x0, y0), (x1, y1) = (low - edge).tolist(), (high + edge).tolist()
    limits = ((x0, x1), (y0, y1))
    found = vector_field(rate_of(fit), means, (0, 1), limits, size=FIELD)
    return {"field_x": found.x, "field_y": found.y, "field": found.rates}


def _ahead(
    key: PRNGKeyArray, fit: Fit, steps: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Quantiles of a forecast, and its warning, if any."""
    if steps == 0 or len(fit.panel.series) > 1 or fit.task.drivers.given:
        return {}, ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it is in the message
        try:
            found = forecast(key, fit, steps, smoothing_key=key)
        except ValueError as error:  # a fit that lost the data is reported all the same
            return {}, (f"There is no forecast: {error}",)
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    # Times of a forecast continue those of the rows, which may be multiples of dt.
    begin = fit.times(0)[-1]
    given = {
        "forecast_times": _when(fit, begin + fit.dt * np.arange(1, steps + 1)),
        "forecast_levels": levels,
        "forecast": found.states.quantile(levels),
        "forecast_note": "" if found.rivals is None else found.rivals.sentence,
    }
    return given, (found.message,) if found.message else ()


def _strengths(fit: Fit) -> np.ndarray | None:
    """Strengths of edges from variables (columns) to states (rows); NaN for no edge."""
    variables, states = fit.layout.nodes, fit.layout.present
    out = np.full((len(states), len(variables)), np.nan)
    for source, target, data in fit_graph(fit).edges(data=True):
        if "strength" in data:
            place = states.index(target), variables.index(source)
            out[place] = data["strength"]
    return None if np.isnan(out).all() else out


def _path(fit: Fit) -> dict[str, Any]:
    """The regularisation path."""
    if isinstance(fit.solution, PaperSolution):
        return {}
    penalties = np.asarray(fit.solution.prices, float)
    chosen = int(np.argmin(np.abs(np.log(penalties / fit.term_penalty))))
    path = np.array(fit.solution.path, float)[:, : fit.n_present]
    path[chosen] = fit.shown.coefficients  # as refitted, as in the equations
    return {"prices": penalties, "path": path, "chosen": chosen}


def _scores(fit: Fit) -> dict[str, Any]:
    values = np.concatenate([series.values for series in fit.panel.series])
    scores: dict[str, Any] = {
        "rows": len(values),
        "missing": f"{np.isnan(values).mean():.1%}",
        "log-likelihood": float(fit.solution.log_likelihood),
    }
    if not isinstance(fit.solution, PaperSolution):
        scores["extended BIC"] = float(fit.solution.criterion)
    unit = f"per {fit.time_unit or 'unit of time'}"
    unit = unit if fit.dynamics == "flow" else "per step"
    names = (
        f"standard deviation of the process noise {unit}",
        "standard deviation of the measurement noise",
    )
    process, measured = fit.variances
    for name, variances in zip(
        names, (process[: fit.n_present], measured), strict=True
    ):
        deviations = ", ".join(f"{value:.3g}" for value in np.sqrt(variances)[:6])
        more = ", ..." * (len(variances) > 6)
        scores[name] = deviations + more
    if fit.needs_no_noise:
        scores[names[0]] = "none is needed"
    return scores


def _versions() -> dict[str, str]:
    parts = {part: importlib.metadata.version(part) for part in PARTS}
    return {"Python": platform.python_version(), **parts}


def _short(value: Any, most: int = 200) -> str:
    text = str(value)
    return text if len(text) <= most else f"{text[:most]} ..."
