"""Checks of the settings of a fit that come before anything else uses them."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..checks import check_at_least
from ..data.copies import find_copies
from ..data.frames import input_names
from ..data.series import Panel
from ..model.constraints import check_constraint_list
from ..resources import count_monomials

TEXTS = ("solver", "selection", "dynamics", "inputs_between", "time_unit")
"""Settings that are one of several names."""


def check_texts(settings: Mapping[str, Any]) -> None:
    """Raise for settings that are no text and should be, before data are read."""
    for name in TEXTS:
        if not isinstance(settings[name], str):
            raise ValueError(
                f"`{name}` must be text, got {settings[name]!r:.60}. Leave it out for "
                "the default."
            )


def check_settings(settings: Mapping[str, Any], panel: Panel) -> None:
    """Raise for settings of another kind, or with more hidden states than fit.

    Args:
        settings: Parameters of the estimator by name.
        panel: The data.
    """
    origin, states = settings["origin"], settings["states"]
    if not isinstance(origin, Mapping | str | None):
        raise ValueError(
            f"`origin` must be 'auto', None or numbers by name, got {origin!r:.60}. "
            "For instance {'temperature': 273.15}."
        )
    if states is not None and not isinstance(states, Iterable):
        raise ValueError(
            f"`states` must be a list of names, got {states!r:.60}. For instance "
            "['prey', 'predator']."
        )
    check_constraint_list(settings["constraints"])
    hidden, degree = settings["hidden"], settings["degree"]
    if settings["library"] is None and isinstance(hidden, int) and hidden > 0:
        degree = check_at_least("degree", degree, 1, "Most systems are of degree 2.")
        count_monomials(hidden + panel.n_columns, degree)  # before they are named


def check_copies(observation: Any, panel: Panel, inputs: Panel | None) -> None:
    """Raise for columns and inputs that are copies of others.

    Args:
        observation: The setting: columns of the same state may be copies.
        panel: The data.
        inputs: Inputs, if any.
    """
    names = [f"column {name!r}" for name in panel.names or range(panel.n_columns)]
    values = np.concatenate([series.values for series in panel.series])
    if inputs is not None:
        names += [f"input {name!r}" for name in input_names(inputs)]
        driving = np.concatenate([series.values for series in inputs.series])
        values = np.concatenate([values, driving], axis=1)
    for copy in find_copies(values):
        if not _same_state(observation, copy.first, copy.second, panel.n_columns):
            raise ValueError(
                "`y` must have columns, and `inputs`, of which none is a copy of "
                f"another, got {copy.words(names)}. Leave one of them out; an "
                "`observation` says which columns are of the same state."
            )


def _same_state(observation: Any, first: int, second: int, n_columns: int) -> bool:
    """Whether two columns are declared as observations of the same states."""
    if observation is None or second >= n_columns:
        return False
    if callable(observation):
        return True
    try:
        rows = np.stack([np.atleast_1d(observation[i]) for i in (first, second)])
        if rows.dtype.kind in "UO":
            return bool((rows[0] == rows[1]).all())
        return int(np.linalg.matrix_rank(rows.astype(float))) < 2
    except (TypeError, ValueError, IndexError, KeyError, np.linalg.LinAlgError):
        return True  # an error of the layout
