"""The phase portrait of a flow: two states, with the vector field dx/dt."""

from typing import Any

import numpy as np

from .findings import Findings
from .thinning import sample, thin


def portrait(findings: Findings) -> dict[str, Any]:
    """The first two states in their plane, with the vector field, if there is one."""
    if findings.field is None or findings.field_x is None or findings.field_y is None:
        return {}
    first, second = findings.states[:2]
    made: dict[str, Any] = {
        "names": [first, second],
        "x": findings.field_x,
        "y": findings.field_y,
        "u": findings.field[..., 0],
        "v": findings.field[..., 1],
    }
    words = (
        f"Phase portrait of {second} against {first}: directions of dx/dt at "
        f"{findings.field[..., 0].size} points"
    )
    if findings.means is not None:
        made["trajectory"] = _trajectory(findings, findings.means[:, :2])
        words += f", with smoothed states of {len(findings.means)} rows"
    if findings.data is not None and {first, second} <= set(findings.columns):
        seen = findings.data[:, [findings.columns.index(n) for n in (first, second)]]
        rows, _ = sample(seen.sum(axis=1), always=np.zeros(len(seen), bool))
        made["data"] = seen[rows].T
    if len(findings.states) > 2:
        words += "; the other states are held at their means for the directions"
    return {**made, "alt": f"{words}."}


def _trajectory(findings: Findings, states: np.ndarray) -> list[np.ndarray]:
    """Smoothed states to draw as a line, with a gap between series."""
    rows = thin(states[:, 0], states[:, 1])
    gaps = np.searchsorted(rows, findings.breaks)
    return [np.insert(states[rows, i], gaps, np.nan) for i in range(2)]
