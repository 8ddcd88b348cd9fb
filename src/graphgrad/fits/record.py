"""The record of a fit: its task, the solution, and the inferred states."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from ..checks import check_shape
from ..data.frames import read_inputs, read_panel, select
from ..data.layout import Layout
from ..data.series import Panel, row_dates, row_times
from ..engines import AbstractEngine
from ..model import AbstractScaleNoise, Arranged, FlowMean, StateSpaceModel
from ..solution import (
    Doubt,
    Outcome,
    PaperSolution,
    SearchRecord,
    Solution,
    Stage,
    full_advice,
)
from .rows import StateEstimate, at_rows, check_even, first_means, lay_rows
from .starting_model import found_model
from .task import Task

DOUBTED = (Outcome.converged, Outcome.undecided)
"""Outcomes of a solver that a failed check replaces; others are failures already."""


class Inferred(NamedTuple):
    """States and standard errors, given a solution.

    Attributes:
        means: Smoothed means of x_0..x_T.
        covariances: Smoothed covariances of x_0..x_T.
        standard_errors: Standard errors of the coefficients; zero if not estimated.
    """

    means: Float[np.ndarray, "T_plus_1 Nx"]
    covariances: Float[np.ndarray, "T_plus_1 Nx Nx"]
    standard_errors: Float[np.ndarray, "Nx M"]

    @classmethod
    def of(cls, solution: Solution) -> "Inferred":
        """The states and standard errors of the adaptive solver."""
        found = solution.states, solution.state_covariances, solution.standard_errors
        return cls(*(np.asarray(part) for part in jax.device_get(found)))


class Shown(NamedTuple):
    """Results of the states that are not delayed, which are those of the user.

    Attributes:
        coefficients: Coefficients of the dynamics.
        standard_errors: Their standard errors; zero if not estimated.
        smoothed: Smoothed states at the rows, one item per series.
    """

    coefficients: Float[np.ndarray, "N M"]
    standard_errors: Float[np.ndarray, "N M"]
    smoothed: list[StateEstimate]


class Fit(NamedTuple):
    """A fit.

    Attributes:
        task: The inputs of the fit.
        solution: The result of the solver.
        inferred: Smoothed states and standard errors.
        data: The fitted model with the rows.
        model: The fitted model of one step.
        smoothed: Smoothed states at the rows, one item per series.
        trace: Progress of the adaptive solver; empty for a loaded fit.
        doubts: Checks on the data that the fit fails.
        notes: What was tried before, in words.
    """

    task: Task
    solution: Solution | PaperSolution
    inferred: Inferred
    data: Arranged
    model: StateSpaceModel
    smoothed: list[StateEstimate]
    trace: tuple[Any, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """How the fit ended: as the solver says, or `doubtful` in place of success."""
        ended = self.solution.outcome
        return Outcome.doubtful if self.doubted and ended in DOUBTED else ended

    @property
    def doubted(self) -> bool:
        """Whether a check on the data fails, however the solver ended."""
        return any(doubt.decisive for doubt in self.doubts)

    @property
    def advice(self) -> str:
        """What the outcome means, which checks failed, and what to do about it."""
        return full_advice(self.outcome, self.doubts)

    @property
    def layout(self) -> Layout:
        """Names, library of terms, and observation function."""
        return self.task.layout

    @property
    def panel(self) -> Panel:
        """The data."""
        return self.task.panel

    @property
    def engine(self) -> AbstractEngine:
        """The engine that infers the states."""
        return self.task.engine

    @property
    def dt(self) -> float:
        """Length of a step."""
        return self.task.prepared.dt

    @property
    def dynamics(self) -> str:
        """The dynamics: `"flow"`, `"map"` or `"difference"`."""
        return self.model.dynamics

    @property
    def substeps(self) -> int:
        """Runge-Kutta steps of a flow per interval; 1 otherwise."""
        mean = self.model.mean
        return int(mean.substeps) if isinstance(mean, FlowMean) else 1

    @property
    def initial(self) -> Any:
        """Distribution of the initial state, as given by the user."""
        return self.task.settings["initial"]

    @property
    def standard_errors(self) -> Float[np.ndarray, "Nx M"]:
        """Standard errors of the coefficients; zero if not estimated."""
        return self.inferred.standard_errors

    @property
    def term_penalty(self) -> float:
        """Penalty of a term in this fit, whatever its degree."""
        if isinstance(self.solution, PaperSolution):
            weight = self.task.settings["penalty"]
            return self.task.unit_penalty * (1.0 if weight is None else weight)
        return self.task.unit_penalty * float(self.solution.penalty_multiplier)

    @property
    def term_penalties(self) -> Float[np.ndarray, "Nx M"]:
        """Penalty of each term in this fit."""
        if isinstance(self.solution, PaperSolution):
            return np.full(self.coefficients.shape, self.term_penalty)
        return np.asarray(self.solution.term_prices)

    @property
    def noise_free(self) -> bool:
        """Whether process noise is zero: given as zero, or found unnecessary."""
        found = self.solution
        given = self.task.settings["state_noise"]
        if isinstance(given, int | float | list | tuple | np.ndarray):
            return not np.any(given)
        return not isinstance(found, PaperSolution) and bool(found.noise_free)

    @property
    def needs_no_noise(self) -> bool:
        """Whether process noise was to be learnt and found unnecessary."""
        return self.noise_free and isinstance(self.task.settings["state_noise"], str)

    @property
    def coefficients(self) -> Float[np.ndarray, "Nx M"]:
        """Coefficients of the dynamics, with those that delay states."""
        return np.asarray(self.solution.coefficients)

    @property
    def n_present(self) -> int:
        """Number of states that are not delayed, the first ones."""
        return len(self.layout.present)

    @property
    def shown(self) -> "Shown":
        """Results of the states that are not delayed."""
        n = self.n_present
        return Shown(
            self.coefficients[:n],
            self.standard_errors[:n],
            [estimate.of_first(n) for estimate in self.smoothed],
        )

    @property
    def estimated(self) -> np.ndarray:
        """Which coefficients were estimated, that is neither zero nor given."""
        return self.standard_errors > 0

    @property
    def variances(self) -> tuple[np.ndarray, np.ndarray]:
        """Variances of process and measurement noise; ones without a scale."""
        noises = self.model.transition.noise, self.model.observation.noise
        sizes = len(self.layout.states), self.panel.n_columns
        state, observed = (
            np.asarray(noise.variances)
            if isinstance(noise, AbstractScaleNoise)
            else np.ones(size)
            for noise, size in zip(noises, sizes, strict=True)
        )
        if self.noise_free:  # the filter itself uses a small positive variance
            state = np.zeros_like(state)
        return state, observed

    @property
    def observed(self) -> list[str | None]:
        """The state that each column observes directly, or None."""
        H = self.layout.matrix
        if H is None:
            return [None] * self.panel.n_columns
        return [
            self.layout.states[row.argmax()]
            if (np.sort(row) == np.eye(len(row))[-1]).all()
            else None
            for row in H
        ]

    def observed_states(self, number: int) -> Float[np.ndarray, "T Nx"]:
        """Data of a series in the columns of their states; NaN elsewhere."""
        values, states = self.panel.series[number].values, self.layout.present
        out = np.full((len(values), len(states)), np.nan)
        for j, name in enumerate(self.observed):
            if name is not None:
                out[:, states.index(name)] = values[:, j]
        return out

    def times(self, number: int) -> Float[np.ndarray, "T"]:
        """Times of the rows of a series; multiples of dt if not known."""
        return row_times(self.panel.series[number], self.dt)

    def dates(self, number: int) -> np.ndarray:
        """Dates of the rows of a series; their times if the data had no dates."""
        return row_dates(self.panel.series[number], self.dt)

    @property
    def time_unit(self) -> str | None:
        """Unit of time: that of the data, or as given; None if not known."""
        given = self.task.settings.get("time_unit", "auto")
        return self.panel.time_unit or (None if given == "auto" else given)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: their own, those of the states, or y1, y2, ..."""
        if self.panel.names is not None:
            return self.panel.names
        given = [name or f"y{j + 1}" for j, name in enumerate(self.observed)]
        return tuple(given)

    @property
    def begins_anywhere(self) -> bool:
        """Whether the initial state is estimated from the first row of a series."""
        return self.initial is None or isinstance(self.initial, str)

    @property
    def search(self) -> SearchRecord | None:
        """How the terms were found; None if that is not known."""
        if isinstance(self.solution, PaperSolution):
            return None
        found = self.solution.search
        return None if found.stage is Stage.unknown else found

    @property
    def n_sweeps(self) -> int:
        """Smoother passes of the slowest start, or gradient steps."""
        if isinstance(self.solution, PaperSolution):
            return sum(values.size for values in self.solution.log_likelihoods)
        return int(np.max(np.asarray(self.solution.sweeps)))

    def given_rows(self, y: Any, times: Any, inputs: Any) -> tuple[Panel, Arranged]:
        """Other data as in `rows`; those of the fit if `y` is None."""
        return (self.panel, self.data) if y is None else self.rows(y, times, inputs)

    def rows(self, y: Any, times: Any, inputs: Any) -> tuple[Panel, Arranged]:
        """Read other data; return them and the fitted model with their schedule."""
        panel = read_panel(y, times, time_unit=self.time_unit or "auto")
        dated = any(s.clock is not None and s.clock.epoch for s in panel.series)
        if self.time_unit is None and dated:
            raise ValueError(
                "`times` must be numbers, as those of the fit were, got dates. Give "
                "numbers, or fit again with dates or with `time_unit`."
            )
        panel = select(panel, self.panel.names, self.panel.n_columns)
        driving = self.drivers(inputs, panel)
        means = first_means(self.initial, self.layout, panel)
        # A learnt initial distribution is valid only for the series of the fit.
        start = self.task.prepared.data.model.initial_noise
        model = eqx.tree_at(lambda m: m.initial_noise, self.model, start)
        between = self.task.settings["inputs_between"]
        data = lay_rows(model, panel, driving, self.dt, means, between)
        return panel, check_even(self.layout, data)

    def drivers(self, inputs: Any, panel: Panel) -> Panel | None:
        """All inputs of other data, if any, from those that are given."""
        driving, drivers = read_inputs(inputs, panel), self.task.drivers
        got = 0 if driving is None else driving.n_columns
        remedy = "Give the inputs that the fit had."
        check_shape("inputs", (got,), (len(drivers.given),), remedy)
        return drivers.panel(driving, panel)


def complete_fit(
    task: Task,
    solution: Solution | PaperSolution,
    inferred: Inferred,
    trace: tuple[Any, ...] = (),
) -> Fit:
    """Create the record of a fit.

    Args:
        task: The inputs of the fit.
        solution: The result of the solver.
        inferred: Smoothed states and standard errors.
        trace: Progress of the adaptive solver.
    """
    data, learn = task.prepared.data, task.prepared.learn
    data = data._replace(model=found_model(data.model, solution, learn))
    return Fit(
        task=task,
        solution=solution,
        inferred=inferred,
        data=data,
        model=data.model.with_schedule(None),
        smoothed=at_rows(data, inferred.means[1:], inferred.covariances[1:]),
        trace=trace,
    )
