"""The estimator: it checks what it is given, stores what was found, and delegates."""

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import check_at_least, check_finite, check_shape
from ..equations import equations
from ..graph import adjacency, to_networkx
from ..model import StateSpaceModel, knowledge
from ..solution import PaperSolution, Solution
from .draws import SOURCES, Draws, forecast_from, rolling_origins
from .evaluation import Evaluation
from .fitting import fit_solver, make_engine
from .forecast import Forecast, roll
from .frames import filled_in, read_panel
from .layout import lay_out
from .prepare import prepare
from .progress import ProgressLine
from .record import Fit, input_names, read_inputs, record
from .states import (
    filtered_states,
    normal_band,
    predictive_log_density,
    smoothed_states,
)

if TYPE_CHECKING:
    import networkx as nx

P = ParamSpec("P")
T = TypeVar("T")


def _double(
    method: "Callable[Concatenate[GraphGrad, P], T]",
) -> "Callable[Concatenate[GraphGrad, P], T]":
    """In double precision; the caller's setting stays as it is."""

    @wraps(method)
    def call(self: "GraphGrad", *args: P.args, **kwargs: P.kwargs) -> T:
        with jax.enable_x64(True):
            return method(self, *args, **kwargs)

    return call


class GraphGrad(BaseEstimator):
    """Which quantities act on which, and by what equations, from noisy time series.

    A hidden state moves by x_t = C phi(x_{t-1}) + noise and is seen through more
    noise. `fit` finds the terms phi that matter, their coefficients C and the noises.
    It follows the conventions of scikit-learn, and computes in double precision.

    Args:
        degree: Highest degree of the monomials that may appear.
        dt: Length of a step of the map. If None, the median interval between the
            times, or 1 without times.
        library: The terms that may appear, in place of monomials.
        observation: What is seen: None for all states, a list of the states that the
            columns are, a matrix, or a differentiable function of the state.
        states: Names of the states; more of them than columns are hidden states. The
            names of the columns, or x1, x2, ..., if None.
        state_noise: Variance, variances, covariance or law of the noise of a step, or
            `"learn"`.
        observation_noise: The same of an observation.
        initial: Mean and covariance of the state one step before a series, or
            `"learn"`; if None, near the first observation.
        solver: `"adaptive"` or `"paper"`, which is B-GraphGrad.
        engine: `"auto"`, `"gaussian"`, `"particle"`, `"ensemble"`, or an engine.
        penalty: How dear a term is: relative to the criterion for the adaptive solver;
            the weight of L1, a name or a penalty for the paper's. 1 if None.
        selection: `"ebic"` takes terms by the extended BIC; `"held-out"` also chooses
            how dear they are, by predictions of the end of the series.
        n_particles: Number of particles or members of an engine that has them.
        form: `"map"` for a sparse C; `"rate"` for a sparse C - I, as people who think
            of dx/dt do.
        constraints: What is known, by `known`, `forbid`, `sign` and `only_edges`, which
            call states by their names.
        callback: Called with the solver's progress.
        random_state: Seed of all draws: of the fit, and of forecasts unless they are
            given their own.

    Attributes:
        coef_: C, of shape `(Nx, M)`, with exact zeros.
        terms_: Names of the M terms.
        degrees_: The paper's D: powers of each state in each term.
        state_names_: Names of the states.
        adjacency_: `(Nx, Nx)` truth values; `[a, b]` says that b acts on a.
        standard_errors_: Of the coefficients; zero where nothing was estimated.
        state_noise_: Variances of the noise of a step.
        observation_noise_: Variances of the noise of an observation; ones for a law
            without a scale.
        log_likelihood_: Of the data.
        outcome_: How the fit ended; look at it before you trust the rest.
        advice_: What that means and what to do about it.
        states_: Smoothed means at the times of the rows; a list for several series.
        solution_: All that the solver found.
        model_: The state-space model with what was found, of one step.
        dt_: Length of a step.
        n_iter_: Sweeps of the slowest start, or gradient steps.
        n_features_in_: Number of columns.
        feature_names_in_: Their names, if they have any.

    Examples:
        >>> import graphgrad as gg, jax
        >>> system = gg.systems.lotka_volterra()
        >>> y = system.simulate(jax.random.key(0), steps=60).observations
        >>> model = gg.GraphGrad(degree=2, dt=0.03, states=["prey", "predator"])
        >>> model.fit(y).outcome_
        'converged'
        >>> for line in model.equations(digits=1):
        ...     print(line)
        prey[t+1] = 1 prey - 0.03 prey predator
        predator[t+1] = 1 predator + 0.02 prey predator
    """

    coef_: Float[np.ndarray, "Nx M"]
    terms_: list[str]
    degrees_: np.ndarray
    state_names_: list[str]
    adjacency_: Bool[np.ndarray, "Nx Nx"]
    standard_errors_: Float[np.ndarray, "Nx M"]
    state_noise_: Float[np.ndarray, "Nx"]
    observation_noise_: Float[np.ndarray, "Ny"]
    log_likelihood_: float
    outcome_: str
    advice_: str
    states_: Any
    solution_: Solution | PaperSolution
    model_: StateSpaceModel
    dt_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray
    _fit: Fit

    def __init__(
        self,
        degree: Any = 2,
        *,
        dt: Any = None,
        library: Any = None,
        observation: Any = None,
        states: Any = None,
        state_noise: Any = "learn",
        observation_noise: Any = "learn",
        initial: Any = None,
        solver: str = "adaptive",
        engine: Any = "auto",
        penalty: Any = None,
        selection: str = "ebic",
        n_particles: Any = None,
        form: str = "map",
        constraints: Any = (),
        callback: Callable | None = None,
        random_state: Any = 0,
    ):
        self.degree = degree
        self.dt = dt
        self.library = library
        self.observation = observation
        self.states = states
        self.state_noise = state_noise
        self.observation_noise = observation_noise
        self.initial = initial
        self.solver = solver
        self.engine = engine
        self.penalty = penalty
        self.selection = selection
        self.n_particles = n_particles
        self.form = form
        self.constraints = constraints
        self.callback = callback
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags

    @_double
    def fit(self, y: Any, times: Any = None, inputs: Any = None) -> "GraphGrad":
        """Find the equations.

        Args:
            y: Observations: a `(T, Ny)` array, a pandas or polars frame, or a list of
                any of these. NaN or null says not observed. Columns of a frame name
                the states; a column `t` or `time` says when rows were observed.
            times: When the rows were observed, if no column says so.
            inputs: What drives the states from outside, one row for each of `y`: row t
                acts from the row before to row t.
        """
        panel = read_panel(y, times)
        driving = read_inputs(inputs, panel)
        layout = lay_out(
            columns=panel.names,
            n_columns=panel.n_columns,
            inputs=input_names(driving),
            states=self.states,
            observation=self.observation,
            library=self.library,
            degree=self.degree,
        )
        prepared = prepare(
            panel,
            driving,
            layout,
            dt=self.dt,
            state_noise=self.state_noise,
            observation_noise=self.observation_noise,
            initial=self.initial,
        )
        told = knowledge(
            self.constraints,
            layout.library,
            layout.variables,
            n_inputs=len(layout.inputs),
        )
        engine = make_engine(self.engine, self.n_particles, prepared.data.model)
        key = self._key()
        with ProgressLine(sys.stderr) as line:
            solution = fit_solver(
                key,
                prepared,
                solver=self.solver,
                engine=engine,
                penalty=self.penalty,
                selection=self.selection,
                n_particles=self.n_particles,
                form=self.form,
                constraints=self.constraints,
                states=layout.variables,
                callback=line.beside(self.callback),
            )
        self._store(
            record(
                key,
                solution,
                layout=layout,
                panel=panel,
                prepared=prepared,
                engine=engine,
                initial=self.initial,
                n_open=int(np.sum(told.open)),
            )
        )
        return self

    def equations(self, digits: int = 3) -> list[str]:
        """One line a state: its next value from the terms that were found.

        Args:
            digits: Significant digits.
        """
        fit = self._checked()
        library, names = fit.layout.library, fit.layout.variables
        lines = equations(fit.padded, library, names, digits=digits)
        return lines[: len(fit.layout.states)]

    def graph(self) -> "nx.DiGraph":
        """Who acts on whom; an edge's `terms` name what carries it."""
        fit = self._checked()
        return to_networkx(fit.padded, fit.layout.library, fit.layout.variables)

    def confidence_intervals(self, level: float = 0.9) -> Float[np.ndarray, "Nx M 2"]:
        """Lower and upper ends for each coefficient, given the terms that were found.

        Args:
            level: Probability that an interval covers its coefficient.
        """
        self._checked()
        return normal_band(self.coef_, self.standard_errors_, level)

    @_double
    def smooth(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """States given all of the data.

        Args:
            y: Other data than those of the fit, as for `fit`.
            times: As for `fit`.
            inputs: As for `fit`.

        Returns:
            A `StateEstimate` with `mean`, `covariance` and `band(level)`, one row for
            each row of the data; a list of them for a list of series.
        """
        fit = self._checked()
        if y is None:
            return fit.panel.as_given(fit.smoothed)
        panel, data = fit.rows(y, times, inputs)
        return panel.as_given(smoothed_states(self._key(), fit.engine, data))

    @_double
    def filter(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """States given the data so far; arguments and result as for `smooth`."""
        fit = self._checked()
        panel, data = fit.panel, fit.data
        if y is not None:
            panel, data = fit.rows(y, times, inputs)
        return panel.as_given(filtered_states(self._key(), fit.engine, data)[0])

    @_double
    def fill(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """The data with what was not observed filled in by smoothing.

        Args:
            y: As for `smooth`.
            times: As for `fit`.
            inputs: As for `fit`.

        Returns:
            The data as they were given: a frame if they were one.
        """
        fit = self._checked()
        panel, estimates = fit.panel, fit.smoothed
        if y is not None:
            panel, data = fit.rows(y, times, inputs)
            estimates = smoothed_states(self._key(), fit.engine, data)
        seen = fit.model.observation.mean
        return panel.as_given(
            [
                filled_in(series, np.asarray(seen(jnp.asarray(estimate.mean))))
                for series, estimate in zip(panel.series, estimates, strict=True)
            ]
        )

    @_double
    def score(self, y: Any, times: Any = None, inputs: Any = None) -> float:
        """Mean log-density of an observed entry given what came before it.

        The first row of each series is not scored, unless `initial` is given: it tells
        where the series begins.

        Args:
            y: Data to predict, as for `fit`.
            times: As for `fit`.
            inputs: As for `fit`.
        """
        fit = self._checked()
        _, data = fit.rows(y, times, inputs)
        return predictive_log_density(
            self._key(), fit.engine, data, given_first=fit.begins_anywhere
        )

    @_double
    def forecast(
        self,
        steps: int = 100,
        y: Any = None,
        members: int = 200,
        level: float = 0.9,
        *,
        times: Any = None,
        inputs: Any = None,
        future_inputs: Any = None,
        sources: tuple[str, ...] = SOURCES,
        random_state: Any = None,
    ) -> Forecast:
        """What comes after a series, as an ensemble.

        Args:
            steps: How many steps of dt.
            y: The series to go on from; that of the fit if None.
            members: Number of draws.
            level: Probability of the bands.
            times: Of `y`, as for `fit`.
            inputs: Of `y`, as for `fit`.
            future_inputs: Inputs of the steps to come, one row each.
            sources: What is not known: `"noise"` of states and observations, the
                `"coefficients"`, the last `"state"`.
            random_state: Seed; the estimator's own if None.
        """
        fit = self._checked()
        draws = Draws.of(
            self._key(random_state), fit, members=members, level=level, sources=sources
        )
        panel, laws = fit.panel, fit.smoothed
        if y is not None:
            panel, data = fit.rows(y, times, inputs)
            laws = smoothed_states(self._key(), fit.engine, data)
        return forecast_from(draws, panel, laws, steps, _plain(future_inputs))

    @_double
    def simulate(
        self,
        x0: Any,
        steps: int = 100,
        noise: bool = False,
        random_state: Any = None,
        *,
        inputs: Any = None,
    ) -> Float[np.ndarray, "steps_plus_1 Nx"]:
        """A path of the equations found, NaN from where it diverges.

        Args:
            x0: Where it begins, one number a state.
            steps: How many steps of dt.
            noise: Whether the states move with the noise that was found.
            random_state: Seed; the estimator's own if None.
            inputs: Inputs during each step, one row each.

        Returns:
            States x_0..x_T.
        """
        fit = self._checked()
        steps = check_at_least("steps", steps, 1, "It is the length of the path.")
        remedy = f"Give one number for each of {self.state_names_}."
        x0 = check_finite("x0", x0, remedy)
        check_shape("x0", x0.shape, (len(self.state_names_),), remedy)
        (path,), _ = roll(
            self._key(random_state),
            fit.model,
            fit.coefficients[None],
            x0[None],
            fit.bounds(x0),
            steps=steps,
            noise=bool(noise),
            inputs=_plain(inputs),
        )
        gone = np.isnan(path).any(axis=1)
        if gone.any():
            warnings.warn(
                f"The path diverged at step {int(np.argmax(gone)) + 1}: it is NaN from "
                "there on. Begin nearer to the data, or take fewer steps.",
                stacklevel=3,
            )
        return np.concatenate([x0[None], path])

    @_double
    def evaluate(
        self,
        y: Any,
        horizon: int = 10,
        origins: Any = 10,
        members: int = 200,
        level: float = 0.9,
        *,
        times: Any = None,
        inputs: Any = None,
        random_state: Any = None,
    ) -> Evaluation:
        """Forecasts from several rows of a series against what came.

        Args:
            y: One series with equal steps, as for `fit`; one that the fit did not see.
            horizon: How many steps each forecast looks ahead.
            origins: From how many rows, spread over the second half of the series; or
                a list of how many rows each forecast knows.
            members: Number of draws.
            level: Probability of the bands.
            times: As for `fit`.
            inputs: As for `fit`.
            random_state: Seed; the estimator's own if None.
        """
        fit = self._checked()
        key = self._key(random_state)
        draws = Draws.of(key, fit, members=members, level=level)
        return rolling_origins(
            self._key(), draws, y, times, inputs, horizon=horizon, origins=origins
        )

    def _store(self, fit: Fit) -> None:
        """What users read off a fit."""
        self._fit = fit
        layout, solution, panel = fit.layout, fit.solution, fit.panel
        self.solution_, self.model_ = solution, fit.model
        self.coef_, self.standard_errors_ = fit.coefficients, fit.standard_errors
        self.terms_, self.state_names_ = list(layout.terms), list(layout.states)
        self.degrees_ = np.asarray(layout.library.incidence)
        self.adjacency_ = adjacency(self.coef_, self.degrees_[: len(layout.states)])
        self.state_noise_, self.observation_noise_ = fit.variances
        self.log_likelihood_ = float(solution.log_likelihood)
        self.outcome_, self.advice_ = solution.outcome.name, solution.advice
        self.states_ = panel.as_given([estimate.mean for estimate in fit.smoothed])
        self.dt_, self.n_iter_ = fit.prepared.dt, fit.n_sweeps
        self.n_features_in_ = panel.n_columns
        vars(self).pop("feature_names_in_", None)
        if panel.names is not None:
            self.feature_names_in_ = np.asarray(panel.names, dtype=object)

    def _checked(self) -> Fit:
        check_is_fitted(self)
        return self._fit

    def _key(self, random_state: Any = None) -> PRNGKeyArray:
        seed = self.random_state if random_state is None else random_state
        return jax.random.key(check_random_state(seed).randint(2**31 - 1))


def _plain(inputs: Any) -> np.ndarray | None:
    if inputs is None:
        return None
    return read_panel(inputs, name="inputs").series[0].values
