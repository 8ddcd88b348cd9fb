"""The record of a fit: what went in and what came out."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from ..checks import check_shape
from ..data.frames import read_inputs, read_panel, select
from ..data.layout import Layout
from ..data.series import Panel, row_times
from ..engines import AbstractEngine
from ..model import AbstractScaleNoise, Arranged, FlowMean, StateSpaceModel
from ..solution import PaperSolution, Solution
from .rows import StateEstimate, at_rows, first_means, lay_rows
from .starting_model import found_model
from .task import Task


class Inferred(NamedTuple):
    """What follows from what a solver found.

    Attributes:
        path: Smoothed means of all steps, the first state included.
        spread: Their covariances.
        standard_errors: Of the coefficients; zero where nothing was estimated.
    """

    path: Float[np.ndarray, "T_plus_1 Nx"]
    spread: Float[np.ndarray, "T_plus_1 Nx Nx"]
    standard_errors: Float[np.ndarray, "Nx M"]

    @classmethod
    def of(cls, solution: Solution) -> "Inferred":
        """What the adaptive solver has inferred already."""
        found = solution.states, solution.state_covariances, solution.standard_errors
        return cls(*(np.asarray(part) for part in jax.device_get(found)))


class Fit(NamedTuple):
    """A fit: what went in and what came out.

    Attributes:
        task: What went in.
        solution: All that the solver found.
        inferred: What follows from it.
        data: The fitted model with the rows.
        model: The fitted model of one step.
        smoothed: Smoothed states at the rows, series by series.
        trace: What the adaptive solver reported; empty for a loaded fit.
    """

    task: Task
    solution: Solution | PaperSolution
    inferred: Inferred
    data: Arranged
    model: StateSpaceModel
    smoothed: list[StateEstimate]
    trace: tuple[Any, ...] = ()

    @property
    def layout(self) -> Layout:
        """Names, terms, what is seen."""
        return self.task.layout

    @property
    def panel(self) -> Panel:
        """The data."""
        return self.task.panel

    @property
    def engine(self) -> AbstractEngine:
        """How states are inferred."""
        return self.task.engine

    @property
    def dt(self) -> float:
        """Length of a step."""
        return self.task.prepared.dt

    @property
    def dynamics(self) -> str:
        """How the state moves: by a flow, a map or a difference."""
        return self.model.dynamics

    @property
    def substeps(self) -> int:
        """Runge-Kutta steps of a flow in an interval; 1 otherwise."""
        mean = self.model.mean
        return int(mean.substeps) if isinstance(mean, FlowMean) else 1

    @property
    def initial(self) -> Any:
        """Distribution of first states, as the user gave it."""
        return self.task.settings["initial"]

    @property
    def standard_errors(self) -> Float[np.ndarray, "Nx M"]:
        """Of the coefficients; zero where nothing was estimated."""
        return self.inferred.standard_errors

    @property
    def term_penalties(self) -> Float[np.ndarray, "Nx M"]:
        """Penalty of each term in this fit."""
        if isinstance(self.solution, PaperSolution):
            return np.full(self.coefficients.shape, self.task.term_penalty)
        return np.asarray(self.solution.term_prices)

    @property
    def noise_free(self) -> bool:
        """Whether nothing speaks for any process noise."""
        found = self.solution
        given = self.task.settings["state_noise"]
        if isinstance(given, int | float | list | tuple | np.ndarray):
            return not np.any(given)
        return not isinstance(found, PaperSolution) and bool(found.noise_free)

    @property
    def needs_no_noise(self) -> bool:
        """Whether process noise was to be learnt, and nothing speaks for any."""
        return self.noise_free and isinstance(self.task.settings["state_noise"], str)

    @property
    def coefficients(self) -> Float[np.ndarray, "Nx M"]:
        """Those of the dynamics."""
        return np.asarray(self.solution.coefficients)

    @property
    def estimated(self) -> np.ndarray:
        """Which coefficients were estimated, and are neither zero nor given."""
        return self.standard_errors > 0

    @property
    def variances(self) -> tuple[np.ndarray, np.ndarray]:
        """Of process noise and measurement noise; ones without a scale."""
        noises = self.model.transition.noise, self.model.observation.noise
        sizes = len(self.layout.states), self.panel.n_columns
        state, seen = (
            np.asarray(noise.variances)
            if isinstance(noise, AbstractScaleNoise)
            else np.ones(size)
            for noise, size in zip(noises, sizes, strict=True)
        )
        if self.noise_free:  # what the filter has is its least
            state = np.zeros_like(state)
        return state, seen

    @property
    def seen(self) -> list[str | None]:
        """The state that each column is, or None where it is something else."""
        H = self.layout.matrix
        if H is None:
            return [None] * self.panel.n_columns
        return [
            self.layout.states[row.argmax()]
            if (np.sort(row) == np.eye(len(row))[-1]).all()
            else None
            for row in H
        ]

    def seen_states(self, number: int) -> Float[np.ndarray, "T Nx"]:
        """Data of a series in the columns of their states; NaN in the others."""
        values, states = self.panel.series[number].values, self.layout.states
        out = np.full((len(values), len(states)), np.nan)
        for j, name in enumerate(self.seen):
            if name is not None:
                out[:, states.index(name)] = values[:, j]
        return out

    def times(self, number: int) -> Float[np.ndarray, "T"]:
        """When the rows of a series were observed; multiples of dt if not known."""
        return row_times(self.panel.series[number], self.dt)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: their own, those of the states seen, or y1, y2, ..."""
        if self.panel.names is not None:
            return self.panel.names
        given = [name or f"y{j + 1}" for j, name in enumerate(self.seen)]
        return tuple(given)

    @property
    def begins_anywhere(self) -> bool:
        """Whether the first row of a series says where it begins."""
        return self.initial is None or isinstance(self.initial, str)

    @property
    def n_sweeps(self) -> int:
        """Smoother passes of the slowest start, or gradient steps."""
        if isinstance(self.solution, PaperSolution):
            return sum(values.size for values in self.solution.log_likelihoods)
        return int(np.max(np.asarray(self.solution.sweeps)))

    def given_rows(self, y: Any, times: Any, inputs: Any) -> tuple[Panel, Arranged]:
        """Other data as `rows` has them; those of the fit if there are none."""
        return (self.panel, self.data) if y is None else self.rows(y, times, inputs)

    def rows(self, y: Any, times: Any, inputs: Any) -> tuple[Panel, Arranged]:
        """Other data, and the fitted model with their schedule."""
        panel = select(read_panel(y, times), self.panel.names, self.panel.n_columns)
        driving = read_inputs(inputs, panel)
        got = 0 if driving is None else driving.n_columns
        remedy = "Give the inputs that the fit had."
        check_shape("inputs", (got,), (len(self.layout.inputs),), remedy)
        means = first_means(self.initial, self.layout, panel)
        # A distribution of the first state that was learnt is of the fit's own series.
        start = self.task.prepared.data.model.initial_noise
        model = eqx.tree_at(lambda m: m.initial_noise, self.model, start)
        between = self.task.settings["inputs_between"]
        return panel, lay_rows(model, panel, driving, self.dt, means, between)


def complete_fit(
    task: Task,
    solution: Solution | PaperSolution,
    inferred: Inferred,
    trace: tuple[Any, ...] = (),
) -> Fit:
    """The record of a fit from what a solver found.

    Args:
        task: What went in.
        solution: What was found.
        inferred: What follows from it.
        trace: What the adaptive solver reported on its way.
    """
    data, learn = task.prepared.data, task.prepared.learn
    data = data._replace(model=found_model(data.model, solution, learn))
    return Fit(
        task=task,
        solution=solution,
        inferred=inferred,
        data=data,
        model=eqx.tree_at(
            lambda m: m.schedule, data.model, None, is_leaf=lambda leaf: leaf is None
        ),
        smoothed=at_rows(data, inferred.path[1:], inferred.spread[1:]),
        trace=trace,
    )
