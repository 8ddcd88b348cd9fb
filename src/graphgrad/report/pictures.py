"""Contents of the time-series plots, and their text descriptions."""

from typing import Any

import numpy as np

from .findings import Findings
from .text import number, percent
from .thinning import MOST_ROWS, runs, sample, thin

MOST_GAPS = 200
LAGS = 20
FAR = 3
"""Residuals beyond this are always drawn, unless there are very many."""


def panels(findings: Findings) -> list[dict[str, Any]]:
    """One panel for each state, then one for each column that is not a state."""
    drawn = findings.means is not None or findings.data is not None
    if findings.times is None or not len(findings.times) or not drawn:
        return []
    made = [
        _panel(findings, name, a, _column(findings, name))
        for a, name in enumerate(findings.states)
    ]
    if findings.data is not None:
        made += [
            _panel(findings, name, None, k)
            for k, name in enumerate(findings.columns)
            if name not in findings.states
        ]
    if findings.input_data is not None:
        made += [
            _input(findings, name, findings.input_data[:, k])
            for k, name in enumerate(findings.inputs)
        ]
    return made


def free_runs(findings: Findings) -> list[dict[str, Any]]:
    """The equations on their own, with the data of each state."""
    if findings.free_run is None or findings.free_times is None:
        return []
    made = []
    for a, name in enumerate(findings.states):
        values = findings.free_run[:, a]
        rows = thin(values)
        panel = {"name": name, "state": a, "t": findings.free_times[rows]}
        panel["mean"] = values[rows]
        words = f"{name} by the equations on their own over {len(values)} steps"
        words += f", {_range(values)}"
        if np.isnan(values).any():
            words += f"; diverged after {int(np.argmax(np.isnan(values)))} steps"
        k = _column(findings, name)
        if k is not None and findings.data is not None and findings.times is not None:
            column = findings.data[:, k]
            kept, _ = sample(column, always=np.zeros(len(column), bool))
            panel |= {"dataT": findings.times[kept], "data": column[kept]}
            words += f". Data {_range(column)}"
        made.append({**panel, "alt": f"{words}."})
    return made


def _input(findings: Findings, name: str, values: np.ndarray) -> dict[str, Any]:
    """The panel of an input, which is a line."""
    when, rows = clock(findings), thin(values)
    words = f"The input {name} over {len(when)} rows, {_range(values)}."
    return {
        **{"name": name, "state": None, "all": len(when), "span": when[[0, -1]]},
        **{"input": True, "t": when[rows], "mean": values[rows]},
        **{"drawn": len(rows), "thinned": len(rows) < len(values), "alt": words},
    }


def fans(findings: Findings) -> list[dict[str, Any]]:
    """The forecast of each state, with the same length of history."""
    if findings.forecast is None or findings.forecast_times is None:
        return []
    times, levels = findings.forecast_times, findings.forecast_levels
    made = []
    for a, name in enumerate(findings.states):
        lines = findings.forecast[:, :, a]
        rows = thin(*lines, most=len(levels) * MOST_ROWS)
        fan = {"name": name, "state": a, "t": times[rows], "lines": lines[:, rows]}
        reading = f"Forecast of {name}: no finite values."
        if len(rows):
            first, last = lines[:, rows[0]], lines[:, rows[-1]]
            reading = (
                f"Forecast of {name} over {len(times)} steps. At the first, from "
                f"{number(first[0])} to {number(first[-1])}; at the last, from "
                f"{number(last[0])} to {number(last[-1])} (quantiles "
                f"{percent(levels[0])} and {percent(levels[-1])})."
            )
        if findings.means is not None and findings.times is not None:
            start = max(0, len(findings.means) - 2 * len(times), *findings.breaks)
            past = findings.means[start:, a]
            kept = thin(past)
            fan["pastT"] = findings.times[start:][kept]
            fan["past"] = past[kept]
        made.append({**fan, "alt": reading})
    return made


