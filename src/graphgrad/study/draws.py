"""Simulated data of a study: realisation i is the same wherever it is drawn.

The studies of the paper use its Euler maps: data, models and coefficients are those of
the map. Flows are in `flow_draws`.
"""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..library import Polynomial
from ..model import StateSpaceModel, state_space_model
from ..systems import System, get, lorenz63
from .flow_draws import SOURCES
from .plan import Cell, Draws

DATA = 2024
PARAMETERS = 2025
MOST_REDRAWS = 100_000


def lorenz63_unscaled(key: PRNGKeyArray, *, dt: float = 0.025) -> System:
    """Lorenz 63 as printed in Sec. III-C, with a random initial state from N(0, I).

    The process noise per step has variance 1 for any step length.
    """
    system = lorenz63(dt=dt)
    start = np.asarray(jax.random.normal(key, (system.n_states,)), float)
    return eqx.tree_at(
        lambda s: (s.state_noise, s.x0),
        system,
        (np.full(system.n_states, 1 / dt), start),
    )


def system_of(cell: Cell, seed: int) -> System:
    """The system of one realisation; the seed determines random parameters."""
    if cell.system in SOURCES:
        return SOURCES[cell.system].system(cell)
    key = jax.random.fold_in(jax.random.key(PARAMETERS), seed)
    if cell.system == "lorenz63_unscaled":
        return lorenz63_unscaled(key, **cell.options)
    return get(cell.system, key=key, **cell.options)


def draw(cell: Cell, seeds: np.ndarray) -> Draws:
    """Bounded trajectories, one per seed, and the number of rejected draws of each.

    Realisation i depends only on the cell and on i.
    """
    if cell.system in SOURCES:
        return SOURCES[cell.system].draw(cell, np.asarray(seeds))
    systems, drawn = [], []
    with jax.default_device(jax.devices("cpu")[0]):  # many short calls
        for seed in np.asarray(seeds).tolist():
            system = system_of(cell, seed)
            key = jax.random.fold_in(jax.random.key(DATA), seed)
            simulation = system.simulate(
                key,
                steps=cell.steps,
                scheme="euler",
                bounded=True,
                max_redraws=MOST_REDRAWS,
            )
            systems.append(system)
            drawn.append(simulation)
    return Draws(
        system=systems[0],
        seeds=np.asarray(seeds),
        states=np.stack([np.asarray(one.states) for one in drawn]),
        observations=np.stack([np.asarray(one.observations) for one in drawn]),
        rejected=np.array([one.rejected for one in drawn]),
    )


def model_of(cell: Cell, draws: Draws) -> StateSpaceModel:
    """The model given to a method: terms and noises, and the true coefficients.

    Solvers ignore the coefficients. They are zero if the terms cannot represent the
    truth.
    """
    system = draws.system
    initial = draws.states[0, 0] if system.spin_up else system.x0
    if system.degree is not None and cell.degree >= system.degree:
        return system.model(cell.degree, dynamics="map", initial=initial)
    return state_space_model(
        Polynomial(system.n_states, cell.degree),
        dynamics="map",
        state_noise=system.dt * system.state_noise,
        observation_noise=system.observation_noise,
        initial_mean=initial,
        initial_noise=system.initial_noise,
    )
