"""Files of format 1, read as if they were of the present format.

In format 1 a fit said by `form` what was to be sparse, and had the coefficients C of
the map x[t+1] = C phi(x) either way. `form` "map" is the dynamics "map" of today, and
"rate" is "difference", x[t+1] - x[t] = A phi(x), with A = C - I: the same motion, the
same likelihood, the same standard errors.
"""

from typing import Any

import numpy as np

from .writing import FORMAT

DYNAMICS = {"map": "map", "rate": "difference"}
"""What each form of format 1 is today."""

SHIFTED = ("solution_coefficients", "solution_base", "solution_path")
"""Arrays of coefficients of a fit by the adaptive solver, the only one with rates."""


def from_format_1(
    header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of format 1 as the present format has them.

    Raises:
        ValueError: The form is none of format 1, or the header does not fit it; the
            message says how.
    """
    header = {**header, "format": FORMAT}
    if "form" not in header:
        return header, arrays
    form = header.pop("form")
    header["dynamics"] = _dynamics(form)
    header["substeps"] = None
    if "solution_prices" in arrays:  # of the adaptive solver
        arrays = {**arrays, "solution_substeps": np.array(1)}
        arrays["solution_noise_free"] = np.array(False)
    if "settings" in header:
        header["settings"] = _settings(header["settings"])
    if isinstance(header.get("left_out"), list):
        header["left_out"] = [
            "dynamics" if name == "form" else name for name in header["left_out"]
        ]
    if header["dynamics"] == "map":
        return header, arrays
    moved = np.asarray(header["coefficients"])
    still = _identity(header, moved)
    coefficients = moved.astype(float) - still
    header["coefficients"] = coefficients.tolist()
    if "intervals" in header:
        ends = np.asarray(header["intervals"]["ends"])
        if ends.shape != (*still.shape, 2):
            raise ValueError("its intervals are not those of its coefficients")
        ends = (ends - still[..., None]).tolist()
        header["intervals"] = {**header["intervals"], "ends": ends}
    if "constraints" in header:
        header["constraints"] = [_constraint(each) for each in header["constraints"]]
    header["adjacency"] = _adjacency(header, coefficients)
    return header, {
        name: _shifted(array, still) if name in SHIFTED else array
        for name, array in arrays.items()
    }


def _dynamics(form: Any) -> str:
    if not (isinstance(form, str) and form in DYNAMICS):
        raise ValueError(f"its form must be 'map' or 'rate', got {form!r:.40}")
    return DYNAMICS[form]


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the estimator, with those of today in place of those of then."""
    kept = {name: value for name, value in settings.items() if name != "form"}
    if "form" not in settings:
        return kept
    kept["dynamics"] = _dynamics(settings["form"])
    if kept["dynamics"] == "difference" and "constraints" in kept:
        kept["constraints"] = _constraint(kept["constraints"])
    return kept


def _identity(header: dict[str, Any], moved: np.ndarray) -> np.ndarray:
    """C of the map that leaves every state as it is."""
    states, terms = header["states"], header["terms"]
    # Sizes are compared before an array of that size is made.
    if moved.shape != (len(states), len(terms)) or moved.dtype.kind not in "iuf":
        raise ValueError("its coefficients are not those of its states and terms")
    still = np.zeros(moved.shape)
    for i, state in enumerate(states):
        if state not in terms:
            raise ValueError(f"its terms must have the state {state!r:.40} for a rate")
        still[i, terms.index(state)] = 1.0
    return still


def _shifted(array: np.ndarray, still: np.ndarray) -> np.ndarray:
    """Coefficients less those that stay, where they are of the same shape."""
    return array - still if array.shape[-2:] == still.shape else array


def _constraint(plain: Any) -> Any:
    """A constraint, or several, whose coefficients were those of the map."""
    if isinstance(plain, list):
        return [_constraint(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    if plain.get("kind") == "tuple":
        return {**plain, "items": _constraint(plain.get("items"))}
    own = plain.get("kind") in ("Known", "Bounds")
    if not own or plain.get("target") != plain.get("term"):
        return plain
    return {
        name: value - 1.0
        if name in ("value", "low", "high") and isinstance(value, int | float)
        else value
        for name, value in plain.items()
    }


def _adjacency(header: dict[str, Any], coefficients: np.ndarray) -> list[list[int]]:
    """As it was, but that a state which merely stays does not act on itself."""
    found = np.array(header["adjacency"])
    degrees = header.get("degrees")
    if degrees is None:
        return header["adjacency"]
    for i, row in enumerate(coefficients):
        # A term that is no monomial has null for powers: what it is of is not known.
        inside = [power is None or power != 0 for power in degrees[i]]
        found[i, i] = int(np.any(inside & (row != 0)))
    return found.tolist()
