"""Memory that is chosen: delays, seasons and hidden states, by the criterion.

Fits are compared on the same rows: the first ones, which a fit with delays cannot
predict, are left out of every log-likelihood.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from ..checks import check_at_least
from ..data.lags import even_steps
from ..data.layout import state_names
from ..data.periods import strongest_period
from ..data.series import Panel, row_times
from ..diagnostics.residuals import fit_residuals, remember
from ..fits.record import Fit
from ..model import forbid, known
from ..prediction.states import filtered_states
from .delays import found_delays

AUTO = "auto"

MOST_LAGS = 10
"""Longest delay that is looked for."""

MOST_DELAYED = 20
"""Most delayed states that are tried at once."""

MOST_HIDDEN = 2
"""Most hidden states that are tried."""

NOTHING = {"seasons": None, "lags": 0, "hidden": 0}
"""Settings without memory."""

FitOne = Callable[[Mapping[str, Any]], Fit]


def fit_with_memory(
    key: PRNGKeyArray, settings: Mapping[str, Any], panel: Panel, fit_one: FitOne
) -> Fit:
    """Fit with the memory of the settings, chosen where they say `"auto"`.

    Args:
        key: Random key.
        settings: Parameters of the estimator by name.
        panel: The data.
        fit_one: Fits with settings of which none is chosen.
    """
    plain = {**settings}
    for name, nothing in NOTHING.items():
        if _is_auto(name, settings[name]):
            plain[name] = nothing
    remedy = "It is a number of states, or 'auto'."
    number = check_at_least("hidden", plain["hidden"], 0, remedy)
    best = fit_one(with_hidden(plain, panel, number) if number else plain)
    notes = []
    for name, tries in (("seasons", _seasons), ("lags", _lags), ("hidden", _hidden)):
        if _is_auto(name, settings[name]):
            best, note = _best(key, best, tries(key, best, panel), fit_one)
            notes.append(note)
    return best._replace(notes=tuple(filter(None, notes)))


def with_hidden(
    settings: Mapping[str, Any], panel: Panel, number: int, column: int = 0
) -> dict[str, Any]:
    """Settings with hidden states h1, h2, ..., whose scale and origin are fixed.

    The first acts on the state of a column, each other on the one before, with
    coefficient 1; their equations have no constant.

    Args:
        settings: Parameters of the estimator by name.
        panel: The data.
        number: Number of hidden states.
        column: Index of the column.
    """
    observation = settings["observation"]
    if callable(observation) or np.ndim(observation) == 2:
        raise ValueError(
            "`hidden` must be 0 where `observation` is a function or a matrix, got "
            f"{number}. Name the hidden states in `states`."
        )
    states = state_names(settings, panel)
    names = [f"h{i + 1}" for i in range(number)]
    seen = states[column] if observation is None else observation[column]
    fixed = [known(a, b, 1.0) for a, b in pairwise([seen, *names])]
    fixed += [forbid(name, "1") for name in names]
    return {
        **settings,
        "states": [*states, *names],
        "constraints": [*settings["constraints"], *fixed],
        "hidden": 0,
    }


def comparable_criterion(key: PRNGKeyArray, fit: Fit, skipped: int) -> float:
    """Extended BIC of the rows after the first ones of each series.

    Each learnt variance of process noise costs the logarithm of the number of values.

    Args:
        key: Random key.
        fit: The fit.
        skipped: Number of rows of each series that are left out.
    """
    _, increments = filtered_states(key, fit.engine, fit.data)
    likelihood = sum(float(np.sum(part[skipped:])) for part in increments)
    there = fit.solution.departures()[: fit.n_present] != 0
    estimated = there & fit.estimated[: fit.n_present]
    price = float(np.sum(fit.term_penalties[: fit.n_present][estimated]))
    values = int(np.sum(~np.isnan(fit.data.ys)))
    variances = fit.n_present * ("state_noise" in fit.task.prepared.learn)
    return -2 * likelihood + price + np.log(values) * variances


Candidates = Iterator[tuple[str, Mapping[str, Any], float]]
"""What is tried: in words, as settings, and what it costs beside its terms."""


def _best(
    key: PRNGKeyArray, first: Fit, candidates: Candidates, fit_one: FitOne
) -> tuple[Fit, str]:
    """The fit with the lowest criterion, and a note of what was tried."""
    rows = min(len(series.values) for series in first.panel.series)
    skipped = min(1 + MOST_LAGS, rows // 4)
    best, lowest = first, comparable_criterion(key, first, skipped)
    tried = []
    for words, settings, cost in candidates:
        fit = fit_one(settings)
        criterion = comparable_criterion(key, fit, skipped) + cost
        tried.append(f"{words} {criterion - lowest:+.1f}")
        if criterion < lowest:
            best, lowest = fit, criterion
    found = "; ".join(tried)
    return best, f"Tried, with the change of the criterion: {found}." if tried else ""


def _lags(key: PRNGKeyArray, first: Fit, panel: Panel) -> Candidates:
    """Delays that a regression finds, and at least one of all states.

    If it finds none, and residuals of the first fit do not remember, none are tried.
    """
    times = [row_times(series, first.dt) for series in panel.series]
    if not even_steps(times, first.dt):
        return
    rows = max(map(len, times))
    found = _regressed_delays(first, panel, min(MOST_LAGS, rows // 10))
    more = {**_observed(first, 1), **found}
    if first.task.settings["dynamics"] == "flow":  # which delays inputs only
        given = first.task.drivers.given
        found = {name: delay for name, delay in found.items() if name in given}
        more = found
    elif not found and remember(_residuals(key, first)) is None:
        return
    for tried in [found] * bool(found) + [more] * (more != found):
        words = ", ".join(f"{name}: {delay}" for name, delay in tried.items())
        yield f"lags of {words}", {**first.task.settings, "lags": tried}, 0.0


def _observed(first: Fit, delay: int) -> dict[str, int]:
    """A delay for each state that a column observes."""
    matrix = first.layout.matrix
    if matrix is None:
        return {}
    columns = np.flatnonzero((matrix != 0).any(axis=0)).tolist()
    return {first.layout.states[j]: delay for j in columns}


def _regressed_delays(first: Fit, panel: Panel, most: int) -> dict[str, int]:
    """Delays found by a regression on the rows; none if columns are not states."""
    matrix = first.layout.matrix
    if matrix is None or ((matrix != 0).sum(axis=1) != 1).any() or most < 1:
        return {}
    columns = [first.layout.states[j] for j in matrix.argmax(axis=1)]
    drivers = first.task.drivers
    given = first.task.acting
    series = []
    for i, part in enumerate(panel.series):
        steps = np.round(row_times(part, first.dt) / first.dt).astype(int)
        steps -= steps[0]
        values = part.values
        if given is not None:
            values = np.concatenate([values, given.series[i].values], axis=1)
        whole = np.full((steps[-1] + 1, values.shape[1]), np.nan)
        whole[steps] = values
        series.append(dict(zip((*columns, *drivers.names), whole.T, strict=True)))
    series = [part for part in series if len(part[columns[0]]) > most + 1]
    degree = first.task.settings["degree"]
    found = found_delays(
        series,
        columns,
        most,
        products=degree > 1,
        present=drivers.names[len(drivers.given) :],
    )
    while sum(found.get(name, 0) for name in columns) > MOST_DELAYED:
        longest = max(columns, key=lambda name: found.get(name, 0))
        found[longest] -= 1
    return found


def _seasons(key: PRNGKeyArray, first: Fit, panel: Panel) -> Candidates:
    """The strongest period of the data, and that of the residuals."""
    times = [row_times(series, first.dt) for series in panel.series]
    residuals = _residuals(key, first)
    cost = 2 * np.log(sum(map(len, times)))  # a period among about as many
    tried: list[float] = []
    for values in ([series.values for series in panel.series], residuals):
        period = strongest_period(times, values)
        if period is not None and not any(abs(period / p - 1) < 0.02 for p in tried):
            tried.append(period)
            settings = {**first.task.settings, "seasons": period}
            yield f"seasons={period:g}", settings, cost


def _hidden(key: PRNGKeyArray, first: Fit, panel: Panel) -> Candidates:
    """One hidden state, or two, if residuals remember."""
    column = remember(_residuals(key, first))
    if column is None:
        return
    for number in range(1, MOST_HIDDEN + 1):
        settings = with_hidden(first.task.settings, panel, number, column)
        yield f"hidden={number}", settings, 0.0


def _residuals(key: PRNGKeyArray, fit: Fit) -> list[np.ndarray]:
    found = fit_residuals(key, fit)
    return found if isinstance(found, list) else [found]


def _is_auto(name: str, value: Any) -> bool:
    if isinstance(value, str) and value != AUTO:
        raise ValueError(
            f"`{name}` must be a number or 'auto', got {value!r}. Write 'auto' to have "
            "it chosen by the criterion."
        )
    return isinstance(value, str)
