"""Random systems drawn from the priors by which terms are selected, with their series.

Supports are drawn from the prior of the criterion: a state is in its own equation, as
a term of degree 1, with odds of 1 to 1. For maps any other term of degree k enters with
odds of 1 to 4^k p_k (`ebic-by-degree`), for flows terms of a degree enter with one
probability that is drawn from Beta(1, p_k (4^k - 1) + 1) (`beta-binomial`); constants
enter with odds of 1 to p_0 in both. That is about one term for three equations, beside
states in their own. Where `moved` is asked for, a support is drawn again until every
equation has a term that is not constant. Coefficients are normal, with the variance
that log n stands for: a term explains on average as much as the noise of all the
columns together (Kass and Wasserman, JASA 90, 1995). A series that leaves
|x| < `BOUND` is rejected with its system, and counted.
"""

from typing import NamedTuple

import numpy as np

import graphgrad as gg
from graphgrad.solvers.criterion import own_states, term_degrees

N_STATES = 3
LIBRARY = gg.Polynomial(N_STATES, 2)
OWN = own_states(LIBRARY, N_STATES)
BOUND = 50.0
DT = 0.1
"""Interval between two rows of a flow."""
SUBSTEPS = 20
"""Euler-Maruyama steps in it."""
NOISES = {"map": (1.0, 0.2), "flow": (0.2, 0.05)}
"""Standard deviations of process noise, over a unit of time, and measurement noise."""
SIZES = {"map": np.sqrt(3), "flow": 0.2 * np.sqrt(3 / DT)}
"""Standard deviations of coefficients: a term of size one explains three variances."""


class Drawn(NamedTuple):
    """A system and a series of it.

    Attributes:
        coefficients: Of the dynamics, zeros where a term does not enter.
        rows: The observations.
        rejected: Series that left the bound before it.
    """

    coefficients: np.ndarray
    rows: np.ndarray
    rejected: int


def draw(
    rng: np.random.Generator, dynamics: str, rows: int, *, moved: bool = False
) -> Drawn:
    """A random system whose series stays within the bound."""
    rejected = 0
    while True:
        support = draw_support(rng, dynamics, moved)
        coefficients = support * rng.normal(0, SIZES[dynamics], support.shape)
        series = simulate(rng, coefficients, dynamics, rows)
        if series is not None:
            return Drawn(coefficients, series, rejected)
        rejected += 1


def draw_support(rng: np.random.Generator, dynamics: str, moved: bool) -> np.ndarray:
    """A support from the prior; if `moved`, one that moves every state."""
    degrees = term_degrees(LIBRARY)
    while True:
        chances = np.zeros(len(degrees))
        for k in np.unique(degrees).tolist():
            number = np.sum((degrees == k) & ~OWN)
            chance = 1 / (1 + 4**k * number)
            if dynamics == "flow" and k:
                chance = rng.beta(1, number * (4**k - 1) + 1)
            chances[degrees == k] = chance
        every = np.where(OWN, 0.5, chances)
        support = rng.random(every.shape) < every
        if not moved or support[:, degrees > 0].any(axis=1).all():
            return support


def simulate(
    rng: np.random.Generator, coefficients: np.ndarray, dynamics: str, rows: int
) -> np.ndarray | None:
    """A series from a standard normal state on; None if it leaves the bound."""
    process, measurement = NOISES[dynamics]
    powers = np.asarray(LIBRARY.incidence)
    flow = dynamics == "flow"
    many, step = (SUBSTEPS, DT / SUBSTEPS) if flow else (1, 1.0)
    noise = process * np.sqrt(step) * rng.standard_normal((rows, many, N_STATES))
    x, states = rng.standard_normal(N_STATES), np.zeros((rows, N_STATES))
    for t in range(rows):
        for shock in noise[t]:
            rate = coefficients @ np.prod(x[:, None] ** powers, axis=0)
            x = (x + step * rate if flow else rate) + shock
            if not (np.abs(x) < BOUND).all():
                return None
        states[t] = x
    return states + measurement * rng.standard_normal(states.shape)
