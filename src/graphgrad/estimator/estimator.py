"""The estimator: one class whose methods call the plain functions that do the work."""

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
from ..confidence import Posterior, Stability
from ..deprecation import renamed
from ..diagnostics.comparison import Comparison, compare_records
from ..diagnostics.residuals import fit_residuals, residual_verdicts
from ..diagnostics.term_confidence import fit_posterior, fit_stability
from ..fits.record import Fit
from ..fits.rows import normal_band
from ..graph import adjacency
from ..model import refuse_form
from ..prediction.evaluation import Evaluation, evaluate
from ..prediction.forecast import SOURCES, Forecast, forecast
from ..prediction.rollout import simulate
from ..prediction.states import fill, filtered, score, smooth
from ..report import write_report
from ..storage.saved_fits import CONFIDENCES, load_fit, save_fit
from . import figures
from .equations import (
    fit_equations,
    fit_graph,
    fit_latex,
    fit_numpy_function,
    fit_numpy_source,
    fit_sympy,
)
from .fitting import fit_data
from .report import fit_findings
from .summary import fit_summary

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
    """In double precision; the caller's setting stays as it is."""

    @wraps(method)
    def call(self: Self, *args: P.args, **kwargs: P.kwargs) -> T:
        with jax.enable_x64(True):
            return method(self, *args, **kwargs)

    return call