def checks(findings: Findings) -> list[dict[str, Any]]:
    """For each column the residuals over time, distribution and autocorrelation."""
    if findings.residuals is None or findings.times is None:
        return []
    when = clock(findings)
    made = []
    for name, values in zip(findings.columns, findings.residuals.T, strict=True):
        rows, each = sample(values, always=np.abs(values) > FAR)
        known = values[np.isfinite(values)]
        reach = max(4.0, float(np.ceil(np.abs(known).max(initial=0))))
        # Outliers are counted in the last bar, so that the bars stay wide.
        reach = min(reach, 8.0)
        counts, ends = np.histogram(
            np.clip(known, -reach, reach), np.arange(-reach, reach + 0.5, 0.5)
        )
        autocorrelations = _autocorrelation(values)
        outside = float(np.mean(np.abs(known) > 1.96)) if len(known) else np.nan
        bound = 1.96 / np.sqrt(max(1, len(known)))
        beyond = int(np.sum(np.abs(autocorrelations) > bound))
        made.append(
            {
                "name": name,
                "t": when[rows],
                "r": values[rows],
                "note": "" if each == 1 else f"one in {each}, and all beyond {FAR}",
                "ends": ends,
                "density": counts / max(1, len(known)) / 0.5,
                "autocorrelations": autocorrelations,
                "bound": bound,
                "alt": f"Residuals of {name}: {percent(outside)} lie beyond 1.96 "
                "standard deviations, where 5 % should. "
                f"{beyond} of {len(autocorrelations)} autocorrelations lie beyond the "
                "95 % band."
                if len(known)
                else f"Residuals of {name}: none are available.",
            }
        )
    return made


def clock(findings: Findings) -> np.ndarray:
    """Times of the rows; row numbers if there are several series."""
    assert findings.times is not None
    if findings.breaks:
        return np.arange(len(findings.times), dtype=float)
    return findings.times


def _column(findings: Findings, name: str) -> int | None:
    if findings.data is None or name not in findings.columns:
        return None
    return findings.columns.index(name)


def _panel(
    findings: Findings, name: str, a: int | None, k: int | None
) -> dict[str, Any]:
    when = clock(findings)
    panel: dict[str, Any] = {"name": name, "state": a, "all": len(when)}
    panel["span"] = when[[0, -1]]
    words = f"{name} over {len(when)} rows"
    if a is not None and findings.means is not None:
        mean, low, high = findings.means[:, a], *_band(findings, a)
        rows = thin(mean, high - low)
        panel |= {"t": when[rows], "mean": mean[rows]}
        if findings.bands is not None:
            panel |= {"low": low[rows], "high": high[rows]}
        panel["drawn"] = len(rows)
        panel["thinned"] = len(rows) < np.isfinite(mean).sum()
        words += f". Smoothed {_range(mean)}"
    if k is not None and findings.data is not None:
        column = findings.data[:, k]
        extremes = thin(column, most=MOST_ROWS // 2)
        is_extreme = np.isin(np.arange(len(column)), extremes)
        rows, each = sample(column, always=is_extreme)
        gaps = runs(np.isnan(column))
        longest = sorted(gaps, key=lambda gap: gap[0] - gap[1])[:MOST_GAPS]
        panel |= {"dataT": when[rows], "data": column[rows]}
        panel["gaps"] = [[when[i], when[j]] for i, j in sorted(longest)]
        panel["gapsLeft"] = len(gaps) - len(longest)
        panel["missing"] = int(np.isnan(column).sum())
        panel["drawn"] = max(panel.get("drawn", 0), len(rows))
        panel["thinned"] = panel.get("thinned", False) or each > 1
        words += f". Data {_range(column)}; {panel['missing']} missing"
    else:
        words += ". Not observed directly"
    return {**panel, "alt": f"{words}."}


def _band(findings: Findings, a: int) -> tuple[np.ndarray, np.ndarray]:
    if findings.bands is None or findings.means is None:
        zeros = np.zeros(len(clock(findings)))
        return zeros, zeros
    return findings.bands[:, a, 0], findings.bands[:, a, 1]


def _range(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    if not len(known):
        return "not finite anywhere"
    return f"from {number(known.min())} to {number(known.max())}"


def _autocorrelation(values: np.ndarray) -> np.ndarray:
    """At lags 1, 2, ...; over pairs of rows without gaps."""
    centred = values - (np.nanmean(values) if np.isfinite(values).any() else 0)
    whole = np.nanmean(centred**2) if np.isfinite(centred).any() else 0.0
    found = []
    for lag in range(1, min(LAGS, len(values) - 1) + 1):
        product = centred[lag:] * centred[:-lag]
        pairs = np.isfinite(product)
        found.append(product[pairs].mean() / whole if pairs.any() and whole else 0.0)
    return np.array(found)
