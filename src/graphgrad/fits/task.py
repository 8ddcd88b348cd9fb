"""Inputs of a fit: settings, data, layout, and the initial model."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..checks import check_at_least
from ..data.constraints import velocities
from ..data.drivers import Drivers, read_seasons
from ..data.frames import input_names
from ..data.lags import check_most, delayed_inputs, delays_states
from ..data.layout import Layout, lay_out
from ..data.series import Panel, step_length
from ..engines import AbstractEngine, choose_engine
from ..model import StateSpaceModel, resolve_constraints
from ..model.constraints import check_constraint_list
from ..resources import check_fit_memory, check_memory
from ..solvers.criterion import ExtendedBIC, observed_values
from .starting_model import Prepared, choose_dynamics, starting_model


class Task(NamedTuple):
    """Inputs of a fit.

    Attributes:
        settings: Parameters of the estimator by name.
        panel: The data.
        inputs: Inputs as given, if any.
        drivers: All that drives the model: these, delayed ones and seasons.
        layout: Names, library of terms, and observation function.
        prepared: The initial model of the solver, with the rows.
        engine: The engine that infers the states.
        n_free: Number of free parameters.
        linear_map: Matrix from parameters to coefficients, under linear constraints.
    """

    settings: dict[str, Any]
    panel: Panel
    inputs: Panel | None
    drivers: Drivers
    layout: Layout
    prepared: Prepared
    engine: AbstractEngine
    n_free: int
    linear_map: Float[np.ndarray, "n P"] | None

    @property
    def constraints(self) -> tuple[Any, ...]:
        """Constraints as given, and what delayed variables are."""
        return (*self.settings["constraints"], *self.layout.constraints)

    @property
    def acting(self) -> Panel | None:
        """All inputs at the rows of the data, if any."""
        return self.drivers.panel(self.inputs, self.panel)

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
    dt = step_length([series.times for series in panel.series], settings["dt"])
    given, lags = input_names(inputs), settings["lags"]
    rows = sum(len(series.values) for series in panel.series)
    check_most(lags, rows)
    if settings["observation"] is None:  # each column is a state
        check_fit_memory(rows, panel.n_columns, panel.n_columns)
    dynamics = choose_dynamics(
        requested,
        panel,
        settings["dt"],
        settings["solver"],
        delayed=delays_states(lags, given),
    )
    seasons = read_seasons(settings["seasons"])
    delays = delayed_inputs(lags, given, dynamics, dt)
    drivers = Drivers(given, seasons, delays, dt, panel.series[0].clock)
    constraints = check_constraint_list(settings["constraints"])
    layout = lay_out(
        columns=panel.names,
        n_columns=panel.n_columns,
        inputs=given,
        states=settings["states"],
        observation=settings["observation"],
        library=settings["library"],
        degree=settings["degree"],
        constraints=constraints,
        lags=lags,
        drivers=drivers,
        origin=settings["origin"],
    )
    check_fit_memory(rows, len(layout.states), layout.library.n_terms)
    _check_origin(settings)
    prepared = starting_model(
        panel,
        drivers.panel(inputs, panel),
        layout,
        dt=dt,
        dynamics=dynamics,
        inputs_between=settings["inputs_between"],
        state_noise=settings["state_noise"],
        observation_noise=settings["observation_noise"],
        initial=settings["initial"],
        velocities=velocities(constraints),
    )
    constrained = resolve_constraints(
        (*constraints, *layout.constraints),
        layout.library,
        layout.variables,
        n_inputs=len(layout.inputs),
        dynamics=dynamics,
    )
    engine = make_engine(
        settings["engine"], settings["n_particles"], prepared.data.model
    )
    if engine.stochastic and settings["n_particles"] is not None:
        steps, n = len(prepared.data.ys), int(settings["n_particles"])
        check_memory(
            "n_particles",
            8.0 * steps * n * len(layout.states),
            f"{n} particles of {len(layout.states)} states at {steps} steps",
            "100 are usual.",
        )
    if layout.copies[0] and engine.stochastic:
        raise ValueError(
            "`engine` must be 'gaussian' for a model with `lags` of states, which move "
            f"without noise, got {type(engine).__name__}. Leave it out, or the lags."
        )
    return Task(
        settings=dict(settings),
        panel=panel,
        inputs=inputs,
        drivers=drivers,
        layout=layout,
        prepared=prepared,
        engine=engine,
        n_free=int(np.sum(constrained.free)),
        linear_map=constrained.linear_map,
    )


def _check_origin(settings: Mapping[str, Any]) -> None:
    """Reject a given origin where what is known refers to zero."""
    origin = settings["origin"]
    if not isinstance(origin, Mapping) or not any(origin.values()):
        return
    for name, absent in (
        ("constraints", not settings["constraints"]),
        ("solver", settings["solver"] == "adaptive"),
    ):
        if not absent:
            raise ValueError(
                f"`origin` must be left out with `{name}={settings[name]!r:.60}`, "
                f"which refers to terms of the states themselves, got {origin!r}. Give "
                "one of the two."
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
