"""Encode a fit as a header and arrays, as described in `docs/reference/format.md`."""

import dataclasses
from importlib.metadata import version
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..diagnostics.alternatives import noticeable
from ..equations.terms import Monomial, terms
from ..fits.record import Fit
from ..fits.rows import normal_band
from ..graph import adjacency
from ..library import origin_of
from ..model import AbstractScaleNoise, GaussianNoise
from ..solution import Doubt, PaperSolution, Solution
from .settings import encode_setting
from .writing import data_hash

LEVEL = 0.9
"""Probability of the intervals in a header."""

GROUPED = ("log_likelihoods", "path", "skipped")
"""Fields of the paper's solution that are tuples of arrays."""


def fit_header(fit: Fit) -> dict[str, Any]:
    """Header of a fit, readable by people and other programs."""
    layout, panel, solution = fit.layout, fit.panel, fit.solution
    transition, observation = fit.model.transition, fit.model.observation
    shown, n = fit.shown, fit.n_present
    intervals = normal_band(shown.coefficients, shown.standard_errors, LEVEL)
    noise = transition.noise
    if fit.noise_free or layout.copies[0]:
        noise = None
    return {
        "dt": fit.dt,
        "dynamics": fit.dynamics,
        "substeps": fit.substeps if fit.dynamics == "flow" else None,
        "states": list(layout.present),
        "terms": list(layout.terms),
        "degrees": _degrees(fit),
        "origin": np.asarray(origin_of(layout.library)).tolist(),
        "coefficients": shown.coefficients.tolist(),
        "adjacency": adjacency(shown.coefficients, layout.incidence[:n])
        .astype(int)
        .tolist(),
        "state_noise": fit.variances[0][:n].tolist()
        if noise is None
        else _noise(noise),
        "observation_noise": _noise(observation.noise),
        "log_likelihood": _finite(float(solution.log_likelihood)),
        "penalty": _penalty(fit),
        "outcome": fit.outcome.name,
        "doubts": [_doubt(doubt) for doubt in fit.doubts],
        "alternatives": [other.sentence for other in noticeable(fit)],
        "intervals": {"level": LEVEL, "ends": intervals.tolist()},
        "inputs": list(fit.task.drivers.given),
        "variables": list(layout.variables),
        "delays": [list(delay) for delay in layout.delays],
        "notes": list(fit.notes),
        "observation": None if layout.matrix is None else layout.matrix[:, :n].tolist(),
        "noise_kinds": {
            "state": type(transition.noise).__name__,
            "observation": type(observation.noise).__name__,
        },
        "constraints": [
            encode_setting(each) for each in fit.task.settings["constraints"]
        ],
        "data": {
            "columns": None if panel.names is None else list(panel.names),
            "several": panel.several,
            "rows": [len(series.values) for series in panel.series],
            "timed": [series.times is not None for series in panel.series],
            "clocks": [
                None if series.clock is None else series.clock._asdict()
                for series in panel.series
            ],
            "inputs": None
            if fit.task.inputs is None or fit.task.inputs.names is None
            else list(fit.task.inputs.names),
            "hashes": [data_hash(series.values) for series in panel.series],
        },
        "solution": _solution_header(solution),
        "versions": {name: version(name) for name in ("graphgrad", "jax", "numpy")},
    }


def fit_arrays(fit: Fit) -> dict[str, np.ndarray]:
    """Arrays of a fit, by name."""
    found: dict[str, Any] = {}
    for i, series in enumerate(fit.panel.series):
        found[f"values_{i}"] = series.values
        if series.times is not None:
            found[f"times_{i}"] = series.times
        if fit.task.inputs is not None:
            found[f"inputs_{i}"] = fit.task.inputs.series[i].values
    start = fit.task.prepared.data.model
    for i, leaf in enumerate(jax.tree.leaves(eqx.filter(start, eqx.is_array))):
        found[f"model_{i}"] = leaf
    solution = fit.solution
    for name in array_fields(type(solution)):
        found[f"solution_{name}"] = getattr(solution, name)
    if isinstance(solution, PaperSolution):
        for name in GROUPED:
            for i, part in enumerate(getattr(solution, name)):
                found[f"solution_{name}_{i}"] = part
        means, covariances, standard_errors = fit.inferred
        found["inferred_path"] = means
        found["inferred_spread"] = covariances
        found["inferred_standard_errors"] = standard_errors
    return {name: np.asarray(value) for name, value in found.items()}


def array_fields(kind: type) -> list[str]:
    """Names of the fields of a solution class that are single arrays."""
    grouped = GROUPED if kind is PaperSolution else ()
    return [
        field.name
        for field in dataclasses.fields(kind)
        if not field.metadata.get("static") and field.name not in grouped
    ]


def plain_fields(kind: type) -> list[str]:
    """Names of the fields of a solution class that are text or numbers."""
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.metadata.get("static") and field.name != "lengths"
    ]


def _degrees(fit: Fit) -> list[list[float | None]] | None:
    """Powers in each term; None for terms that are not monomials."""
    listed = terms(fit.layout.library, fit.layout.variables)
    simple = np.array([isinstance(term, Monomial) for term in listed])
    if not simple.any():
        return None
    return [
        [value if there else None for value, there in zip(row, simple, strict=True)]
        for row in np.asarray(fit.layout.library.incidence).tolist()
    ]


def _noise(noise: Any) -> list[Any] | None:
    """Variances, or a full covariance; None without a scale."""
    if isinstance(noise, GaussianNoise) and not noise.diagonal:
        return np.asarray(noise.covariance).tolist()
    if isinstance(noise, AbstractScaleNoise):
        return np.asarray(noise.variances).tolist()
    return None


def _penalty(fit: Fit) -> float | str:
    if isinstance(fit.solution, Solution):
        return float(fit.solution.penalty_multiplier)
    penalty = fit.task.settings["penalty"]
    factor = getattr(penalty, "weight", 1.0 if penalty is None else penalty)
    return factor if isinstance(factor, str) else float(factor)


def _doubt(doubt: Doubt) -> dict[str, Any]:
    return {**doubt._asdict(), "number": _finite(doubt.number)}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _solution_header(solution: Solution | PaperSolution) -> dict[str, Any]:
    if isinstance(solution, PaperSolution):
        groups = len(solution.path)
        return {"kind": "paper", "lengths": list(solution.lengths), "groups": groups}
    plain = {name: getattr(solution, name) for name in plain_fields(type(solution))}
    return {"kind": "adaptive", **plain}
