"""What a fit leaves behind, and other data seen through it."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..checks import check_finite, check_shape
from ..engines import AbstractEngine
from ..model import AbstractScaleNoise, Arranged, StateSpaceModel
from ..solution import PaperSolution, Solution
from .forecast import Bounds
from .frames import Panel, read_panel, select
from .layout import Layout
from .prepare import Prepared, first_means, found_model, lay_rows
from .states import StateEstimate, at_rows, smoothed_states
from .uncertainty import coefficient_covariance


class Fit(NamedTuple):
    """A fit: what went in and what came out.

    Attributes:
        layout: Names, terms, what is seen.
        panel: The data.
        prepared: The model that the solver started from, with the rows.
        engine: How states are inferred.
        initial: Law of first states, as the user gave it.
        n_open: Number of parameters that might have been nonzero.
        ties: How coefficients follow from parameters, where some are tied.
        solution: All that the solver found.
        data: The fitted model with the rows.
        model: The fitted model of one step.
        standard_errors: Of the coefficients; zero where nothing was estimated.
        path: Smoothed means of all steps, the first state included.
        smoothed: Smoothed states at the rows, series by series.
    """

    layout: Layout
    panel: Panel
    prepared: Prepared
    engine: AbstractEngine
    initial: Any
    n_open: int
    ties: Float[np.ndarray, "n P"] | None
    solution: Solution | PaperSolution
    data: Arranged
    model: StateSpaceModel
    standard_errors: Float[np.ndarray, "Nx M"]
    path: Float[np.ndarray, "T_plus_1 Nx"]
    smoothed: list[StateEstimate]

    @property
    def coefficients(self) -> Float[np.ndarray, "Nx M"]:
        """C of the map."""
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
        return state, seen

    @property
    def begins_anywhere(self) -> bool:
        """Whether the first row of a series tells where it begins."""
        return self.initial is None or isinstance(self.initial, str)

    @property
    def padded(self) -> Float[np.ndarray, "variables M"]:
        """Coefficients with rows of zeros for the inputs."""
        return np.pad(self.coefficients, ((0, len(self.layout.inputs)), (0, 0)))

    @property
    def n_sweeps(self) -> int:
        """Sweeps of the slowest start, or gradient steps."""
        if isinstance(self.solution, PaperSolution):
            return sum(values.size for values in self.solution.log_likelihoods)
        return int(np.max(np.asarray(self.solution.sweeps)))

    def covariance(self) -> Float[np.ndarray, "n n"]:
        """Covariance of the coefficients that were estimated, row by row."""
        return coefficient_covariance(self.data, self.path, self.estimated, self.ties)

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
        start = self.prepared.data.model.initial_noise
        model = eqx.tree_at(lambda m: m.initial_noise, self.model, start)
        return panel, lay_rows(model, panel, driving, self.prepared.dt, means)


def record(
    key: PRNGKeyArray,
    solution: Solution | PaperSolution,
    *,
    layout: Layout,
    panel: Panel,
    prepared: Prepared,
    engine: AbstractEngine,
    initial: Any,
    n_open: int,
    ties: Float[np.ndarray, "n P"] | None,
) -> Fit:
    """Complete what a solver found."""
    data = prepared.data
    data = data._replace(model=found_model(data.model, solution, prepared.learn))
    model = eqx.tree_at(
        lambda m: m.schedule, data.model, None, is_leaf=lambda leaf: leaf is None
    )
    if isinstance(solution, PaperSolution):
        smoothed = smoothed_states(key, engine, data)
        path = np.concatenate([np.asarray(model.initial_mean)[None], smoothed[0].mean])
        errors = np.zeros(np.shape(solution.coefficients))
        support = np.asarray(solution.coefficients) != 0
        covariance = coefficient_covariance(data, path, support)
        errors[support] = np.sqrt(np.diag(covariance))
    else:
        path, spread, errors = (
            np.asarray(part)
            for part in jax.device_get(
                (solution.states, solution.state_covariances, solution.standard_errors)
            )
        )
        smoothed = at_rows(data, path[1:], spread[1:])
    return Fit(
        layout=layout,
        panel=panel,
        prepared=prepared,
        engine=engine,
        initial=initial,
        n_open=n_open,
        ties=ties,
        solution=solution,
        data=data,
        model=model,
        standard_errors=errors,
        path=path,
        smoothed=smoothed,
    )


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
