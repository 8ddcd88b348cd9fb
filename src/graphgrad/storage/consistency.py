"""Whether a header fits the arrays and settings that came with it."""

from collections.abc import Mapping
from math import comb
from typing import Any

import numpy as np

from ..fits.record import Fit


def check_library(
    header: Mapping[str, Any], coefficients: np.ndarray, settings: Mapping[str, Any]
) -> None:
    """Refuse a library that is larger than the coefficients are."""
    states, inputs = (checked_names(header[key]) for key in ("states", "inputs"))
    n, M = len(states or ()) + len(inputs or ()), coefficients.shape[1]
    if len(coefficients) != len(states or ()):
        raise ValueError("its coefficients are not those of its states")
    if settings.get("library") is not None:
        _check_size(settings["library"], n, M)
    elif "library" in settings:
        plain = {"n_states": n, "degree": settings.get("degree"), "root": 1}
        _check_size({"kind": "Polynomial", **plain}, n, M)


def check_header(header: Mapping[str, Any], fit: Fit) -> None:
    """Refuse a header that says something else than the arrays."""
    expected = (
        ("states", list(fit.layout.states)),
        ("terms", list(fit.layout.terms)),
        ("dynamics", fit.dynamics),
        ("coefficients", fit.coefficients.tolist()),
    )
    for key, value in expected:
        if header[key] != value:
            raise ValueError(
                f"its {key} in model.json are not those of its settings and arrays"
            )


def checked_names(value: Any) -> tuple[str, ...] | None:
    """A list of names from a header, or None."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(n, str) for n in value):
        raise ValueError(f"names must be a list of text, got {value!r:.60}")
    return tuple(value)


def _check_size(plain: Any, n: int, M: int) -> None:
    """Of a library before it is made: a few digits can ask for any amount of memory."""
    if not isinstance(plain, dict):
        raise ValueError(f"its library must be one, got {plain!r:.60}")
    if plain.get("kind") == "SumLibrary":
        parts = plain.get("parts")
        items = parts.get("items") if isinstance(parts, dict) else None
        for part in items if isinstance(items, list) else ():
            _check_size(part, n, M)
        return
    good: Any = plain.get("n_states") == n
    if plain.get("kind") == "Polynomial" and good:
        degree: Any = plain.get("degree")
        root: Any = plain.get("root")
        good = isinstance(degree, int) and isinstance(root, int)
        if good:
            powers = degree * root
            # No more powers than terms, so that terms can be counted.
            good = 0 < degree <= powers < M and comb(n + powers, n) <= M
    if not good:
        raise ValueError(f"its library must have {n} variables and {M} terms")
