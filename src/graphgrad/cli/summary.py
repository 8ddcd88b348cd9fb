"""Summary of a run: equations, graph, scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..registries import MOTIONS
from .options import with_flags

KEYS = (
    *("dt", "dynamics", "substeps"),
    *("states", "terms", "degrees", "coefficients", "adjacency"),
    *("state_noise", "observation_noise", "log_likelihood", "penalty", "outcome"),
    *("doubts", "alternatives", "notes"),
)
"""Keys of `model.json` that are shown."""


def run_header(estimator: Any) -> dict[str, Any]:
    """Header of a fit, as in `model.json`, with the settings that are shown."""
    import jax

    from ..storage.encoding import fit_header

    with jax.enable_x64(True):
        header = fit_header(estimator._fit)
    return {**header, "settings": {"state_noise": estimator.state_noise}}


def header_equations(header: Mapping[str, Any]) -> list[str]:
    """Equations from a header, one line per state.

    Examples:
        >>> header_equations({"states": ["x"], "terms": ["1", "x"], "dynamics": "flow",
        ...                   "coefficients": [[-2.0, 0.91234]]})
        ['dx/dt = -2 + 0.912 x']
    """
    from ..equations.prepare import Prepared
    from ..equations.text import equation_lines

    states, terms = tuple(header["states"]), tuple(header["terms"])
    matrix, dynamics = _matrix(header), header["dynamics"]
    return equation_lines(Prepared(matrix, states, terms, [], dynamics))


def summary(header: Mapping[str, Any]) -> Iterator[str]:
    """Lines of the summary of a run."""
    from ..solution import Outcome
    from ..storage.decoding import checked_names

    outcome = Outcome[header["outcome"]]
    ended = f"Outcome: {outcome.name}. {with_flags(header_advice(header))}"
    if not outcome.good:
        yield from (ended, "")
    yield f"Equations of a {MOTIONS[header['dynamics']]}"
    yield from (f"  {line}" for line in header_equations(header))
    yield from checked_names(header.get("alternatives")) or ()
    yield from checked_names(header.get("notes")) or ()
    yield ""
    yield from graph_lines(np.array(header["adjacency"]), header["states"])
    yield ""
    n_terms = np.count_nonzero(_matrix(header))
    yield f"Scores: log-likelihood {_shown(header['log_likelihood'])}, {n_terms} terms"
    unit = _time_unit(header) if header["dynamics"] == "flow" else "step"
    for name, called in (
        ("state_noise", f"process noise per {unit}"),
        ("observation_noise", "measurement noise"),
    ):
        variances = np.array(header[name], float)
        if variances.ndim == 2:
            variances = np.diag(variances)
        shown = ", ".join(f"{variance:.3g}" for variance in np.atleast_1d(variances))
        if name == "state_noise" and not variances.any() and _learnt(header):
            shown = "0; none is needed"
        yield f"Variance of the {called}: {shown}"
    if outcome.good:
        yield ended


def header_advice(header: Mapping[str, Any]) -> str:
    """What the outcome of a run means and what to do about it."""
    from ..solution import Outcome, full_advice
    from ..storage.decoding import read_doubts

    return full_advice(Outcome[header["outcome"]], read_doubts(header))


def graph_lines(adjacency: np.ndarray, states: Sequence[str]) -> Iterator[str]:
    """Adjacency matrix as a table."""
    from ..graph import adjacency_table

    yield "Graph: 1 if the state of the column acts on that of the row"
    table = adjacency_table(adjacency, states)
    yield from (f"  {line}" for line in table.splitlines())


def as_json(header: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The shown keys of a header, with the equations as text."""
    kept = {name: header[name] for name in KEYS if name in header}
    return {**kept, "equations": header_equations(header), **more}


def _time_unit(header: Mapping[str, Any]) -> str:
    """Unit of time, if the data had dates or it was given."""
    clocks = header.get("data", {}).get("clocks") or [None]
    return (clocks[0] or {}).get("unit") or "unit of time"


def _learnt(header: Mapping[str, Any]) -> bool:
    requested = header.get("settings", {}).get("state_noise")
    return isinstance(requested, str) and requested == "learn"


def _shown(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.1f}"


def _matrix(header: Mapping[str, Any]) -> Float[np.ndarray, "Nx M"]:
    return np.array(header["coefficients"], float)
