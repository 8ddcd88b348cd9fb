"""Inputs of a fit: settings, data, layout, and the initial model."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..checks import check_at_least
from ..data.constraints import velocities
from ..data.frames import input_names
from ..data.layout import Layout, lay_out
from ..data.series import Panel
from ..engines import AbstractEngine, choose_engine
from ..model import StateSpaceModel, resolve_constraints
from ..solvers.criterion import ExtendedBIC, observed_values
from .starting_model import Prepared, choose_dynamics, starting_model


class Task(NamedTuple):
    """Inputs of a fit.

    Attributes:
        settings: Parameters of the estimator by name.
        panel: The data.
        inputs: Inputs, if any.
        layout: Names, library of terms, and observation function.
        prepared: The initial model of the solver, with the rows.
        engine: The engine that infers the states.
        n_free: Number of free parameters.
        linear_map: Matrix from parameters to coefficients, under linear constraints.
    """

    settings: dict[str, Any]
    panel: Panel
    inputs: Panel | None
    layout: Layout
    prepared: Prepared
    engine: AbstractEngine
    n_free: int
    linear_map: Float[np.ndarray, "n P"] | None

    @property
    def unit_penalty(self) -> float:
        """Extended BIC penalty of a coefficient, independent of its degree."""
        with jax.enable_x64(True):
            n = observed_values(jnp.asarray(self.prepared.data.ys, float))
            return float(ExtendedBIC().flat(n, self.n_free))


def make_task(
    settings: Mapping[str, Any],
    panel: Panel,
    inputs: Panel | None = None,
    dynamics: str | None = None,
) -> Task:
    """Create the inputs of a fit.

    Args:
        settings: Parameters of the estimator by name.
        panel: The data.
        inputs: Inputs, if any.
        dynamics: Overrides the dynamics of the settings.
    """
    requested = settings["dynamics"] if dynamics is None else dynamics
    dynamics = choose_dynamics(requested, panel, settings["dt"], settings["solver"])
    constraints = settings["constraints"]
    layout = lay_out(
        columns=panel.names,
        n_columns=panel.n_columns,
        inputs=input_names(inputs),
        states=settings["states"],
        observation=settings["observation"],
        library=settings["library"],
        degree=settings["degree"],
        constraints=constraints,
    )
    prepared = starting_model(
        panel,
        inputs,
        layout,
        dt=settings["dt"],
        dynamics=dynamics,
        inputs_between=settings["inputs_between"],
        state_noise=settings["state_noise"],
        observation_noise=settings["observation_noise"],
        initial=settings["initial"],
        velocities=velocities(constraints),
    )
    constrained = resolve_constraints(
        constraints,
        layout.library,
        layout.variables,
        n_inputs=len(layout.inputs),
        dynamics=dynamics,
    )
    model = prepared.data.model
    return Task(
        settings=dict(settings),
        panel=panel,
        inputs=inputs,
        layout=layout,
        prepared=prepared,
        engine=make_engine(settings["engine"], settings["n_particles"], model),
        n_free=int(np.sum(constrained.free)),
        linear_map=constrained.linear_map,
    )


def make_engine(
    engine: str | AbstractEngine, n_particles: Any, model: StateSpaceModel
) -> AbstractEngine:
    """Create the requested engine, with the requested number of particles."""
    made, _ = choose_engine(engine, model)
    if n_particles is None or isinstance(engine, AbstractEngine):
        return made
    n = check_at_least("n_particles", n_particles, 3, "Leave it out for 100.")
    # Stochastic engines take the number of draws as first argument.
    return type(made)(n) if made.stochastic else made  # pyright: ignore
