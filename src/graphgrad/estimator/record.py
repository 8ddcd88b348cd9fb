"""What a fit leaves behind, and other data seen through it."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..checks import check_finite, check_shape
from ..engines import AbstractEngine
from ..model import (
    AbstractScaleNoise,
    Arranged,
    FlowMean,
    GaussianNoise,
    StateSpaceModel,
)
from ..solution import PaperSolution, Solution
from .forecast import Bounds
from .frames import Panel, read_panel, select
from .layout import Layout
from .prepare import Prepared, first_means, found_model, lay_rows
from .states import StateEstimate, at_rows, smoothed_states
from .uncertainty import coefficient_covariance


class Task(NamedTuple):
    """What goes into a fit.

    Attributes:
        settings: What the user said, by the names of the estimator's parameters.
        panel: The data.
        inputs: Their inputs, if there are any.
        layout: Names, terms, what is seen.
        prepared: The model that the solver starts from, with the rows.
        engine: How states are inferred.
        n_open: Number of parameters that may be nonzero.
        ties: How coefficients follow from parameters, where some are tied.
    """

    settings: dict[str, Any]
    panel: Panel
    inputs: Panel | None
    layout: Layout
    prepared: Prepared
    engine: AbstractEngine
    n_open: int
    ties: Float[np.ndarray, "n P"] | None

    @property
    def price(self) -> float:
        """What a coefficient costs by the extended BIC, whatever its degree."""
        seen = np.sum(~np.isnan(self.prepared.data.ys))
        return float(np.log(seen) + 2 * np.log(max(1, self.n_open)))


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


class Fit(NamedTuple):
    """A fit: what went in and what came out.

    Attributes:
        task: What went in.
        solution: All that the solver found.
        inferred: What follows from it.
        data: The fitted model with the rows.
        model: The fitted model of one step.
        smoothed: Smoothed states at the rows, series by series.
        trace: What the adaptive solver told on its way; empty for a loaded fit.
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
        """Law of first states, as the user gave it."""
        return self.task.settings["initial"]

    @property
    def standard_errors(self) -> Float[np.ndarray, "Nx M"]:
        """Of the coefficients; zero where nothing was estimated."""
        return self.inferred.standard_errors

    @property
    def price(self) -> float:
        """What a term costs by the extended BIC, whatever its degree."""
        return self.task.price

    @property
    def term_price(self) -> float:
        """What a term cost in this fit, whatever its degree."""
        if isinstance(self.solution, Solution):
            return self.price * float(self.solution.penalty_multiplier)
        weight = self.task.settings["penalty"]
        return self.price * (1.0 if weight is None else weight)

    @property
    def term_prices(self) -> Float[np.ndarray, "Nx M"]:
        """What each term cost in this fit."""
        if isinstance(self.solution, PaperSolution):
            return np.full(self.coefficients.shape, self.term_price)
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
    def coefficients(self) -> Float[np.ndarray, "Nx M"]:
        """Those of the dynamics."""
        return np.asarray(self.solution.coefficients)

    @property
    def estimated(self) -> np.ndarray:
        """Which coefficients were estimated, and are neither zero nor given."""
        return self.standard_errors > 0

    @property
    def variances(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the state noise and of the observation noise; ones without a scale."""
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

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: their own, those of the states seen, or y1, y2, ..."""
        if self.panel.names is not None:
            return self.panel.names
        given = [name or f"y{j + 1}" for j, name in enumerate(self.seen)]
        return tuple(given)

    @property
    def begins_anywhere(self) -> bool:
        """Whether the first row of a series tells where it begins."""
        return self.initial is None or isinstance(self.initial, str)

    @property
    def n_sweeps(self) -> int:
        """Sweeps of the slowest start, or gradient steps."""
        if isinstance(self.solution, PaperSolution):
            return sum(values.size for values in self.solution.log_likelihoods)
        return int(np.max(np.asarray(self.solution.sweeps)))

    def covariance(self) -> Float[np.ndarray, "n n"]:
        """Covariance of the coefficients that were estimated, row by row."""
        return coefficient_covariance(
            self.data, self.inferred.path, self.estimated, self.task.ties
        )

    def bounds(self, x: Float[np.ndarray, "Nx"]) -> Bounds:
        """Where states are that have not diverged, about the data and this one."""
        bands = [estimate.band() for estimate in self.smoothed]
        return Bounds.of(np.concatenate([*bands, np.stack([x, x], axis=-1)[None]]))

    def rows(self, y: Any, times: Any, inputs: Any) -> tuple[Panel, Arranged]:
        """Other data, and the fitted model with their schedule."""
        panel = select(read_panel(y, times), self.panel.names, self.panel.n_columns)
        driving = read_inputs(inputs, panel)
        got = 0 if driving is None else driving.n_columns
        remedy = "Give the inputs that the fit had."
        check_shape("inputs", (got,), (len(self.layout.inputs),), remedy)
        means = first_means(self.initial, self.layout, panel)
        # A law of the first state that was learnt is that of the fit's own series.
        start = self.task.prepared.data.model.initial_noise
        model = eqx.tree_at(lambda m: m.initial_noise, self.model, start)
        between = self.task.settings.get("inputs_between", "held")
        return panel, lay_rows(model, panel, driving, self.dt, means, between)


def record(
    task: Task,
    solution: Solution | PaperSolution,
    inferred: Inferred | None = None,
    *,
    key: PRNGKeyArray | None = None,
    trace: tuple[Any, ...] = (),
) -> Fit:
    """Complete what a solver found.

    Args:
        task: What went in.
        solution: What was found.
        inferred: What follows from it, if that is known already.
        key: Random key, if it is not.
        trace: What the adaptive solver told on its way.
    """
    data, learn = task.prepared.data, task.prepared.learn
    data = data._replace(model=found_model(data.model, solution, learn))
    if inferred is None:
        inferred = _infer(key, task.engine, data, solution)
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


def _infer(
    key: PRNGKeyArray | None,
    engine: AbstractEngine,
    data: Arranged,
    solution: Solution | PaperSolution,
) -> Inferred:
    if not isinstance(solution, PaperSolution):
        found = solution.states, solution.state_covariances, solution.standard_errors
        return Inferred(*(np.asarray(part) for part in jax.device_get(found)))
    assert key is not None
    (smoothed,) = smoothed_states(key, engine, data)
    model = data.model
    assert isinstance(model.initial_noise, GaussianNoise)
    path = np.concatenate([np.asarray(model.initial_mean)[None], smoothed.mean])
    first = np.asarray(model.initial_noise.covariance)[None]
    errors = np.zeros(np.shape(solution.coefficients))
    support = np.asarray(solution.coefficients) != 0
    errors[support] = np.sqrt(np.diag(coefficient_covariance(data, path, support)))
    return Inferred(path, np.concatenate([first, smoothed.covariance]), errors)


def states_at(key: PRNGKeyArray, fit: Fit, panel: Panel, at: Any) -> StateEstimate:
    """Smoothed states of a flow at any times: rows of which nothing was observed.

    Args:
        key: Random key.
        fit: The fit.
        panel: One series.
        at: The times.
    """
    if fit.dynamics != "flow" or fit.layout.inputs or len(panel.series) != 1:
        raise ValueError(
            "`at` must be absent but for one series of a flow without inputs, got "
            f"{at!r:.40}. Leave it out for the states at the rows."
        )
    wanted = np.atleast_1d(check_finite("at", at, "Give times."))
    (series,) = panel.series
    times = series.times
    if times is None:
        times = fit.dt * np.arange(len(series.values))
    if wanted.min() < times[0]:
        raise ValueError(
            f"`at` must not be before the first row at {times[0]:g}, got "
            f"{wanted.min():g}. Leave out earlier times."
        )
    every = np.unique(np.concatenate([times, wanted]))
    values = np.full((len(every), panel.n_columns), np.nan)
    values[np.searchsorted(every, times)] = series.values
    wider = panel._replace(series=(series._replace(values=values, times=every),))
    means = first_means(fit.initial, fit.layout, panel)
    data = lay_rows(fit.model, wider, None, fit.dt, means)
    (found,) = smoothed_states(key, fit.engine, data)
    places = np.searchsorted(every, wanted)
    return StateEstimate(found.mean[places], found.covariance[places])


def read_inputs(inputs: Any, panel: Panel) -> Panel | None:
    """Inputs of all series, one row for each row of the data."""
    if inputs is None:
        return None
    driving = read_panel(inputs, name="inputs")
    remedy = "Give one row for each row of `y`."
    check_shape("inputs", (len(driving.series),), (len(panel.series),), remedy)
    for ours, theirs in zip(driving.series, panel.series, strict=True):
        shape = (len(theirs.values), driving.n_columns)
        check_shape("inputs", ours.values.shape, shape, remedy)
        check_finite("inputs", ours.values, remedy)
    return driving


def input_names(driving: Panel | None) -> tuple[str, ...]:
    """Names of the inputs: of their columns, or u1, u2, ..."""
    if driving is None:
        return ()
    if driving.names is not None:
        return driving.names
    return tuple(f"u{i + 1}" for i in range(driving.n_columns))
