"""The adaptive solver: noise known or estimated, Gaussian or particle engine."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...engines import AbstractEngine, ParticleSmoother
from ...model import StateSpaceModel, state_space_model
from ...solution import Outcome
from ...solvers import adaptive
from ..draws import model_of
from ..plan import Cell, Draws, Results
from ..scores import keys_of, scored

ENGINES: dict[str, str | AbstractEngine] = {
    "auto": "auto",
    "particle": ParticleSmoother(num_particles=100, smoothing="backward"),
}


def over_chunk(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Fits a model to each realisation of a chunk.

    An accelerator fits the chunk in parallel, stage by stage: as one program, a stage
    would be compiled as often as it is used. A CPU runs one fit after another: no fit
    waits for the slowest, and less is compiled.
    """

    def at_once(model, *chunk):
        return jax.vmap(lambda *one: fit(model, *one))(*chunk)

    def one_by_one(model, *chunk):
        fits = [fit(model, *one) for one in zip(*chunk, strict=True)]
        return jax.tree.map(lambda *parts: jnp.stack(parts), *fits)

    return one_by_one if jax.default_backend() == "cpu" else at_once


@cache
def _fit(engine: str, learn: tuple[str, ...]) -> Any:
    """One function for all chunks, so that its compiled programs are reused."""

    def fit(model, key, ys):
        found = adaptive(key, ys, model, engine=ENGINES[engine], learn=learn)
        noise = jnp.mean(found.state_noise / model.transition.noise.variances)
        return found.coefficients, found.code, noise

    return over_chunk(fit)


def fitted(
    name: str,
    cell: Cell,
    draws: Draws,
    model: StateSpaceModel,
    ys: np.ndarray,
    *,
    engine: str = "auto",
    learn: tuple[str, ...] = (),
) -> Results:
    """Fit a chunk and score it; `converged` and `undecided` are outcomes."""
    keys = keys_of(name, draws.seeds)
    out = _fit(engine, learn)(model, keys, jnp.asarray(ys, float))
    found, codes, noise = (np.asarray(part) for part in out)
    return {
        **scored(cell, draws, found),
        "converged": (codes == Outcome.converged).astype(float),
        "undecided": (codes == Outcome.undecided).astype(float),
        "state_noise_ratio": noise,
    }


def gaussian(cell: Cell, draws: Draws) -> Results:
    """The Gaussian engine, noises known."""
    return fitted("adaptive", cell, draws, model_of(cell, draws), draws.observations)


def learnt(cell: Cell, draws: Draws) -> Results:
    """The Gaussian engine, the process noise estimated."""
    model = model_of(cell, draws)
    learn = ("state_noise",)
    name = "adaptive-learnt"
    return fitted(name, cell, draws, model, draws.observations, learn=learn)


def particle(cell: Cell, draws: Draws) -> Results:
    """100 particles with backward simulation, noises known."""
    model, name = model_of(cell, draws), "adaptive-particle"
    return fitted(name, cell, draws, model, draws.observations, engine="particle")


def states_known(cell: Cell, draws: Draws) -> Results:
    """The same selection given the hidden states: an oracle."""
    system = draws.system
    model = state_space_model(
        system.library(cell.degree),
        dynamics="map",
        state_noise=system.dt * system.state_noise,
        observation_noise=1e-6 * system.observation_noise,
        initial_mean=system.x0,
        initial_noise=1e-6,
    )
    return fitted("states-known", cell, draws, model, draws.states[:, 1:])
