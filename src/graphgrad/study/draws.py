"""The data of a study: realisation number i is the same wherever it is drawn."""

from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np

from ..library import Polynomial
from ..model import StateSpaceModel, state_space_model
from ..systems import System, get, lorenz63, polynomial_rate
from .plan import Cell, Draws

DATA = 2024
PARAMETERS = 2025
MOST_REDRAWS = 100_000


def damped_oscillator() -> System:
    """The linear model of `graphgrad.demo`, which the paper's algorithm recovers."""
    return System(
        "damped oscillator",
        ("x1", "x2"),
        polynomial_rate(
            {"x1": {"x1": -0.1, "x2": 0.3}, "x2": {"x1": -0.3, "x2": -0.1}}
        ),
        dt=1.0,
        x0=[3.0, 0.0],
        state_noise=0.01,
        observation_noise=0.01,
        initial_noise=1.0,
        bound=100.0,
    )


def lorenz63_unscaled(*, dt: float = 0.025) -> System:
    """Lorenz 63 as Sec. III-C prints it: a state noise of variance 1 at any step."""
    system = lorenz63(dt=dt)
    return eqx.tree_at(lambda s: s.state_noise, system, np.ones(system.n_states))


OWN: dict[str, Callable[..., System]] = {
    "damped_oscillator": damped_oscillator,
    "lorenz63_unscaled": lorenz63_unscaled,
}


def system_of(cell: Cell, seed: int) -> System:
    """The system of one realisation; it depends on the seed if its parameters do."""
    if cell.system in OWN:
        return OWN[cell.system](**cell.options)
    key = jax.random.fold_in(jax.random.key(PARAMETERS), seed)
    return get(cell.system, key=key, **cell.options)


def draw(cell: Cell, seeds: np.ndarray) -> Draws:
    """Bounded paths, one a seed, and how many ran away before each of them.

    Realisation i depends on the cell and on i alone, not on those drawn with it.
    """
    systems, paths = [], []
    with jax.default_device(jax.devices("cpu")[0]):  # many short calls
        for seed in np.asarray(seeds).tolist():
            system = system_of(cell, seed)
            key = jax.random.fold_in(jax.random.key(DATA), seed)
            path = system.simulate(
                key, steps=cell.steps, bounded=True, max_redraws=MOST_REDRAWS
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

    Solvers ignore the coefficients. A system that is no polynomial has none: zeros.
    """
    system = draws.system
    if system.degree is not None and not system.spin_up:
        return system.model(max(cell.degree, system.degree))
    return state_space_model(
        Polynomial(system.n_states, cell.degree),
        state_noise=system.state_noise,
        observation_noise=system.observation_noise,
        initial_mean=draws.states[0, 0],
        initial_noise=system.initial_noise,
    )
