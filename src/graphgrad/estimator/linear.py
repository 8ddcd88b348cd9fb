"""A linear map beside what the criterion chose, by forecasts of several steps.

The criterion judges one step. Squares that gain there may forecast worse from the
second step on, and a flow may be no model of rows that are long apart: autoregressions
are hard to beat. So where memory is chosen, linear terms alone are fitted, too.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from ..data.series import Panel, is_regular
from ..diagnostics.rolling import rolling_errors
from ..fits.record import DOUBTED, Fit
from ..solution import Outcome
from .memory import AUTO, MOST_LAGS, FitOne, fit_with_memory

LONGEST = 12
"""Most steps of the forecasts that are compared."""

ROWS_A_STEP = 6
"""Rows of the shortest series for each of these steps."""

AS_GOOD = 1.01
"""Ratio of the errors up to which linear equations are preferred."""


def or_linear_map(
    key: PRNGKeyArray,
    first: Fit,
    settings: Mapping[str, Any],
    panel: Panel,
    fit_one: FitOne,
) -> Fit:
    """The fit, or a linear map if it forecasts as well, or if the fit failed.

    Args:
        key: Random key.
        first: The fit by the criterion.
        settings: Parameters of the estimator by name.
        panel: The data.
        fit_one: Fits with settings of which none is chosen.
    """
    if not _may_be_linear(first, settings, panel):
        return first
    chosen = {name: first.task.settings[name] for name in ("seasons", "hidden")}
    if settings["dynamics"] == AUTO:
        chosen["dynamics"] = "map"
    linear = fit_with_memory(key, {**settings, **chosen, "degree": 1}, panel, fit_one)
    rows = min(len(series.values) for series in panel.series)
    horizon = min(LONGEST, rows // ROWS_A_STEP)
    ours, theirs = (_error(fit, horizon, rows // 4) for fit in (first, linear))
    note = (
        f"Tried, with the change of the error of forecasts of 1 to {horizon} steps: "
        f"linear map {100 * (theirs / ours - 1):+.1f} %."
    )
    # Equations that failed are no choice, however well they follow their own rows.
    failed = first.solution.outcome not in (*DOUBTED, Outcome.nothing_left)
    found = linear.solution.outcome in DOUBTED and (failed or theirs < AS_GOOD * ours)
    best = linear if found else first
    return best._replace(notes=(*best.notes, note))


def _may_be_linear(first: Fit, settings: Mapping[str, Any], panel: Panel) -> bool:
    """Whether memory was to be chosen, among more than linear maps."""
    plain = {"lags": AUTO, "solver": "adaptive", "selection": "ebic", "library": None}
    if not (
        all(settings[name] == value for name, value in plain.items())
        and settings["dynamics"] != "flow"
        and not settings["constraints"]
        and not settings["prior"]
        and first.layout.matrix is not None
        and not first.engine.stochastic
        and all(is_regular(series.times, first.dt) for series in panel.series)
    ):
        return False
    # Fewer candidates are cheaper, so that this may be another map.
    return first.dynamics == "flow" or settings["degree"] > 1


def _error(fit: Fit, horizon: int, skipped: int) -> float:
    """Geometric mean of the errors by number of steps, as expected on other rows.

    Each coefficient makes errors on the rows of the fit smaller by what a degree of
    freedom does.
    """
    errors = rolling_errors(fit, horizon, min(skipped, 1 + MOST_LAGS))
    if errors is None:
        return np.inf
    values = int(np.sum(~np.isnan(fit.data.ys)))
    number = int(fit.estimated[: fit.n_present].sum())
    return float(np.exp(np.mean(np.log(errors)))) * (1 + number / values)
