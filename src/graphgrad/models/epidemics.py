"""Epidemics from the numbers of those infected."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import check_positive
from ..estimator import GraphGrad
from .compartments import compartments

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
    I, dR/dt = recovery I. A curve of the infected alone hardly tells the latent
    period: `outcome_` may be `not_determined`, as in docs/howto/recipes.md.

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
