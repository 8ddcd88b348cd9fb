"""Polynomial flows from an external source: 81 of the package `dysts`.

`flow_systems.json` is written by `benchmarks/extract_flows.py`: coefficients, a period,
and points of the attractor. (Gilpin, Chaos as an interpretable benchmark for
forecasting and data-driven modelling, 2021, arXiv 2110.05266.)
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import prod
from typing import Any

import numpy as np

from ..checks import check_at_least, check_choice
from ..library.degrees import degree_matrix
from ..systems.rates import polynomial_rate

TOLERANCE = 1e-12
"""Tolerance of the integration, relative to the size of each state."""


@dataclass(frozen=True)
class FlowSystem:
    """dx/dt = A phi(x), with phi all monomials up to the degree.

    Attributes:
        name: Name in `dysts`.
        states: Names of the states.
        degree: Highest degree of its terms.
        period: Period of the dominant oscillation, as estimated by `dysts`.
        coefficients: `(Nx, M)`, A.
        starts: `(n, Nx)`. Points of the attractor, ten periods apart.
    """

    name: str
    states: tuple[str, ...]
    degree: int
    period: float
    coefficients: np.ndarray
    starts: np.ndarray

    def truth(self, degree: int | None = None) -> np.ndarray:
        """A for the monomials up to a higher degree; `(Nx, M)`."""
        degree = check_at_least(
            "degree",
            self.degree if degree is None else degree,
            self.degree,
            f"The equations of {self.name} have degree {self.degree}.",
        )
        known = self.coefficients.shape[1]  # terms of lower degree come first
        full = np.zeros(
            (len(self.states), degree_matrix(len(self.states), degree).shape[1])
        )
        full[:, :known] = self.coefficients
        return full


@cache
def flow_systems() -> dict[str, FlowSystem]:
    """All flows, by name.

    Examples:
        >>> len(flow_systems())
        81
        >>> lorenz = flow_systems()["Lorenz"]
        >>> lorenz.states, lorenz.degree, lorenz.coefficients[1].tolist()
        (('x', 'y', 'z'), 2, [0.0, 28.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    """
    file = files("graphgrad.study").joinpath("flow_systems.json")
    parsed = json.loads(file.read_text("utf-8"))["systems"]
    return {name: _system(name, one) for name, one in parsed.items()}


def _system(name: str, entry: dict[str, Any]) -> FlowSystem:
    rate = polynomial_rate(entry["rates"])
    return FlowSystem(
        name=name,
        states=tuple(entry["rates"]),
        degree=rate.library.degree,
        period=entry["period"],
        coefficients=rate.coefficients,
        starts=np.array(entry["starts"]),
    )


def for_development(name: str) -> bool:
    """Whether a system is for development of methods; the others are held out.

    Decided by the first byte of a hash of its name, so that there is no selection.

    Examples:
        >>> sum(map(for_development, flow_systems()))
        33
    """
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def integrate(
    coefficients: np.ndarray, degree: int, times: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """States of dx/dt = A phi(x) at some times, the first being that of the start.

    Args:
        coefficients: `(Nx, M)`, A.
        degree: Highest degree of the monomials phi.
        times: `(T,)`, ascending.
        start: `(Nx,)`.

    Returns:
        `(T, Nx)`, each interval with an error of about 1e-11 of a state's size.
    """
    from scipy.integrate import solve_ivp

    powers = degree_matrix(len(coefficients), degree).T
    factors = [np.repeat(np.arange(len(start)), power).tolist() for power in powers]
    rates = [
        [(float(row[j]), factors[j]) for j in np.flatnonzero(row)]
        for row in coefficients
    ]

    def rate(_: float, x: np.ndarray) -> list[float]:
        # For a few numbers, scalars are faster than arrays.
        values = x.tolist()
        return [sum(c * prod([values[i] for i in f]) for c, f in row) for row in rates]

    solution = solve_ivp(
        *(rate, times[[0, -1]], start),
        method="DOP853",
        t_eval=times,
        rtol=TOLERANCE,
        atol=TOLERANCE * np.maximum(np.abs(start), 1e-3 * np.abs(start).max()),
    )
    if not solution.success:
        raise ValueError(f"The flow could not be integrated: {solution.message}")
    return solution.y.T


@cache
def _trajectory(name: str, points: int, rows: int, start: int) -> np.ndarray:
    system = flow_systems()[name]
    times = system.period / points * np.arange(rows)
    return integrate(system.coefficients, system.degree, times, system.starts[start])


def trajectory(
    name: str, points: int, *, rows: int = 500, start: int = 0
) -> np.ndarray:
    """States of a system without noise, `(rows, Nx)`.

    Args:
        name: The system.
        points: Rows per period.
        rows: Length of the series.
        start: Index of the point of the attractor that is the first row.
    """
    check_choice("name", name, flow_systems())
    return _trajectory(name, points, rows, start).copy()


def noise_of(name: str, seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal numbers that depend on the name of a system and a seed."""
    entropy = [seed, *hashlib.sha256(name.encode()).digest()[:4]]
    return np.random.default_rng(entropy).standard_normal(shape)


def flow_series(
    name: str, points_per_period: int, noise: float, seed: int, rows: int = 500
) -> tuple[np.ndarray, float, np.ndarray, tuple[str, ...]]:
    """One series with measurement noise: the observations, and the truth.

    The states are the same for all seeds; only the noise depends on the seed.

    Args:
        name: The system.
        points_per_period: Rows per period.
        noise: Standard deviation of the noise as a share of each column's own: 0.01.
        seed: Seed of the noise.
        rows: Length of the series.

    Returns:
        Observations `(rows, Nx)`, the time between rows, the true rates `(Nx, M)` for
        `Polynomial(Nx, degree)` with the system's own degree, and the state names.

    Examples:
        >>> ys, dt, truth, states = flow_series("Lorenz", 100, 0.01, seed=0)
        >>> ys.shape, round(dt, 6), truth.shape, states
        ((500, 3), 0.015008, (3, 10), ('x', 'y', 'z'))
    """
    system = flow_systems()[check_choice("name", name, flow_systems())]
    xs = trajectory(name, points_per_period, rows=rows)
    ys = xs + noise * xs.std(axis=0) * noise_of(name, seed, xs.shape)
    return ys, system.period / points_per_period, system.truth(), system.states
