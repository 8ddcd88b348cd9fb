"""The estimator `GraphGrad`. Each method calls one function of another module."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import plots
from ..compilation_cache import stored_programs
from ..confidence import Posterior, Stability
from ..data.clock import as_dates
from ..deprecation import renamed
from ..diagnostics.alternatives import Alternative, fit_alternatives
from ..diagnostics.coefficient_intervals import coefficient_intervals
from ..diagnostics.comparison import Comparison, compare_records
from ..diagnostics.doubts import with_stability
from ..diagnostics.probable_edges import (
    ProbableEdge,
    edge_probabilities,
    probable_edges,
)
from ..diagnostics.residuals import fit_residuals, residual_verdicts
from ..diagnostics.term_confidence import fit_posterior, fit_stability
from ..fits.record import Fit
from ..forks import check_not_forked
from ..graph import adjacency
from ..library import origin_of
from ..model import refuse_form
from ..prediction.evaluation import Evaluation, evaluate
from ..prediction.forecast import SOURCES, Forecast, forecast, predict
from ..prediction.rollout import simulate
from ..prediction.states import fill, filtered, score, smooth
from ..report import Findings, write_report
from ..resources import check_draws
from ..storage.saved_fits import CONFIDENCES, load_fit, save_fit
from . import figures
from .checkpoint import checkpointed
from .display import display_latex, fit_html
from .equations import (
    fit_equations,
    fit_graph,
    fit_latex,
    fit_numpy_function,
    fit_numpy_source,
    fit_sympy,
)
from .fitting import fit_data
from .pickling import restored, stored
from .report import fit_findings
from .summary import fit_summary
from .symmetry import found_symmetry

if TYPE_CHECKING:
    import networkx as nx
    import sympy
    from matplotlib.axes import Axes

P = ParamSpec("P")
T = TypeVar("T")
Self = TypeVar("Self", bound="GraphGrad")
Found = TypeVar("Found", Stability, Posterior)


def in_double(
    method: Callable[Concatenate[Self, P], T],
) -> Callable[Concatenate[Self, P], T]:
    """Run a method in double precision without changing the caller's JAX setting.

    Its programs are kept for the next process, also those of single operations.
    """

    @wraps(method)
    def call(self: Self, *args: P.args, **kwargs: P.kwargs) -> T:
        check_not_forked()
        with jax.enable_x64(True), stored_programs():
            return method(self, *args, **kwargs)

    return call


class GraphGrad(BaseEstimator):
    """Sparse equations and the directed graph of interactions from noisy time series.

    The model is a state-space model: a latent state with dynamics dx/dt = A phi(x), or
    x[t+1] = C phi(x), and process noise, observed with measurement noise. `fit` selects
    the terms phi, and estimates their coefficients and the noise variances. The class
    follows the conventions of scikit-learn and computes in double precision.

    Args:
        degree: Highest degree of the candidate monomials.
        dt: Usual interval between rows, in the unit of the times. If None, the median
            interval between the times, or 1 without times.
        time_unit: Unit of time of dates: `"second"`, `"minute"`, `"hour"`, `"day"`,
            `"week"`, `"month"`, `"year"`, or `"auto"`: month or year for dates that are
            calendar months or years apart, else the largest of day, hour, minute and
            second that is no longer than the median interval. Rates are per that unit.
        library: Library of candidate terms, in place of monomials.
        observation: What is observed: None for all states, a list with the state of
            each column, a matrix, or a differentiable function of the state.
        states: Names of the states. Names that are not columns are hidden states. If
            None, the names of the columns, or x1, x2, ...
        state_noise: Process noise: a variance, variances, a covariance, a distribution,
            or `"learn"`. Per step for a map or difference, per unit of time for a flow.
            A flow may have none, 0.
        observation_noise: Measurement noise of one observation, given in the same way.
        initial: Mean and covariance of the state one step before a series, or
            `"learn"`; if None, near the first observation.
        solver: `"adaptive"`; or an algorithm of the paper, for maps with known noises:
            `"s-graphgrad"`, `"b-graphgrad"`, which is also `"paper"`, or `"pmle"`.
        engine: `"auto"`, `"gaussian"`, `"particle"`, `"ensemble"`, or an engine.
        penalty: Strength of the sparsity penalty. For the adaptive solver, a multiple
            of the extended BIC penalty of a term; for the paper's solvers, the factor
            of L1, a name or a penalty. 1 if None.
        selection: `"ebic"` selects terms by the extended BIC; `"held-out"` also selects
            the penalty, by predictions of the end of the series.
        n_particles: Number of particles or ensemble members, if the engine has any.
        dynamics: `"flow"`: dx/dt = A phi(x), integrated over each interval;
            `"map"`: x[t+1] = C phi(x), as in the paper; `"difference"`: x[t+1] - x[t] =
            A phi(x). `"auto"`: the flow if `dt` or times are given, else the map; also
            the map if the intervals are too long for a flow and the map has the better
            extended BIC.
        inputs_between: Inputs of a flow between two rows: `"held"`, row t is constant
            since the row before, or `"linear"`, linear interpolation.
        constraints: Constraints on the coefficients, by `known`, `forbid`, `sign`,
            `only_edges`, `bounds`, `conserve`, `equal`, `cyclic`, `exchangeable` and
            `velocity`. They refer to states by name; numbers are coefficients of the
            dynamics, rates for a flow.
        lags: Delayed states and inputs that are variables of the library, `x1[t-2]`:
            a number of steps, one for each name, `{"x1": 2, "u": 3}`, or `"auto"` for
            the number with the lowest criterion. Delayed states need a map or a
            difference.
        hidden: Number of hidden states h1, h2, ... in addition to `states`; or
            `"auto"`: one or two if the residuals are autocorrelated and the criterion
            falls.
        seasons: Periods in units of time, whose sine and cosine are inputs: a number, a
            list, or `{"year": 365.25}`; or `"auto"` for one found from the data.
        origin: Origin c of the terms, which are monomials of x - c: numbers by name of
            a state or input, `{"temperature": 273.15}`, zero for others; None for zero.
            `"auto"`: zero, or about the mean of columns that are far from zero if that
            makes the equations sparser; zero with `constraints` or `prior`, which refer
            to it.
        prior: Probability that a term enters an equation, by its name in `terms_`, or
            of each term of a degree: `{"x1^3": 0.01, "degree 2": 0.1}`. Terms that are
            not named have that of the criterion.
        symmetry: `"auto"`: coefficients are tied if the equations of five states or
            more are those of a ring, in the order of the columns, or of identical
            units, by the criterion. `"cyclic"` and `"exchangeable"` state it for all
            states, `cyclic` and `exchangeable` among the constraints for some; None to
            look for none.
        callback: Called with the solver's progress.
        random_state: Seed of the fit, and of forecasts unless they have their own.

    Attributes:
        coef_: Coefficients, of shape `(Nx, M)`, with exact zeros: A of a flow, in units
            per time, or of a difference, C of a map.
        dynamics_: The dynamics that were fitted: `"flow"`, `"map"` or `"difference"`.
        terms_: Names of the M terms.
        degrees_: The paper's D: powers of each state in each term.
        origin_: Origin of each variable in the terms, the rows of `degrees_`, to which
            `coef_` refers; zeros if that of the data was kept.
        state_names_: Names of the states.
        adjacency_: `(Nx, Nx)` booleans; `[a, b]` is true if b acts on a.
        standard_errors_: Standard errors of the coefficients; zero if not estimated.
        state_noise_: Variances of the process noise per step, or per unit of time for a
            flow; zeros if a flow needs none.
        observation_noise_: Variances of the measurement noise; ones for a distribution
            without a scale.
        log_likelihood_: Log-likelihood of the data.
        outcome_: How the fit ended. Check it before using the other attributes.
        advice_: What the outcome means and what to do about it.
        doubts_: Checks on the data that the fit fails, in words, with the numbers.
        state_means_: Smoothed means at the times of the rows; a list for several
            series.
        substeps_: Runge-Kutta steps of a flow per interval.
        solution_: The full result of the solver.
        search_: How the terms were found, and for which equations it is certain that no
            other choice is better; None if that is not known.
        model_: The fitted state-space model of one step.
        dt_: Usual interval between rows.
        time_unit_: Unit of time; None if it is not known.
        term_confidence_: Confidence in each term, after `stability` or `posterior`.
        edge_confidence_: Confidence in each edge, likewise.
        n_iter_: Smoother passes of the slowest start, or gradient steps.
        lags_: Number of delayed steps of each variable that has any.
        seasons_: Periods of the seasons, by name.
        symmetry_: What is equal by a symmetry, found or stated; None without one.
        n_features_in_: Number of columns.
        feature_names_in_: Names of the columns, if they have any.

    Examples:
        >>> import graphgrad as gg, jax
        >>> system = gg.systems.lotka_volterra()
        >>> y = system.simulate(jax.random.key(0), steps=110).observations
        >>> model = gg.GraphGrad(degree=2, dt=0.03, states=["prey", "predator"])
        >>> model.fit(y).outcome_
        'converged'
        >>> for line in model.equations(digits=2):
        ...     print(line)
        dprey/dt = 1 prey - 0.1 prey predator
        dpredator/dt = -1.5 predator + 0.075 prey predator
    """

    def __new__(cls, *_: Any, form: Any = None, **__: Any) -> "GraphGrad":
        """Reject `form`, the former name of `dynamics`; `__init__` only stores."""
        refuse_form(form)
        return super().__new__(cls)

    def __init__(
        self,
        degree: Any = 2,
        *,
        dt: Any = None,
        time_unit: Any = "auto",
        library: Any = None,
        observation: Any = None,
        states: Any = None,
        state_noise: Any = "learn",
        observation_noise: Any = "learn",
        initial: Any = None,
        solver: Any = "adaptive",
        engine: Any = "auto",
        penalty: Any = None,
        selection: Any = "ebic",
        n_particles: Any = None,
        dynamics: Any = "auto",
        inputs_between: Any = "held",
        constraints: Any = (),
        lags: Any = 0,
        hidden: Any = 0,
        seasons: Any = None,
        origin: Any = "auto",
        prior: Any = None,
        symmetry: Any = "auto",
        callback: Any = None,
        random_state: Any = 0,
    ):
        self.degree = degree
        self.dt = dt
        self.time_unit = time_unit
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
        self.dynamics = dynamics
        self.inputs_between = inputs_between
        self.constraints = constraints
        self.lags = lags
        self.hidden = hidden
        self.seasons = seasons
        self.origin = origin
        self.prior = prior
        self.symmetry = symmetry
        self.callback = callback
        self.random_state = random_state

    def __getstate__(self) -> dict[str, Any]:
        """Attributes for pickle, joblib and `copy.deepcopy`."""
        return stored(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(restored(state))

    def _repr_html_inner(self) -> str:
        """In a notebook: the equations of a fit; else scikit-learn's diagram."""
        if not hasattr(self, "_fit"):
            return super()._repr_html_inner()  # pyright: ignore
        return fit_html(self._fit)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        found = super()._repr_mimebundle_(**kwargs)
        if hasattr(self, "_fit") and "text/html" in found:
            found |= {"text/html": fit_html(self._fit)}
            found["text/latex"] = display_latex(self._fit)
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags

    @in_double
    def fit(
        self,
        y: Any,
        times: Any = None,
        inputs: Any = None,
        *,
        checkpoint: Any = None,
    ) -> "GraphGrad":
        """Fit the equations to data.

        Args:
            y: Observations: a `(T, Ny)` array, a frame of pandas, polars or Arrow, an
                array or dataset of xarray, or a list of any of these. NaN, null or
                masked means not observed. The columns of a frame name the states. Its
                times are in an index of dates, or in a column `t`, or `time`, `date`,
                `datetime`, `timestamp` or `year` in any case; `year` with `quarter`,
                `month` and `day` beside it.
            times: Times of the rows, as numbers or dates; or the name of the column
                that has them, or `"index"`.
            inputs: Exogenous inputs, one row per row of `y`: row t acts from the row
                before to row t.
            checkpoint: Folder in which a fit of more than a minute is saved once a
                minute. If it is stopped or killed, the same call goes on from there, to
                the same result. It is removed at the end.
        """
        settings = self.get_params(deep=False)
        with checkpointed(checkpoint) as journal:
            found = fit_data(self._key(), settings, y, times, inputs, journal)
        self._store(found)
        return self

    def as_dates(self, times: Any, *, series: int = 0) -> np.ndarray:
        """Times of a fit or a forecast as dates, if the data had dates.

        Args:
            times: Times in the unit `time_unit_`, such as those of a forecast.
            series: Index of the series of the fit whose first row is at time zero.

        Returns:
            `datetime64[us]`; the times unchanged if the data had no dates.
        """
        return as_dates(times, self._checked().panel.series[series].clock)

    @property
    def states_(self) -> Any:
        """Deprecated name of `state_means_`."""
        renamed("GraphGrad.states_", "GraphGrad.state_means_", until="0.3.0")
        return self.state_means_

    @in_double
    def smooth(
        self, y: Any = None, times: Any = None, inputs: Any = None, *, at: Any = None
    ) -> Any:
        """Smoothed states: given all data, at the rows or, for a flow, at any times.

        Args:
            y: Data, as for `fit`; those of the fit if None.
            times: As for `fit`.
            inputs: As for `fit`.
            at: Times at which to evaluate the states of a flow, in place of the rows;
                for one series, between its rows or after them.

        Returns:
            A `StateEstimate` with `mean`, `covariance` and `band(level)`, one row per
            row of the data; a list of them for a list of series.
        """
        return smooth(self._key(), self._checked(), y, times, inputs, at=at)

    @in_double
    def filter(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """Filtered states, given the data so far; arguments as for `smooth`."""
        return filtered(self._key(), self._checked(), y, times, inputs)

    @in_double
    def fill(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """The data with missing values imputed by smoothing.

        Args:
            y: As for `smooth`.
            times: As for `fit`.
            inputs: As for `fit`.

        Returns:
            The data in the type in which they were given, such as a frame.
        """
        return fill(self._key(), self._checked(), y, times, inputs)

    @in_double
    def score(self, y: Any, times: Any = None, inputs: Any = None) -> float:
        """Mean predictive log-density of an observed entry, given the rows before.

        The first row of each series is not scored, unless `initial` is given: the
        initial state is estimated from it.

        Args:
            y: Data to predict, as for `fit`.
            times: As for `fit`.
            inputs: As for `fit`.
        """
        return score(self._key(), self._checked(), y, times, inputs)

    @in_double
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
        at: Any = None,
        sources: tuple[str, ...] = SOURCES,
        random_state: Any = None,
    ) -> Forecast:
        """Forecast after the end of a series, as an ensemble.

        Args:
            steps: Number of steps of dt.
            y: The series to continue; that of the fit if None.
            members: Number of draws.
            level: Probability of the bands.
            times: Times of `y`, as for `fit`.
            inputs: Inputs of `y`, as for `fit`.
            future_inputs: Inputs during the forecast, one row per step; the columns
                of a frame are found by name.
            at: Times after the last row to forecast, for a flow, in place of `steps`.
            sources: Sources of uncertainty: `"noise"` of process and measurement, the
                `"coefficients"`, the last `"state"`, and the `"model"`: where a check
                fails or the equations are a linear map, forecasts are averaged with
                autoregressions. On request also `"terms"`: members have the terms of
                the fit and of its alternatives by their weights.
            random_state: Seed; that of the estimator if None.
        """
        fit = self._checked()
        check_draws(steps, members, len(fit.layout.states))
        return forecast(
            self._key(random_state),
            fit,
            steps,
            y,
            smoothing_key=self._key(),
            members=members,
            level=level,
            times=times,
            inputs=inputs,
            future_inputs=future_inputs,
            at=at,
            sources=sources,
        )

    @in_double
    def predict(
        self,
        y: Any = None,
        steps: int = 1,
        *,
        times: Any = None,
        inputs: Any = None,
        future_inputs: Any = None,
        at: Any = None,
    ) -> Any:
        """Point forecast of the columns: the equations from the last state, no noise.

        Averaged with autoregressions where that of `forecast` is.
        `forecast` gives means over all that is uncertain, with bands.

        Args:
            y: The series to continue, as for `fit`; that of the fit if None.
            steps: Number of steps of dt.
            times: As for `fit`.
            inputs: As for `fit`.
            future_inputs: As for `forecast`.
            at: As for `forecast`.

        Returns:
            An array of shape `(steps, Ny)`. If the series is a frame, a frame of the
            same library with a column of times and the columns of the data.
        """
        return predict(
            self._key(),
            self._checked(),
            steps,
            y,
            times=times,
            inputs=inputs,
            future_inputs=future_inputs,
            at=at,
        )

    @in_double
    def simulate(
        self,
        x0: Any,
        steps: int = 100,
        noise: bool = False,
        random_state: Any = None,
        *,
        inputs: Any = None,
    ) -> Float[np.ndarray, "steps_plus_1 Nx"]:
        """Simulate a trajectory of the fitted equations, NaN after it diverges.

        Args:
            x0: Initial state, one number per state.
            steps: Number of steps of dt.
            noise: Whether to add process noise.
            random_state: Seed; that of the estimator if None.
            inputs: Inputs, one row per step.

        Returns:
            States x_0..x_T.
        """
        key, fit = self._key(random_state), self._checked()
        check_draws(steps, 1, len(fit.layout.states))
        return simulate(key, fit, x0, steps, noise=noise, inputs=inputs)

    @in_double
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
        """Rolling-origin evaluation: forecasts from several rows against the data.

        Args:
            y: One series with equal steps, as for `fit`, not used by the fit.
            horizon: Number of steps of each forecast.
            origins: Number of origins, spread over the second half of the series; or a
                list with the number of rows before each origin.
            members: Number of draws.
            level: Probability of the bands.
            times: As for `fit`.
            inputs: As for `fit`.
            random_state: Seed; that of the estimator if None.
        """
        return evaluate(
            self._key(random_state),
            self._checked(),
            y,
            filter_key=self._key(),
            horizon=horizon,
            origins=origins,
            members=members,
            level=level,
            times=times,
            inputs=inputs,
        )

    def equations(
        self, digits: int | None = None, *, align: bool = False, form: Any = None
    ) -> list[str]:
        """Equations as text, one line per state.

        The left side depends on the dynamics of the fit, `dynamics_`: dx/dt, x[t+1] or
        x[t+1] - x[t].

        Args:
            digits: Significant digits. If None, each coefficient is rounded to the
                second digit of its standard error.
            align: Whether to align a term in the same column of all lines.
            form: Removed; use `dynamics` of the constructor.
        """
        return fit_equations(self._checked(), digits, align=align, form=form)

    def latex(self, digits: int | None = None, *, form: Any = None) -> list[str]:
        """Equations as LaTeX, one line per state; arguments as for `equations`."""
        return fit_latex(self._checked(), digits, form=form)

    def sympy(
        self, digits: int | None = None, *, form: Any = None
    ) -> "list[sympy.Expr]":
        """Right sides as SymPy expressions, one per state; symbols are the variables.

        The rate of a flow, the next value of a map, the change of a difference.

        Args:
            digits: Significant digits; all if None.
            form: Removed; use `dynamics` of the constructor.
        """
        return fit_sympy(self._checked(), digits, form=form)

    def numpy_function(
        self,
        digits: int | None = None,
        *,
        step: float | None = None,
        substeps: int | None = None,
        form: Any = None,
    ) -> Callable[..., np.ndarray]:
        """The equations as a NumPy function of states `(..., Nx)`, and inputs if any.

        `rate(t, x)` for a flow, with the signature of SciPy's `solve_ivp`; `step(x)`,
        the next states, for a map or a difference.

        Args:
            digits: Significant digits; all if None.
            step: For a flow, a length of time: return the step over it in place of the
                rate, with inputs held.
            substeps: Runge-Kutta steps in it. If None, as fine as those of the fit.
            form: Removed; use `dynamics` of the constructor.
        """
        how = {"step": step, "substeps": substeps, "form": form}
        return fit_numpy_function(self._checked(), digits, **how)

    def numpy_source(
        self,
        digits: int | None = None,
        *,
        step: float | None = None,
        substeps: int | None = None,
        form: Any = None,
    ) -> str:
        """Python source of `numpy_function`, which requires only NumPy."""
        how = {"step": step, "substeps": substeps, "form": form}
        return fit_numpy_source(self._checked(), digits, **how)

    def graph(self) -> "nx.DiGraph":
        """The directed graph of interactions.

        An edge has the names of its `terms`, their `coefficients`, its `strength` (its
        share of the change of the target, over the smoothed states of the longest
        series with equal steps) and, after `stability` or `posterior`, a `confidence`.
        """
        return fit_graph(self._checked(), self._edge_confidence())

    def alternatives(self) -> list[Alternative]:
        """Other choices of terms that explain the data nearly as well.

        At most ten, each with its `weight`, by how much its criterion is above that of
        the fit (`rise`), its `coefficients`, and `words` that say how it differs. Half
        the difference of two criteria is the logarithm of their odds, so that the
        weights of the fit and its alternatives have sum one. With noticeable weight on
        alternatives the outcome is `undecided`.

        Examples:
            >>> import graphgrad as gg, jax
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> [other.words for other in model.alternatives()][0]
            '... in the equation of ...'
        """
        return fit_alternatives(self._checked())

    @in_double
    def summary(self) -> str:
        """Summary as text: size, outcome, equations, edges and residual checks.

        Examples:
            >>> import graphgrad as gg, jax
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=110).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> print(model.summary())
            2 states from 110 rows, in steps of 0.03: a flow, dx/dt = A phi(x).
            4 of 12 candidate terms are selected.
            ...
            Outcome: converged. ...
            <BLANKLINE>
            dprey/dt =  1.0... prey             - 0.10... prey fox
            dfox/dt  =             - 1.5... fox + 0.07... prey fox
            Alternative of weight 0...
            <BLANKLINE>
            prey acts on itself through prey and prey fox, ... standard errors from 0.
            prey acts on fox through prey fox, ... standard errors from 0.
            fox acts on prey through prey fox, ... standard errors from 0.
            fox acts on itself through fox and prey fox, ... standard errors from 0.
            <BLANKLINE>
            Residuals of prey: no autocorrelation, normal, expected size.
            Residuals of fox: no autocorrelation, normal, expected size.
        """
        return fit_summary(self._key(), self._checked(), self._edge_confidence())

    @in_double
    def report(
        self, path: str | Path, *, title: str | None = None, forecast: int = 50
    ) -> None:
        """Write a report of the fit as one self-contained HTML file.

        It has a summary, the equations, an interactive graph, the states and the data,
        the regularisation path, residuals, a forecast, and the settings.

        The confidence in a term is that of `stability` or `posterior`, if one of them
        was called; else it comes from the standard error of its coefficient and the
        extended BIC penalty of a term.

        Args:
            path: The file; an existing one is replaced.
            title: Heading of the page.
            forecast: Number of steps to forecast; 0 for none. Several series, and
                models with inputs, have no forecast.

        Examples:
            >>> import graphgrad as gg, jax, tempfile, pathlib
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
            >>> model.report(path)
            >>> "fox depends on prey" in path.read_text(encoding="utf-8")
            True
        """
        write_report(path, self._findings(title=title, forecast=forecast))

    @in_double
    def _findings(self, *, title: str | None = None, forecast: int = 50) -> Findings:
        """Contents of the report, as plain values."""
        return fit_findings(
            self._key(),
            self._checked(),
            title=title,
            steps=forecast,
            term_confidence=getattr(self, "term_confidence_", None),
            edge_confidence=self._edge_confidence(),
        )

    @in_double
    def confidence_intervals(
        self, level: float = 0.9, *, sources: tuple[str, ...] = ("coefficients",)
    ) -> Float[np.ndarray, "Nx M 2"]:
        """Confidence intervals of the coefficients.

        Args:
            level: Probability that an interval covers its coefficient.
            sources: Sources of uncertainty: `"coefficients"`, given the selected terms
                and noise variances; on request also `"noise"`, whose learnt variances
                are uncertain, and `"terms"`, their choice: a mixture of the fit and its
                `alternatives`, in which a coefficient is zero where its term does not
                enter. `("noise", "coefficients", "terms")` are intervals after the
                selection.
        """
        return coefficient_intervals(self._key(), self._checked(), level, sources)

    def edges(self, fdr: float = 0.05) -> list[ProbableEdge]:
        """Edges with a false discovery rate: the most probable, of any term.

        As many as possible such that the expected share of false ones is at most
        `fdr`, by the probabilities of `edge_probabilities`, which hold if the model is
        right.

        Args:
            fdr: Highest expected share of false edges.

        Returns:
            Each with its `source`, `target` and `probability`, the most probable
            first; also edges that only alternatives of the fit have.

        Examples:
            >>> import graphgrad as gg, jax
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> sorted((edge.source, edge.target) for edge in model.edges(fdr=0.05))
            [('fox', 'fox'), ('fox', 'prey'), ('prey', 'fox'), ('prey', 'prey')]
        """
        return probable_edges(self._checked(), fdr, self._edge_confidence())

    def edge_probabilities(self) -> Float[np.ndarray, "Nx Nv"]:
        """Probability that a variable (column) acts on a state (row).

        By the weights of the fit and its `alternatives`; after `stability` or
        `posterior` it is `edge_confidence_`, which for `stability` is a share of
        refits.
        """
        fit, known = self._checked(), self._edge_confidence()
        return edge_probabilities(fit) if known is None else known

    @in_double
    def residuals(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """Standardised one-step residuals, one row per row of the data.

        An observation minus its prediction from the rows before, divided by the
        standard deviation of that prediction. For a correct model they are standard
        normal and uncorrelated. NaN where nothing was observed, and in the first row of
        a series unless `initial` is given.

        Args:
            y: Data, as for `fit`; those of the fit if None.
            times: As for `fit`.
            inputs: As for `fit`.
        """
        return fit_residuals(self._key(), self._checked(), y, times, inputs)

    @in_double
    def check_residuals(
        self, y: Any = None, times: Any = None, inputs: Any = None
    ) -> list[str]:
        """Test the residuals; one line of text per column.

        Tests of autocorrelation, normality (if the noise is Gaussian) and size. Each
        test rejects a correct model in 1 to 2 % of cases.

        Args:
            y: As for `residuals`.
            times: As for `fit`.
            inputs: As for `fit`.
        """
        return residual_verdicts(self._checked(), self.residuals(y, times, inputs))

    @in_double
    def stability(
        self, refits: int = 50, block: int | None = None, random_state: Any = None
    ) -> Stability:
        """Stability selection: how often refits on resampled blocks select each term.

        For one series with equal steps and the adaptive solver. `graph`, `summary` and
        the plots show the result afterwards. If refits find less than half of the
        terms on average, the outcome becomes `doubtful`.

        Args:
            refits: Number of refits.
            block: Rows per block; a fifth of the series, at most 50, if None.
            random_state: Seed; that of the estimator if None.
        """
        key, fit = self._key(random_state), self._checked()
        found = fit_stability(key, fit, refits=refits, block=block)
        self._store_outcome(with_stability(fit, found))
        return self._store_confidence(found)

    @in_double
    def posterior(
        self,
        draws: int = 1000,
        warm_up: int = 200,
        random_state: Any = None,
        *,
        num_particles: int = 30,
    ) -> Posterior:
        """Posterior probabilities of terms and edges, by particle Gibbs.

        For one series with equal steps, independent Gaussian process noise and the
        adaptive solver. `graph`, `summary` and the plots show the result afterwards.

        Args:
            draws: Number of draws.
            warm_up: Number of initial draws that are discarded.
            random_state: Seed; that of the estimator if None.
            num_particles: Number of particles.
        """
        found = fit_posterior(
            self._key(random_state),
            self._checked(),
            draws=draws,
            warm_up=warm_up,
            num_particles=num_particles,
        )
        return self._store_confidence(found)

    def plot_graph(self, ax: Any = None, **options: Any) -> "Axes":
        """Plot the directed graph of `graph`, by `graphgrad.plots.plot_graph`."""
        return plots.plot_graph(self.graph(), ax=ax, **options)

    def plot_coefficients(self, ax: Any = None, **options: Any) -> "Axes":
        """Plot the coefficient matrix, by `graphgrad.plots.plot_coefficients`."""
        return figures.coefficients(self._checked(), ax, **options)

    def plot_path(self, ax: Any = None, **options: Any) -> "Axes":
        """Plot the regularisation path, with the penalty of the fit."""
        return figures.path(self._checked(), ax, **options)

    def plot_states(
        self, ax: Any = None, *, series: int = 0, **options: Any
    ) -> "list[Axes]":
        """Plot smoothed states with 90 % bands, and the data.

        Args:
            ax: One axes per state.
            series: Index of the series.
            **options: Of `graphgrad.plots.plot_states`, such as `truth`.
        """
        return figures.states(self._checked(), ax, series=series, **options)

    @in_double
    def plot_residuals(
        self, ax: Any = None, *, series: int = 0, **options: Any
    ) -> "list[Axes]":
        """Plot one-step residuals: over time, distribution, autocorrelation.

        Args:
            ax: Three axes.
            series: Index of the series.
            **options: Of `graphgrad.plots.plot_residuals`.
        """
        key, fit = self._key(), self._checked()
        return figures.residuals(key, fit, ax, series=series, **options)

    @in_double
    def plot_forecast(
        self, steps: int = 100, ax: Any = None, *, members: int = 200, **options: Any
    ) -> "list[Axes]":
        """Plot a forecast of the series of the fit as a fan chart.

        Members that diverge are left out; `forecast` warns of them.

        Args:
            steps: Number of steps of dt.
            ax: One axes per state.
            members: Number of draws.
            **options: Of `graphgrad.plots.plot_forecast`, such as `truth`; for a model
                with inputs also the `future_inputs`.
        """
        key, fit = self._key(), self._checked()
        return figures.forecasts(key, fit, steps, ax, members=members, **options)

    @in_double
    def plot_phase(self, ax: Any = None, *, series: int = 0, **options: Any) -> "Axes":
        """Phase portrait of two states: data, smoothed states, a simulation.

        For a flow it also has the vector field.

        Args:
            ax: Axes to draw on.
            series: Index of the series.
            **options: Of `graphgrad.plots.plot_phase`, such as `pair`; `rate=None`
                leaves the vector field out.
        """
        key, fit = self._key(), self._checked()
        return figures.phase(key, fit, ax, series=series, **options)

    def plot_convergence(self, ax: Any = None, **options: Any) -> "list[Axes]":
        """Plot log-likelihood and number of terms over the course of the fit.

        Not available for a fit by the adaptive solver that was loaded from a file.
        """
        return figures.convergence(self._checked(), ax, **options)

    @in_double
    def save(self, path: str | Path, *, leave_out: Iterable[str] = ()) -> None:
        """Save the fit with its data, without pickle; `load` reads it.

        Args:
            path: A file if it ends in `.zip`, else a folder.
            leave_out: Names of parameters that cannot be saved, such as an
                `observation` that is a function; pass them to `load` again. A callback
                is never saved.

        Examples:
            >>> import graphgrad as gg, jax, tempfile, pathlib
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad().fit(y)
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "fit.zip"
            >>> model.save(path)
            >>> again = gg.GraphGrad.load(path)
            >>> (again.coef_ == model.coef_).all(), again.outcome_
            (np.True_, 'converged')
        """
        fit = self._checked()
        confidences = {n: getattr(self, n) for n in CONFIDENCES if hasattr(self, n)}
        settings = {**fit.task.settings, "random_state": self.random_state}
        save_fit(path, fit, settings, confidences, leave_out=leave_out)

    @classmethod
    def load(cls: type[Self], path: str | Path, **left_out: Any) -> Self:
        """Load a fit that `save` wrote; its results are bitwise identical.

        Data that were a frame are loaded as an array with names, so that `fill` returns
        an array.

        Args:
            path: A file or a folder.
            **left_out: The parameters that `save` left out.

        Raises:
            FileNotFoundError: The path does not exist.
            ValueError: The file is damaged, of another program, or newer than this
                version; or parameters that were left out are not given.
        """
        parameters = inspect.signature(cls).parameters
        defaults = {name: each.default for name, each in parameters.items()}
        loaded = load_fit(path, left_out, defaults)
        model = cls(**loaded.fit.task.settings)
        with jax.enable_x64(True):
            model._store(loaded.fit)
        for name, values in loaded.confidences.items():
            setattr(model, name, values)
        return model

    def _store(self, fit: Fit) -> None:
        """Set the fitted attributes."""
        layout, solution, panel = fit.layout, fit.solution, fit.panel
        self.solution_, self.model_ = solution, fit.model
        self.search_ = fit.search
        shown = fit.shown
        self.coef_, self.standard_errors_ = shown.coefficients, shown.standard_errors
        self.terms_, self.state_names_ = list(layout.terms), list(layout.present)
        self.degrees_ = np.asarray(layout.library.incidence)
        self.origin_ = np.array(origin_of(layout.library), float)
        self.adjacency_ = adjacency(self.coef_, layout.incidence[: fit.n_present])
        process, self.observation_noise_ = fit.variances
        self.state_noise_ = process[: fit.n_present]
        self.log_likelihood_ = float(solution.log_likelihood)
        self._store_outcome(fit)
        means = panel.as_given([estimate.mean for estimate in shown.smoothed])
        self.state_means_ = means
        self.dt_, self.n_iter_ = fit.dt, fit.n_sweeps
        self.time_unit_ = fit.time_unit
        self.dynamics_, self.substeps_ = fit.dynamics, fit.substeps
        self.n_features_in_ = panel.n_columns
        drivers = fit.task.drivers
        self.lags_ = {d.source: d.steps for d in layout.delays}
        self.symmetry_ = found_symmetry(fit)
        self.seasons_ = {season.label: season.period for season in drivers.seasons}
        for name in ("feature_names_in_", "term_confidence_", "edge_confidence_"):
            vars(self).pop(name, None)
        if panel.names is not None:
            self.feature_names_in_ = np.asarray(panel.names, dtype=object)

    def _store_outcome(self, fit: Fit) -> None:
        self._fit = fit
        self.outcome_, self.advice_ = fit.outcome.name, fit.advice
        self.doubts_ = [doubt.text for doubt in fit.doubts]

    def _store_confidence(self, found: Found) -> Found:
        self.term_confidence_ = np.asarray(found.terms)
        self.edge_confidence_ = np.asarray(found.edges)
        return found

    def _edge_confidence(self) -> Float[np.ndarray, "Nx Nv"] | None:
        return getattr(self, "edge_confidence_", None)

    def _checked(self) -> Fit:
        check_is_fitted(self)
        return self._fit

    def _key(self, random_state: Any = None) -> PRNGKeyArray:
        seed = self.random_state if random_state is None else random_state
        try:
            drawn = check_random_state(seed)
        except ValueError as error:
            raise ValueError(
                "`random_state` must be a whole number from 0, None or a NumPy "
                f"RandomState, got {seed!r:.60}. 0 is usual."
            ) from error
        return jax.random.key(drawn.randint(2**31 - 1))


# `help` shows the parameters of `__init__`, not those of `__new__`.
_TAKEN = inspect.signature(GraphGrad.__init__)
GraphGrad.__signature__ = _TAKEN.replace(  # pyright: ignore
    parameters=list(_TAKEN.parameters.values())[1:]
)


def compare_fits(fits: Mapping[str, GraphGrad]) -> Comparison:
    """Compare fits to the same data.

    Args:
        fits: Fitted `GraphGrad` estimators by name.

    Raises:
        ValueError: If they were fitted to different data.

    Examples:
        >>> import graphgrad as gg, jax
        >>> system = gg.systems.lotka_volterra()
        >>> y = system.simulate(jax.random.key(0), steps=100).observations
        >>> free = gg.GraphGrad().fit(y)
        >>> apart = gg.only_edges([])
        >>> alone = gg.GraphGrad(constraints=[apart]).fit(y)
        >>> gg.compare_fits({"free": free, "alone": alone}).rows[0].name
        'free'
    """
    for fit in fits.values():
        check_is_fitted(fit)
    with jax.enable_x64(True):
        return compare_records({name: fit._fit for name, fit in fits.items()})
