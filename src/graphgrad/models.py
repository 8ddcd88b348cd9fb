"""Models of known structure, ready to be fitted: each function returns a `GraphGrad`.

The terms are given, and their rates are estimated.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .checks import check_positive
from .estimator import GraphGrad
from .library import Polynomial
from .model import conserve, forbid, sign, velocity
from .model.constraints import Constraint

KEPT = 1e-3
"""Penalty of a term of known structure: small, so that every rate is estimated."""

FIRST_SHARE = 0.02
"""Standard deviation of the share of a population that is infected at first."""


def sir(
    population: float,
    *,
    reporting: float | str = 1.0,
    infected: float = 1.0,
    observation_noise: Any = "learn",
    dt: float = 1.0,
) -> GraphGrad:
    """An epidemic from the numbers of those infected at a time: S, I and R.

    dS/dt = -infection S I, dI/dt = infection S I - recovery I, dR/dt = recovery I, in
    shares of the population. Only I is observed, as a number of people. `fit` takes one
    column; the state before its first row is not given, but estimated.

    Args:
        population: Number of people.
        reporting: Share of the infected that is counted; or `"learn"`: then S, I and R
            are shares of the population that are counted, so that S begins near the
            share that is reported, and the coefficient of S I is that of infection
            divided by it.
        infected: Approximate number of infected one step before the first row.
        observation_noise: As for `GraphGrad`: a variance that is learnt, or a
            distribution such as `Poisson()`.
        dt: Interval between rows; rates are per unit of it.

    Examples:
        >>> model = sir(population=763)
        >>> model.states
        ('S', 'I', 'R')
    """
    return _epidemic(
        (("S", "I", "S I"), ("I", "R", "I")),
        population,
        reporting,
        infected,
        observation_noise=observation_noise,
        dt=dt,
    )


def seir(
    population: float,
    *,
    reporting: float | str = 1.0,
    infected: float = 1.0,
    observation_noise: Any = "learn",
    dt: float = 1.0,
) -> GraphGrad:
    """The same with a latent period: S, E, I and R; arguments as for `sir`.

    dS/dt = -infection S I, dE/dt = infection S I - onset E, dI/dt = onset E - recovery
    I, dR/dt = recovery I.

    Examples:
        >>> seir(population=1000).states
        ('S', 'E', 'I', 'R')
    """
    return _epidemic(
        (("S", "E", "S I"), ("E", "I", "E"), ("I", "R", "I")),
        population,
        reporting,
        infected,
        observation_noise=observation_noise,
        dt=dt,
    )


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
        constraints=(conserve(*states), *_only(states, degree, kept), *signs),
    )


def predator_prey(
    prey: str = "prey",
    predator: str = "predator",
    *,
    limited: bool = False,
    dt: float | None = None,
) -> GraphGrad:
    """The equations of Lotka and Volterra, with both populations observed.

    dprey/dt = birth prey - hunting prey predator,
    dpredator/dt = -death predator + growth prey predator.

    Args:
        prey: Name of the first column.
        predator: Name of the second.
        limited: Whether the prey limits itself, by a term of prey^2.
        dt: Interval between rows; the times of the data if None.

    Examples:
        >>> predator_prey("hare", "lynx").states
        ('hare', 'lynx')
    """
    both = f"{prey} {predator}"
    signs = [
        sign(prey, prey, "+"),
        sign(prey, both, "-"),
        sign(predator, predator, "-"),
        sign(predator, both, "+"),
    ]
    if limited:
        signs.append(sign(prey, f"{prey}^2", "-"))
    states = (prey, predator)
    kept = {(part.target, part.term) for part in signs}
    return GraphGrad(
        2,
        dt=dt,
        states=states,
        penalty=KEPT,
        dynamics="flow",
        constraints=(*_only(states, 2, kept), *signs),
    )


def oscillator(
    position: str = "x",
    speed: str = "v",
    *,
    degree: int = 1,
    dt: float | None = None,
) -> GraphGrad:
    """An oscillator of which only positions are observed: dx/dt = v, dv/dt = f(x, v).

    Args:
        position: Name of the column.
        speed: Name of its derivative, which is not observed.
        degree: Highest degree of the terms of f, which are selected; 1 for a linear
            oscillator, 3 for that of Duffing.
        dt: Interval between rows; the times of the data if None.

    Examples:
        >>> oscillator("angle").states
        ('angle', 'v')
    """
    return GraphGrad(
        degree,
        dt=dt,
        states=(position, speed),
        observation=[position],
        dynamics="flow",
        constraints=(velocity(position, speed),),
    )


def _epidemic(
    flows: Sequence[tuple[str, str, str]],
    population: float,
    reporting: float | str,
    infected: float,
    **options: Any,
) -> GraphGrad:
    """Compartments with a state before the first row from the population."""
    check_positive("population", population, "It is a number of people.")
    check_positive("infected", infected, "It is a number of people.")
    states = dict.fromkeys(name for source, to, _ in flows for name in (source, to))
    first, size, spread = infected / population, 1.0, FIRST_SHARE
    factor = float(population)
    covariance = dict.fromkeys(states, 1e-12)
    if isinstance(reporting, str):
        if reporting != "learn":
            raise ValueError(
                f"`reporting` must be a share or 'learn', got {reporting!r}. 1 if all "
                "of the infected are counted."
            )
        size = 0.5
        covariance["S"] = 0.3**2
    else:
        check_positive("reporting", reporting, "1 if all of the infected are counted.")
        factor *= reporting
    mean = {**dict.fromkeys(states, 0.0), "S": size - first, "I": first}
    matrix = np.diag([covariance[name] for name in states])
    names = list(states)
    for name in ("I", "E"):
        if name in names:  # infected, and no longer susceptible
            away = np.array([(n == name) - 1.0 * (n == "S") for n in names])
            matrix += spread**2 * np.outer(away, away)
    start = np.array([mean[name] for name in states]), matrix
    return compartments(flows, observed={"I": factor}, initial=start, **options)


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


def _only(
    states: Sequence[str], degree: int, kept: set[tuple[str, str]]
) -> list[Constraint]:
    """Forbid all other terms."""
    terms = Polynomial(len(states), degree).names(tuple(states))
    return [
        forbid(state, term)
        for state in states
        for term in terms
        if (state, term) not in kept
    ]
