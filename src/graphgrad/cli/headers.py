"""`model.json` of a run, as commands show it: read and checked."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import storage
from ..files import check_path
from ..registries import DYNAMICS
from .folder import HEADER


def read_header(folder: Path) -> dict[str, Any]:
    """`model.json` of a run, of which what commands show is checked."""
    check_path("run", folder / HEADER)
    if not (folder / HEADER).is_file():
        reason = f"it has no {HEADER}" if folder.is_dir() else "no such folder"
        raise ValueError(
            f"`run` must be the folder of a run, got {folder}: {reason}. "
            "`graphgrad fit` writes one."
        )
    header = storage.read(folder)[0]
    if fault := _fault(header):
        raise ValueError(
            f"`run` must be the folder of a run, got {folder}: its {HEADER} has "
            f"{fault}. Fit again, or restore the file."
        )
    return header


def _fault(header: Mapping[str, Any]) -> str | None:
    """What is wrong in a header, if anything."""
    if header.get("dynamics") not in (*DYNAMICS,):
        return f"unknown dynamics, {header.get('dynamics')!r:.40}"
    for key, good in _RULES.items():
        if key not in header and key in OLDER:
            continue
        if key not in header:
            return f"no {key!r}"
        if not good(header.get(key), header):
            return f"{key!r} that is not one of a run, {header.get(key)!r:.40}"
    return None


def _names(value: Any, _: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _some_names(value: Any, header: Mapping[str, Any]) -> bool:
    return _names(value, header) and len(value) > 0


def _shaped(*keys: str) -> Callable[[Any, Mapping[str, Any]], bool]:
    """Whether a value is a matrix with a row or column for each of some names."""

    def good(value: Any, header: Mapping[str, Any]) -> bool:
        array = _numbers(value)
        return array is not None and array.shape == tuple(len(header[k]) for k in keys)

    return good


def _adjacency(value: Any, header: Mapping[str, Any]) -> bool:
    array, n = _numbers(value), len(header["states"])
    return array is not None and array.ndim == 2 and len(array) == n <= array.shape[1]


def _noise(value: Any, _: Any) -> bool:
    array = _numbers(value)
    return value is None or (array is not None and array.ndim in (1, 2))


def _number(value: Any, _: Any) -> bool:
    return value is None or (_numbers(value) is not None and np.ndim(value) == 0)


def _outcome(value: Any, _: Any) -> bool:
    from ..solution import Outcome

    return isinstance(value, str) and value in Outcome.__members__


def _doubts(_: Any, header: Mapping[str, Any]) -> bool:
    from ..storage.decoding import read_doubts

    try:
        read_doubts(header)
    except (LookupError, TypeError, ValueError):
        return False
    return True


def _data(value: Any, _: Any) -> bool:
    if not isinstance(value, dict):
        return False
    clocks = value.get("clocks", [])
    return isinstance(clocks, list) and all(
        clock is None
        or (isinstance(clock, dict) and isinstance(clock.get("unit"), str | None))
        for clock in clocks
    )


def _numbers(value: Any) -> np.ndarray | None:
    """Lists of numbers as an array; None for anything else."""
    try:
        plain = np.array(value)
        return plain.astype(float) if plain.dtype.kind in "biuf" else None
    except (OverflowError, TypeError, ValueError):
        return None


_RULES: dict[str, Callable[[Any, Mapping[str, Any]], bool]] = {
    "states": _some_names,
    "terms": _some_names,
    "coefficients": _shaped("states", "terms"),
    "adjacency": _adjacency,
    "state_noise": _noise,
    "observation_noise": _noise,
    "log_likelihood": _number,
    "outcome": _outcome,
    "doubts": _doubts,
    "data": _data,
    "alternatives": _names,
    "inputs": _names,
    "settings": lambda value, _: isinstance(value, dict),
}
"""Rules of the fields that commands show, in the order in which they are checked."""

OLDER = ("doubts", "data", "alternatives", "inputs", "settings")
"""Fields that files of earlier versions may not have."""