class GraphGrad(BaseEstimator):
    """Which quantities act on which, and by what equations, from noisy time series.

    A hidden state moves by dx/dt = A phi(x), or from row to row by x[t+1] = C phi(x),
    with process noise, and is seen through measurement noise. `fit` finds the terms phi
    that matter, their coefficients and the noises. It follows the conventions of
    scikit-learn, and computes in double precision.

    Args:
        degree: Highest degree of the monomials that may appear.
        dt: Usual interval between rows. If None, the median interval between the
            times, or 1 without times.
        library: The terms that may appear, in place of monomials.
        observation: What is seen: None for all states, a list of the states that the
            columns are, a matrix, or a differentiable function of the state.
        states: Names of the states; more of them than columns are hidden states. The
            names of the columns, or x1, x2, ..., if None.
        state_noise: Variance, variances, covariance or distribution of the process
            noise, or `"learn"`: of a step of a map or difference, of a unit of time for
            a flow, which may have none, 0.
        observation_noise: The same of the measurement noise of an observation.
        initial: Mean and covariance of the state one step before a series, or
            `"learn"`; if None, near the first observation.
        solver: `"adaptive"`; or an algorithm of the paper, for maps with known noises:
            `"s-graphgrad"`, `"b-graphgrad"`, which is also `"paper"`, or `"pmle"`.
        engine: `"auto"`, `"gaussian"`, `"particle"`, `"ensemble"`, or an engine.
        penalty: Of a term: a multiple of the criterion's for the adaptive solver; the
            weight of L1, a name or a penalty for the paper's. 1 if None.
        selection: `"ebic"` takes terms by the extended BIC; `"held-out"` also chooses
            the penalty, by predictions of the end of the series.
        n_particles: Number of particles or members of an engine that has them.
        dynamics: `"flow"`: dx/dt = A phi(x), followed over each interval as it is;
            `"map"`: x[t+1] = C phi(x), as in the paper; `"difference"`: x[t+1] - x[t] =
            A phi(x). `"auto"`: the flow where `dt` or times are given, the map where
            rows only say in which order, and where intervals turn out to be too long
            for a flow and a map explains the data better.
        inputs_between: What inputs of a flow do between two rows: `"held"`, row t acts
            from the row before on, or `"linear"`, a straight line between rows.
        constraints: What is known, by `known`, `forbid`, `sign`, `only_edges`,
            `bounds`, `conserve`, `equal` and `velocity`, which call states by their
            names; numbers are coefficients of the dynamics, rates for a flow.
        callback: Called with the solver's progress.
        random_state: Seed of all draws: of the fit, and of forecasts unless they are
            given their own.

    Attributes:
        coef_: Coefficients, of shape `(Nx, M)`, with exact zeros: A of a flow, in units
            per time, or of a difference, C of a map.
        dynamics_: Which of the three they are.
        terms_: Names of the M terms.
        degrees_: The paper's D: powers of each state in each term.
        state_names_: Names of the states.
        adjacency_: `(Nx, Nx)` truth values; `[a, b]` says that b acts on a.
        standard_errors_: Of the coefficients; zero where nothing was estimated.
        state_noise_: Variances of the process noise of a step, or of a unit of time
            for a flow; zeros where a flow needs none.
        observation_noise_: Variances of the noise of an observation; ones for a
            distribution without a scale.
        log_likelihood_: Of the data.
        outcome_: How the fit ended; look at it before you trust the rest.
        advice_: What that means and what to do about it.
        state_means_: Smoothed means at the times of the rows; a list for several
            series.
        substeps_: Runge-Kutta steps that a flow takes in an interval.
        solution_: All that the solver found.
        model_: The state-space model with what was found, of one step.
        dt_: Usual interval between rows.
        term_confidence_: How sure each term is, after `stability` or `posterior`.
        edge_confidence_: How sure each edge is, likewise.
        n_iter_: Smoother passes of the slowest start, or gradient steps.
        n_features_in_: Number of columns.
        feature_names_in_: Their names, if they have any.

    Examples:
        >>> import graphgrad as gg, jax
        >>> system = gg.systems.lotka_volterra()
        >>> y = system.simulate(jax.random.key(0), steps=100).observations
        >>> model = gg.GraphGrad(degree=2, dt=0.03, states=["prey", "predator"])
        >>> model.fit(y).outcome_
        'converged'
        >>> for line in model.equations(digits=2):
        ...     print(line)
        dprey/dt = 1 prey - 0.1 prey predator
        dpredator/dt = -1.5 predator + 0.075 prey predator
    """

    def __new__(cls, *_: Any, form: Any = None, **__: Any) -> "GraphGrad":
        """Refuse the former name of `dynamics`; no logic belongs into `__init__`."""
        refuse_form(form)
        return super().__new__(cls)

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
        solver: Any = "adaptive",
        engine: Any = "auto",
        penalty: Any = None,
        selection: Any = "ebic",
        n_particles: Any = None,
        dynamics: Any = "auto",
        inputs_between: Any = "held",
        constraints: Any = (),
        callback: Any = None,
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
        self.dynamics = dynamics
        self.inputs_between = inputs_between
        self.constraints = constraints
        self.callback = callback
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags

    @in_double
    def fit(self, y: Any, times: Any = None, inputs: Any = None) -> "GraphGrad":
        """Find the equations.

        Args:
            y: Observations: a `(T, Ny)` array, a pandas or polars frame, or a list of
                any of these. NaN or null says not observed. Columns of a frame name
                the states; a column `t`, or `time` in any case, says when rows were
                observed.
            times: When the rows were observed, if no column says so.
            inputs: What drives the states from outside, one row for each of `y`: row t
                acts from the row before to row t.
        """
        settings = self.get_params(deep=False)
        self._store(fit_data(self._key(), settings, y, times, inputs))
        return self

    @property
    def states_(self) -> Any:
        """The old name of `state_means_`."""
        renamed("GraphGrad.states_", "GraphGrad.state_means_", until="0.3.0")
        return self.state_means_

    @in_double
    def smooth(
        self, y: Any = None, times: Any = None, inputs: Any = None, *, at: Any = None
    ) -> Any:
        """States given all of the data, at their rows or, of a flow, at other times.

        Args:
            y: Other data than those of the fit, as for `fit`.
            times: As for `fit`.
            inputs: As for `fit`.
            at: Times between the rows of one series, or beyond them, where the states
                of a flow are wanted in place of those at the rows.

        Returns:
            A `StateEstimate` with `mean`, `covariance` and `band(level)`, one row for
            each row of the data; a list of them for a list of series.
        """
        return smooth(self._key(), self._checked(), y, times, inputs, at=at)

    @in_double
    def filter(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """States given the data so far; arguments and result as for `smooth`."""
        return filtered(self._key(), self._checked(), y, times, inputs)

    @in_double
    def fill(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """The data with what was not observed filled in by smoothing.

        Args:
            y: As for `smooth`.
            times: As for `fit`.
            inputs: As for `fit`.

        Returns:
            The data as they were given: a frame if they were one.
        """
        return fill(self._key(), self._checked(), y, times, inputs)

    @in_double
    def score(self, y: Any, times: Any = None, inputs: Any = None) -> float:
        """Mean log-density of an observed entry given what came before it.

        The first row of each series is not scored, unless `initial` is given: it says
        where the series begins.

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
        """What comes after a series, as an ensemble.

        Args:
            steps: How many steps of dt.
            y: The series to go on from; that of the fit if None.
            members: Number of draws.
            level: Probability of the bands.
            times: Of `y`, as for `fit`.
            inputs: Of `y`, as for `fit`.
            future_inputs: Inputs of the steps to come, one row each.
            at: Times after the last row to forecast, of a flow, in place of `steps`.
            sources: What is not known: `"noise"` of states and observations, the
                `"coefficients"`, the last `"state"`.
            random_state: Seed; the estimator's own if None.
        """
        return forecast(
            self._key(random_state),
            self._checked(),
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
    def simulate(
        self,
        x0: Any,
        steps: int = 100,
        noise: bool = False,
        random_state: Any = None,
        *,
        inputs: Any = None,
    ) -> Float[np.ndarray, "steps_plus_1 Nx"]:
        """A trajectory of the equations found, NaN from where it diverges.

        Args:
            x0: Where it begins, one number a state.
            steps: How many steps of dt.
            noise: Whether the states move with the noise that was found.
            random_state: Seed; the estimator's own if None.
            inputs: Inputs during each step, one row each.

        Returns:
            States x_0..x_T.
        """
        key, fit = self._key(random_state), self._checked()
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
        """One line a state: how it moves, by the terms found.

        The left side says which dynamics the fit is of, `dynamics_`: dx/dt, x[t+1] or
        x[t+1] - x[t].

        Args:
            digits: Significant digits. If None, each coefficient ends where the second
                digit of its standard error does.
            align: Whether a term stands in the same column in all lines.
            form: No longer; the constructor's `dynamics` took its place.
        """
        return fit_equations(self._checked(), digits, align=align, form=form)

    def latex(self, digits: int | None = None, *, form: Any = None) -> list[str]:
        """One line of LaTeX a state; arguments as for `equations`."""
        return fit_latex(self._checked(), digits, form=form)

    def sympy(
        self, digits: int | None = None, *, form: Any = None
    ) -> "list[sympy.Expr]":
        """One SymPy expression a state, whose symbols are the states and inputs.

        It is the right side of the equation: the rate of a flow, the next value of a
        map, the change of a difference.

        Args:
            digits: Significant digits; all if None.
            form: No longer; the constructor's `dynamics` took its place.
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
        """A NumPy function of states `(..., Nx)`, and inputs if there are any.

        Of a flow it is `rate(t, x)`, as SciPy's `solve_ivp` wants it; of a map or a
        difference `step(x)`, the next states.

        Args:
            digits: Significant digits; all if None.
            step: For a flow, a length of time: gives the step over it in place of the
                rate, with inputs held.
            substeps: Runge-Kutta steps that it is made of. If None, as fine as those
                of the fit.
            form: No longer; the constructor's `dynamics` took its place.
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
        """Python source of `numpy_function`, which needs NumPy alone."""
        how = {"step": step, "substeps": substeps, "form": form}
        return fit_numpy_source(self._checked(), digits, **how)

    def graph(self) -> "nx.DiGraph":
        """The directed graph of interactions.

        An edge has the names of its `terms`, their `coefficients`, its `strength` (its
        share in how the target moves, over the smoothed states of the longest series
        with equal steps) and, after `stability` or `posterior`, a `confidence`.
        """
        return fit_graph(self._checked(), self._edge_confidence())

    @in_double
    def summary(self) -> str:
        """What acts on what, how sure that is, how the fit ended and what to do.

        Examples:
            >>> import graphgrad as gg, jax
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> print(model.summary())
            2 states from 100 rows, in steps of 0.03: a flow, dx/dt = A phi(x).
            4 of 12 possible terms are there.
            ...
            Outcome: converged. The likelihood is at its top on the terms found, and ...
            <BLANKLINE>
            dprey/dt =  1.0... prey             - 0.10... prey fox
            dfox/dt  =             - 1.5... fox + 0.07... prey fox
            <BLANKLINE>
            prey acts on itself through prey and prey fox, ... standard errors from 0.
            prey acts on fox through prey fox, ... standard errors from 0.
            fox acts on prey through prey fox, ... standard errors from 0.
            fox acts on itself through fox and prey fox, ... standard errors from 0.
            <BLANKLINE>
            Residuals of prey: as it should be: no memory, normal, as large as expected.
            Residuals of fox: as it should be: no memory, normal, as large as expected.
        """
        return fit_summary(self._key(), self._checked(), self._edge_confidence())

    @in_double
    def report(
        self, path: str | Path, *, title: str | None = None, forecast: int = 50
    ) -> None:
        """Write one HTML file about the fit that opens offline.

        It has what was found in words, the equations, a graph to explore, the states
        over the data, the regularisation path, residuals, a forecast, and the settings.

        How sure a term is comes from `stability` or `posterior`, if one of them was
        called; else from how far its coefficient is from zero, against the
        penalty that the criterion puts on a term.

        Args:
            path: The file. One that is there is replaced.
            title: Heading of the page.
            forecast: How many steps to look ahead; 0 for none. There is none either
                for several series, or with inputs, whose future is not known.

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
        found = fit_findings(
            self._key(),
            self._checked(),
            title=title,
            steps=forecast,
            term_confidence=getattr(self, "term_confidence_", None),
            edge_confidence=self._edge_confidence(),
        )
        write_report(path, found)

    def confidence_intervals(self, level: float = 0.9) -> Float[np.ndarray, "Nx M 2"]:
        """Lower and upper ends for each coefficient, given the terms that were found.

        Args:
            level: Probability that an interval covers its coefficient.
        """
        fit = self._checked()
        return normal_band(fit.coefficients, fit.standard_errors, level)

    @in_double
    def residuals(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """Standardised one-step residuals, one row for each row of the data.

        An observation less its prediction from the rows before, over the deviation of
        that prediction. A right model leaves them standard normal and uncorrelated. NaN
        where nothing was observed, and in the first row of a series unless `initial`
        is given.

        Args:
            y: Other data than those of the fit, as for `fit`.
            times: As for `fit`.
            inputs: As for `fit`.
        """
        return fit_residuals(self._key(), self._checked(), y, times, inputs)

    @in_double
    def check_residuals(
        self, y: Any = None, times: Any = None, inputs: Any = None
    ) -> list[str]:
        """What the residuals say, in words, a line for each column.

        Whether they are uncorrelated, normal (where the noises are) and as large as the
        model says. Each of the three is wrong about a right model once or twice in a
        hundred.

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
        """How often each term and each edge comes out on resampled blocks of the data.

        For one series with equal steps and the adaptive solver. `graph`, `summary` and
        the plots show it from then on.

        Args:
            refits: Number of refits.
            block: Rows of a block; a fifth of the series, at most 50, if None.
            random_state: Seed; the estimator's own if None.
        """
        key, fit = self._key(random_state), self._checked()
        return self._trust(fit_stability(key, fit, refits=refits, block=block))

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

        For one series with equal steps, independent Gaussian state noise and the
        adaptive solver. `graph`, `summary` and the plots show it from then on.

        Args:
            draws: Number of draws.
            warm_up: Number of draws before these that are not kept.
            random_state: Seed; the estimator's own if None.
            num_particles: Number of particles.
        """
        found = fit_posterior(
            self._key(random_state),
            self._checked(),
            draws=draws,
            warm_up=warm_up,
            num_particles=num_particles,
        )
        return self._trust(found)

    def plot_graph(self, ax: Any = None, **options: Any) -> "Axes":
        """The directed graph, as `graph` has it: `graphgrad.plots.plot_graph`."""
        return plots.plot_graph(self.graph(), ax=ax, **options)

    def plot_coefficients(self, ax: Any = None, **options: Any) -> "Axes":
        """The matrix of coefficients: `graphgrad.plots.plot_coefficients`."""
        return figures.coefficients(self._checked(), ax, **options)

    def plot_path(self, ax: Any = None, **options: Any) -> "Axes":
        """The regularisation path, with the penalty of the fit."""
        return figures.path(self._checked(), ax, **options)

    def plot_states(
        self, ax: Any = None, *, series: int = 0, **options: Any
    ) -> "list[Axes]":
        """Smoothed states with 90 % bands over the data.

        Args:
            ax: As many axes as there are states.
            series: Which of several series.
            **options: Of `graphgrad.plots.plot_states`, such as `truth`.
        """
        return figures.states(self._checked(), ax, series=series, **options)

    @in_double
    def plot_residuals(
        self, ax: Any = None, *, series: int = 0, **options: Any
    ) -> "list[Axes]":
        """Standardised one-step residuals: over time, distribution, autocorrelation.

        Args:
            ax: Three axes.
            series: Which of several series.
            **options: Of `graphgrad.plots.plot_residuals`.
        """
        key, fit = self._key(), self._checked()
        return figures.residuals(key, fit, ax, series=series, **options)

    @in_double
    def plot_forecast(
        self, steps: int = 100, ax: Any = None, *, members: int = 200, **options: Any
    ) -> "list[Axes]":
        """What comes after the series of the fit, as fans.

        Members that diverge are left out; `forecast` warns of them.

        Args:
            steps: How many steps of dt.
            ax: As many axes as there are states.
            members: Number of draws.
            **options: Of `graphgrad.plots.plot_forecast`, such as `truth`; for a model
                with inputs also the `future_inputs`.
        """
        key, fit = self._key(), self._checked()
        return figures.forecasts(key, fit, steps, ax, members=members, **options)

    @in_double
    def plot_phase(self, ax: Any = None, *, series: int = 0, **options: Any) -> "Axes":
        """One state against another: data, smoothed states, the equations on their own.

        Of a flow it has the vector field, too.

        Args:
            ax: Axes to draw on.
            series: Which of several series.
            **options: Of `graphgrad.plots.plot_phase`, such as `pair`; `rate=None`
                leaves the vector field out.
        """
        key, fit = self._key(), self._checked()
        return figures.phase(key, fit, ax, series=series, **options)

    def plot_convergence(self, ax: Any = None, **options: Any) -> "list[Axes]":
        """How the fit went: log-likelihood and number of terms.

        A fit by the adaptive solver that was loaded from a file has no record of it.
        """
        return figures.convergence(self._checked(), ax, **options)

    @in_double
    def save(self, path: str | Path, *, leave_out: Iterable[str] = ()) -> None:
        """Write the fit with its data, without pickle; `load` reads it.

        Args:
            path: A file, if it ends in `.zip`; any other name is a folder.
            leave_out: Names of parameters that a file cannot hold, such as an
                `observation` that is a function; they are given to `load` again.
                A callback is always left out.

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
        """A fit that `save` wrote; it gives the same results to the last bit.

        Data that were a frame come back as an array with names, so that `fill` gives
        an array.

        Args:
            path: A file or a folder.
            **left_out: The parameters that `save` left out.

        Raises:
            FileNotFoundError: There is nothing at the path.
            ValueError: What is there is damaged, not ours, or newer than this version;
                or parameters that were left out are not given.
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
        means = panel.as_given([estimate.mean for estimate in fit.smoothed])
        self.state_means_ = means
        self.dt_, self.n_iter_ = fit.dt, fit.n_sweeps
        self.dynamics_, self.substeps_ = fit.dynamics, fit.substeps
        self.n_features_in_ = panel.n_columns
        for name in ("feature_names_in_", "term_confidence_", "edge_confidence_"):
            vars(self).pop(name, None)
        if panel.names is not None:
            self.feature_names_in_ = np.asarray(panel.names, dtype=object)

    def _trust(self, found: Found) -> Found:
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
        return jax.random.key(check_random_state(seed).randint(2**31 - 1))


# What `help` shows is what `__init__` takes.
_TAKEN = inspect.signature(GraphGrad.__init__)
GraphGrad.__signature__ = _TAKEN.replace(  # pyright: ignore
    parameters=list(_TAKEN.parameters.values())[1:]
)


def compare_fits(fits: Mapping[str, GraphGrad]) -> Comparison:
    """Compare fits to the same data.

    Args:
        fits: From a name to a fitted `GraphGrad`.

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
