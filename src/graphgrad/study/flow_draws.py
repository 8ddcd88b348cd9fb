"""Data of the scoreboards: flows, integrated accurately, with measurement noise.

Realisation i has the i-th noise. It depends only on the name of the system and on i:
methods see the same draws, and columns the same ones at another scale.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..library import Polynomial
from ..systems import System
from ..systems.rates import PolynomialRate, polynomial_rate
from .flow_systems import flow_systems, integrate, noise_of, trajectory
from .plan import Cell, Draws

LORENZ = {
    "x1": {"x1": -10.0, "x2": 10.0},
    "x2": {"x1": 28.0, "x2": -1.0, "x1 x3": -1.0},
    "x3": {"x3": -8 / 3, "x1 x2": 1.0},
}


class Source(NamedTuple):
    """A source of data: the system of a cell, and draws of it."""

    system: Callable[[Cell], System]
    draw: Callable[[Cell, np.ndarray], Draws]


def _seen(system: System, name: str, states: np.ndarray, seeds: np.ndarray) -> Draws:
    """States that are the same for all seeds, and their observations."""
    size = np.sqrt(system.observation_noise)
    noises = [noise_of(name, seed, states.shape) for seed in seeds.tolist()]
    return Draws(
        system=system,
        seeds=seeds,
        states=np.repeat(states[None], len(seeds), axis=0),
        observations=states + size * np.stack(noises),
        rejected=np.zeros(len(seeds)),
    )


def _system(rate: PolynomialRate, name: str, states: tuple[str, ...], **of) -> System:
    return System(name, states, rate, initial_noise=1.0, bound=np.inf, **of)


# One of the flows of `dysts`: options `name`, `points` (per period), `noise` (as a
# share of each column's standard deviation) or `rms` (of the root mean square of all
# entries), and `series`, if there are several, from as many points of the attractor.


def _states(cell: Cell) -> np.ndarray:
    """`(series, T, Nx)`."""
    name, points = cell.options["name"], cell.options["points"]
    each = range(cell.options.get("series", 1))
    return np.stack([trajectory(name, points, rows=cell.steps, start=k) for k in each])


def _flow(cell: Cell) -> System:
    flow, states = flow_systems()[cell.options["name"]], _states(cell)
    if "rms" in cell.options:
        size = np.full(
            len(flow.states), cell.options["rms"] * np.sqrt(np.mean(states**2))
        )
    else:
        size = cell.options["noise"] * states.std(axis=(0, 1))
    return _system(
        PolynomialRate(Polynomial(len(flow.states), flow.degree), flow.coefficients),
        flow.name,
        flow.states,
        dt=flow.period / cell.options["points"],
        x0=flow.starts[0],
        state_noise=0.0,
        observation_noise=size**2,
    )


def _draw_flow(cell: Cell, seeds: np.ndarray) -> Draws:
    states = _states(cell)
    several = cell.options.get("series", 1) > 1
    return _seen(
        _flow(cell), cell.options["name"], states if several else states[0], seeds
    )


# Lorenz as in ODR-BINDy's script Lorenz_heatmap.m (arXiv 2507.23426): the first row is
# the initial state, and noise is `eps` times the standard deviation of all entries of
# ten units of time, for any length of the series. The script uses one seed for all
# repetitions; here each has its own.

ODR_STEP = 0.01
ODR_START = np.array([-8.0, 8.0, 27.0])


def _odr_path(rows: int) -> np.ndarray:
    rate = polynomial_rate(LORENZ)
    times = ODR_STEP * np.arange(rows)
    return integrate(rate.coefficients, rate.library.degree, times, ODR_START)


def _odr(cell: Cell) -> System:
    size = cell.options["eps"] * np.std(_odr_path(1000), ddof=1)
    return _system(
        polynomial_rate(LORENZ),
        "lorenz-odr",
        tuple(LORENZ),
        dt=ODR_STEP,
        x0=ODR_START,
        state_noise=0.0,
        observation_noise=size**2,
    )


def _draw_odr(cell: Cell, seeds: np.ndarray) -> Draws:
    return _seen(_odr(cell), "lorenz-odr", _odr_path(cell.steps), seeds)


# Lorenz with process noise as in the notebook on discretisations of dynestyx: unit
# diffusion, only x1 observed, with unit variance at 100 times from 0 to 4, the initial
# state from N((1, 1, 1), 0.01 I), Heun's steps of 1e-3.

SDE_STEPS = 40
"""Steps per interval."""


def _sde(cell: Cell) -> System:
    return _system(
        polynomial_rate(LORENZ),
        "lorenz-sde",
        tuple(LORENZ),
        dt=4 / (cell.steps - 1),
        x0=np.ones(3),
        state_noise=1.0,
        observation_noise=1.0,
    )


def _draw_sde(cell: Cell, seeds: np.ndarray) -> Draws:
    system = _sde(cell)

    def rate(x: np.ndarray) -> np.ndarray:
        x1, x2, x3 = x.T
        return np.stack(
            [10 * (x2 - x1), x1 * (28 - x3) - x2, x1 * x2 - 8 / 3 * x3], axis=1
        )

    inner = (cell.steps - 1) * SDE_STEPS
    numbers = np.stack(
        [noise_of("lorenz-sde", seed, (inner + 1, 3)) for seed in seeds.tolist()]
    )
    h = system.dt / SDE_STEPS
    x = 1 + 0.1 * numbers[:, 0]
    xs = [x]
    for k in range(1, inner + 1):
        kick = np.sqrt(h) * numbers[:, k]
        slope = rate(x)
        x = x + h / 2 * (slope + rate(x + h * slope + kick)) + kick
        if k % SDE_STEPS == 0:
            xs.append(x)
    states = np.stack(xs, axis=1)
    noise = np.stack(
        [noise_of("lorenz-sde, seen", seed, (cell.steps, 1)) for seed in seeds.tolist()]
    )
    return Draws(
        system=system,
        seeds=seeds,
        states=states,
        observations=states[:, :, :1] + noise,
        rejected=np.zeros(len(seeds)),
    )


SOURCES = {
    "flow": Source(_flow, _draw_flow),
    "lorenz-odr": Source(_odr, _draw_odr),
    "lorenz-sde": Source(_sde, _draw_sde),
}
"""Sources by the system name of a cell."""
