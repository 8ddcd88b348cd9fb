"""The data of a study: realisation number i is the same wherever it is drawn.

The studies of the paper are of its Euler maps: they are simulated so, and their models
and coefficients are those of the map. Flows are in `flow_draws`.
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
    """Lorenz 63 as Sec. III-C prints it, from a start of its own, drawn from N(0, I).

    The process noise of a step has variance 1 whatever its length.
    """
    system = lorenz63(dt=dt)
    start = np.asarray(jax.random.normal(key, (system.n_states,)), float)
    return eqx.tree_at(
        lambda s: (s.state_noise, s.x0),
        system,
        (np.full(system.n_states, 1 / dt), start),
    )


def system_of(cell: Cell, seed: int) -> System:
    """The system of one realisation; where its parameters are drawn, by the seed."""
    if cell.system in SOURCES:
        return SOURCES[cell.system].system(cell)
    key = jax.random.fold_in(jax.random.key(PARAMETERS), seed)
    if cell.system == "lorenz63_unscaled":
        return lorenz63_unscaled(key, **cell.options)
    return get(cell.system, key=key, **cell.options)


def draw(cell: Cell, seeds: np.ndarray) -> Draws:
    """Bounded paths, one a seed, and how many ran away before each of them.

    Realisation i depends on the cell and on i alone, not on those drawn with it.
    """
    if cell.system in SOURCES:
        return SOURCES[cell.system].draw(cell, np.asarray(seeds))
    systems, paths = [], []
    with jax.default_device(jax.devices("cpu")[0]):  # many short calls
        for seed in np.asarray(seeds).tolist():
            system = system_of(cell, seed)
            key = jax.random.fold_in(jax.random.key(DATA), seed)
            path = system.simulate(
                key,
                steps=cell.steps,
                scheme="euler",
                bounded=True,
                max_redraws=MOST_REDRAWS,
            )
            systems.append(system)
            paths.append(path)
    return Draws(
        system=systems[0],
        seeds=np.asarray(seeds),
        states=np.stack([np.asarray(path.states) for path in paths]),
        observations=np.stack([np.asarray(path.observations) for path in paths]),
        rejected=np.array([path.rejected for path in paths]),
    )


def model_of(cell: Cell, draws: Draws) -> StateSpaceModel:
    """What a method is told: terms and noises, and the truth in its coefficients.

    Solvers ignore the coefficients. Where the terms cannot represent the truth, they
    are zero.
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
