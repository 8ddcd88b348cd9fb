"""Compartments that exchange something whose amount is conserved."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..estimator import GraphGrad
from ..model import conserve, sign
from .structure import KEPT, only_terms


def compartments(
    flows: Sequence[tuple[str, str, str]],
    *,
    observed: Sequence[str] | Mapping[str, float],
    state_noise: Any = 0.0,
    observation_noise: Any = "learn",
    initial: Any = None,
    dt: float | None = None,
) -> GraphGrad:
    """Compartments that exchange something whose amount is conserved.

    A flow leaves one compartment and enters another; its rate is a positive constant
    times a monomial. What leaves the system enters a compartment of its own. `fit`
    takes one series or a list of them, which share the rates.

    Args:
        flows: From, to, and the monomial: `("S", "I", "S I")`.
        observed: Compartments in the order of the columns; with a factor, if a column
            is a multiple of an amount.
        state_noise: As for `GraphGrad`; none by default.
        observation_noise: As for `GraphGrad`.
        initial: As for `GraphGrad`.
        dt: As for `GraphGrad`; the times of the data if None.

    Examples:
        >>> model = compartments(
        ...     [("plasma", "tissue", "plasma"), ("tissue", "plasma", "tissue"),
        ...      ("plasma", "out", "plasma")],
        ...     observed=["plasma"],
        ... )
        >>> model.states
        ('plasma', 'tissue', 'out')
    """
    _check_flows(flows)
    states = tuple(
        dict.fromkeys(name for source, to, _ in flows for name in (source, to))
    )
    factors = (
        observed if isinstance(observed, Mapping) else dict.fromkeys(observed, 1.0)
    )
    matrix = np.array(
        [[factors[name] * (name == s) for s in states] for name in factors]
    )
    signs = [
        part
        for source, to, term in flows
        for part in (sign(source, term, "-"), sign(to, term, "+"))
    ]
    kept = {(part.target, part.term) for part in signs}
    degree = max(_degree(term) for _, _, term in flows)
    return GraphGrad(
        degree,
        dt=dt,
        states=states,
        observation=matrix,
        state_noise=state_noise,
        observation_noise=observation_noise,
        initial=initial,
        penalty=KEPT,
        dynamics="flow",
        constraints=(conserve(*states), *only_terms(states, degree, kept), *signs),
    )


def _check_flows(flows: Sequence[tuple[str, str, str]]) -> None:
    remedy = 'For instance ("plasma", "out", "plasma").'
    if not len(flows):
        raise ValueError(f"`flows` must have at least one flow, got none. {remedy}")
    for flow in flows:
        if isinstance(flow, str) or len(flow) != 3 or flow[0] == flow[1]:
            raise ValueError(
                "`flows` must have two different compartments and a monomial each, "
                f"got {flow!r}. {remedy}"
            )


def _degree(term: str) -> int:
    """Degree of a monomial, from its name."""
    powers = (part.partition("^")[2] or "1" for part in term.split() if part != "1")
    return max(1, sum(map(int, powers)))
