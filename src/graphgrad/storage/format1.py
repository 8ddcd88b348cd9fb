"""Convert files of format 1 to the present format.

In format 1, `form` selected which coefficients were sparse, and files had the
coefficients C of the map x[t+1] = C phi(x) for both forms. `form` "map" becomes the
dynamics "map"; "rate" becomes "difference", x[t+1] - x[t] = A phi(x), with A = C - I,
which has the same trajectories, likelihood and standard errors.
"""

from typing import Any

import numpy as np

from .writing import FORMAT

DYNAMICS = {"map": "map", "rate": "difference"}
"""Present dynamics of each form of format 1."""

SHIFTED = ("solution_coefficients", "solution_base", "solution_path")
"""Arrays of coefficients of the adaptive solver, the only one with form "rate"."""


def from_format_1(
    header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Convert header and arrays of format 1 to the present format.

    Raises:
        ValueError: The form is unknown, or the header is inconsistent.
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
    mapped = np.asarray(header["coefficients"])
    identity = _identity(header, mapped)
    coefficients = mapped.astype(float) - identity
    header["coefficients"] = coefficients.tolist()
    if "intervals" in header:
        ends = np.asarray(header["intervals"]["ends"])
        if ends.shape != (*identity.shape, 2):
            raise ValueError("its intervals are not those of its coefficients")
        ends = (ends - identity[..., None]).tolist()
        header["intervals"] = {**header["intervals"], "ends": ends}
    if "constraints" in header:
        header["constraints"] = [_constraint(each) for each in header["constraints"]]
    header["adjacency"] = _adjacency(header, coefficients)
    return header, {
        name: _shifted(array, identity) if name in SHIFTED else array
        for name, array in arrays.items()
    }


def _dynamics(form: Any) -> str:
    if not (isinstance(form, str) and form in DYNAMICS):
        raise ValueError(f"its form must be 'map' or 'rate', got {form!r:.40}")
    return DYNAMICS[form]


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the estimator, with `dynamics` in place of `form`."""
    kept = {name: value for name, value in settings.items() if name != "form"}
    if "form" not in settings:
        return kept
    kept["dynamics"] = _dynamics(settings["form"])
    if kept["dynamics"] == "difference" and "constraints" in kept:
        kept["constraints"] = _constraint(kept["constraints"])
    return kept


def _identity(header: dict[str, Any], mapped: np.ndarray) -> np.ndarray:
    """C of the identity map."""
    states, terms = header["states"], header["terms"]
    # Compare sizes before an array of that size is allocated.
    if mapped.shape != (len(states), len(terms)) or mapped.dtype.kind not in "iuf":
        raise ValueError("its coefficients are not those of its states and terms")
    identity = np.zeros(mapped.shape)
    for i, state in enumerate(states):
        if state not in terms:
            raise ValueError(f"its terms must have the state {state!r:.40} for a rate")
        identity[i, terms.index(state)] = 1.0
    return identity


def _shifted(array: np.ndarray, identity: np.ndarray) -> np.ndarray:
    """Coefficients minus those of the identity, if the shapes agree."""
    return array - identity if array.shape[-2:] == identity.shape else array


def _constraint(plain: Any) -> Any:
    """Convert a constraint, or several, from coefficients of the map."""
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
    """The adjacency without self-edges that come only from the identity."""
    found = np.array(header["adjacency"])
    degrees = header.get("degrees")
    if degrees is None:
        return header["adjacency"]
    for i, row in enumerate(coefficients):
        # Terms that are not monomials have null powers: their variables are unknown.
        inside = [power is None or power != 0 for power in degrees[i]]
        found[i, i] = int(np.any(inside & (row != 0)))
    return found.tolist()
