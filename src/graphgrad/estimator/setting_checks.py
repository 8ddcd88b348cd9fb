"""Checks of the settings of a fit that come before anything else uses them."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..checks import check_at_least
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
