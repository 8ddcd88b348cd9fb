"""Sparsity penalties on the coefficients, each with its `value` and `prox`.

To add one, write a module here and add an entry to `PENALTIES` in `registries`.
"""

from collections.abc import MutableMapping
from typing import Any

import equinox as eqx
import numpy as np

from .. import registries
from ..checks import check_choice
from .base import AbstractPenalty as AbstractPenalty
from .base import AbstractSubgradientPenalty as AbstractSubgradientPenalty
from .base import as_weight
from .group import GroupByEdge as GroupByEdge
from .l0 import L0 as L0
from .l1 import L1 as L1
from .nuclear import Nuclear as Nuclear
from .unpenalised import Unpenalised as Unpenalised

PENALTIES: MutableMapping[str, type[AbstractPenalty]] = registries.PENALTIES


def penalty(
    kind: str | AbstractPenalty, weight: Any = None, *, incidence: Any = None
) -> AbstractPenalty:
    """Build a penalty by name, or set the weight of an instance.

    Args:
        kind: A name in `PENALTIES`, or a penalty.
        weight: Regularisation strength lambda, zero or positive. An instance keeps its
            own if None.
        incidence: `(Nx, M)`, nonzero where a term depends on a state, as given by the
            library; only penalties on edges need it.

    Examples:
        >>> import graphgrad as gg
        >>> library = gg.Polynomial(n_states=3, degree=2)
        >>> type(penalty("group", 0.1, incidence=library.incidence)).__name__
        'GroupByEdge'
        >>> float(penalty(L1(0.5), 0.25).weight)
        0.25
    """
    if isinstance(kind, AbstractPenalty):
        if weight is None:
            return kind
        lam = as_weight(_check_weight(weight))
        return eqx.tree_at(lambda penalty: penalty.weight, kind, lam)
    name = check_choice("penalty", kind, PENALTIES)
    return PENALTIES[name].of(_check_weight(weight), incidence)


def _check_weight(weight: Any) -> float:
    try:
        number = float(weight)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number >= 0):
        raise ValueError(
            "`weight` must be a finite number, zero or positive, "
            f"got {weight!r}. Zero is no penalty; larger is sparser."
        )
    return number
