"""Save and load fits."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..checks import check_choice
from ..fits.record import Fit
from ..model import refuse_form
from .decoding import Stored
from .encoding import fit_arrays, fit_header
from .reading import read
from .settings import decode_setting, encode_setting
from .writing import write

FAULTS = (AssertionError, AttributeError, TypeError, ValueError)
"""Errors that an inconsistent file may raise, with those of arithmetic and lookup."""

CONFIDENCES = ("term_confidence_", "edge_confidence_")
"""Attributes of the estimator that are stored with a fit."""

OLDER = {"time_unit": "second"}
"""Settings of files that are older than them, if they were not the defaults."""


class Loaded(NamedTuple):
    """A fit from a file.

    Attributes:
        fit: The fit.
        confidences: Confidence in terms and edges, if stored.
    """

    fit: Fit
    confidences: dict[str, np.ndarray]


def save_fit(
    path: str | Path,
    fit: Fit,
    settings: Mapping[str, Any],
    confidences: Mapping[str, Any],
    *,
    leave_out: Iterable[str] = (),
) -> None:
    """Write a fit with its data and settings, without pickle.

    Args:
        path: A file if it ends in `.zip`, else a folder.
        fit: The fit.
        settings: Parameters of the estimator by name.
        confidences: Attributes by name, from `CONFIDENCES`.
        leave_out: Names of settings that cannot be saved.
    """
    left_out = [check_choice("leave_out", name, settings) for name in leave_out]
    header = fit_header(fit)
    arrays = fit_arrays(fit)
    arrays |= {name: np.asarray(value) for name, value in confidences.items()}
    header["seed"] = _encoded("random_state", settings, left_out)
    header["left_out"] = left_out
    header["settings"] = {
        name: _encoded(name, settings, left_out)
        for name in settings
        if name not in ("callback", *left_out)
    }
    write(path, header, arrays)


def load_fit(
    path: str | Path, left_out: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Loaded:
    """Load a fit that `save_fit` wrote, bitwise identical.

    Args:
        path: A file or a folder.
        left_out: Settings that were left out of the file.
        defaults: Defaults of all settings, for those that are newer than the file.
    """
    header, arrays = read(path)
    stored = Stored(header, arrays)
    try:
        _check_given(path, header["left_out"], left_out)
        stored.check_library(header["settings"])
        with jax.enable_x64(True):
            given = _decoded(header["settings"], defaults)
            fit = stored.fit({**defaults, **OLDER, **given, **left_out})
        return Loaded(fit, stored.confidences())
    except (ArithmeticError, LookupError, *FAULTS) as error:
        if str(error).startswith("`left_out`"):
            raise
        reason = str(error) if isinstance(error, ValueError) else repr(error)
        raise ValueError(
            f"`path` must be a saved fit, got {path}: {reason}."
        ) from error


def _encoded(name: str, settings: Mapping[str, Any], left_out: list[str]) -> Any:
    value = settings[name]
    if name in left_out:
        return None
    if name == "states" and value is not None:
        return [str(state) for state in value]
    try:
        return encode_setting(value)
    except TypeError as error:
        raise ValueError(
            f"`{name}` must be something that a file can store, got {error}. Save with "
            f"`leave_out=[{name!r}]` and pass it again: `load(path, {name}=...)`."
        ) from None


def _decoded(
    settings: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    refuse_form(settings.get("form"))
    for name in settings:
        if name not in defaults:
            raise ValueError(f"it has an unknown setting, {name!r:.40}")
    return {name: decode_setting(encoded) for name, encoded in settings.items()}


def _check_given(path: Any, missing: Any, given: Mapping[str, Any]) -> None:
    """Check that exactly the settings that were left out are given."""
    for name in missing:
        if name not in given:
            raise ValueError(
                f"`left_out` must have the parameter {name!r}, which {path} was saved "
                f"without. Pass it as in the fit: `load(path, {name}=...)`."
            )
    for name in given:
        if name not in missing:
            raise ValueError(
                f"`left_out` must be what {path} was saved without, {list(missing)}, "
                f"got {name!r}. Leave it out; `set_params` changes settings."
            )
