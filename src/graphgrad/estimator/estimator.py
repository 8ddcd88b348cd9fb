"""The estimator: it checks what it is given, stores what was found, and delegates."""

import inspect
import sys
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from ..graph import adjacency
from ..model import refuse_form, resolve_constraints
from ..model.constraints import Velocity
from ..solution import Outcome, PaperSolution, Solution
from .fitted import in_double
from .fitting import explains_better, fit_solver, make_engine, said_plainly
from .frames import Panel, read_panel
from .layout import lay_out
from .prepare import choose_dynamics, prepare
from .progress import ProgressLine, kept
from .record import Fit, Task, input_names, read_inputs, record
from .reporting import AbstractReported
from .saving import AbstractSaved


class GraphGrad(AbstractReported, AbstractSaved):
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
        state_noise: Variance, variances, covariance or law of the process noise, or
            `"learn"`: of a step of a map or difference, of a unit of time for a flow,
            which may have none, 0.
        observation_noise: The same of the measurement noise of an observation.
        initial: Mean and covariance of the state one step before a series, or
            `"learn"`; if None, near the first observation.
        solver: `"adaptive"` or `"paper"`, which is B-GraphGrad.
        engine: `"auto"`, `"gaussian"`, `"particle"`, `"ensemble"`, or an engine.
        penalty: How dear a term is: relative to the criterion for the adaptive solver;
            the weight of L1, a name or a penalty for the paper's. 1 if None.
        selection: `"ebic"` takes terms by the extended BIC; `"held-out"` also chooses
            how dear they are, by predictions of the end of the series.
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
        observation_noise_: Variances of the noise of an observation; ones for a law
            without a scale.
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
        n_iter_: Sweeps of the slowest start, or gradient steps.
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
                the states; a column `t` or `time` says when rows were observed.
            times: When the rows were observed, if no column says so.
            inputs: What drives the states from outside, one row for each of `y`: row t
                acts from the row before to row t.
        """
        panel = read_panel(y, times)
        task = self._task(panel, read_inputs(inputs, panel))
        key, trace = self._key(), []
        # The paper's solver keeps its own record, and runs in one piece if it may.
        callback = self.callback
        if self.solver == "adaptive":
            callback = kept(callback, trace)
        with ProgressLine(sys.stderr) as line:
            solution = self._solve(key, task, line.beside(callback))
            too_long = solution.outcome is Outcome.interval_too_long
            if too_long and self.dynamics == "auto" and self._says_no_rates():
                # An alternating series, say, is no flow.
                mapped = self._task(panel, task.inputs, "map")
                other = self._solve(key, mapped, line.beside(callback))
                if explains_better(other, solution, task.price):
                    task, solution = mapped, said_plainly(other, mapped.prepared)
        self._store(record(task, solution, key=key, trace=tuple(trace)))
        return self

    def _says_no_rates(self) -> bool:
        """Whether nothing that was given is meant for a flow alone."""
        learns = isinstance(self.state_noise, str)
        return learns and not self.constraints and self.inputs_between == "held"

    def _solve(
        self, key: PRNGKeyArray, task: Task, callback: Any
    ) -> Solution | PaperSolution:
        return fit_solver(
            key,
            task.prepared,
            solver=self.solver,
            engine=task.engine,
            penalty=self.penalty,
            selection=self.selection,
            n_particles=self.n_particles,
            constraints=self.constraints,
            states=task.layout.variables,
            callback=callback,
        )

    def _task(
        self, panel: Panel, inputs: Panel | None, dynamics: str | None = None
    ) -> Task:
        """What goes into a fit to these data, with other dynamics than asked for."""
        asked = self.dynamics if dynamics is None else dynamics
        dynamics = choose_dynamics(asked, panel, self.dt, self.solver)
        velocities = [c for c in self.constraints if isinstance(c, Velocity)]
        layout = lay_out(
            columns=panel.names,
            n_columns=panel.n_columns,
            inputs=input_names(inputs),
            states=self.states,
            observation=self.observation,
            library=self.library,
            degree=self.degree,
            velocities=[constraint.velocity for constraint in velocities],
        )
        prepared = prepare(
            panel,
            inputs,
            layout,
            dt=self.dt,
            dynamics=dynamics,
            inputs_between=self.inputs_between,
            state_noise=self.state_noise,
            observation_noise=self.observation_noise,
            initial=self.initial,
            velocities=velocities,
        )
        told = resolve_constraints(
            self.constraints,
            layout.library,
            layout.variables,
            n_inputs=len(layout.inputs),
            dynamics=dynamics,
        )
        return Task(
            settings=self.get_params(deep=False),
            panel=panel,
            inputs=inputs,
            layout=layout,
            prepared=prepared,
            engine=make_engine(self.engine, self.n_particles, prepared.data.model),
            n_open=int(np.sum(told.free)),
            ties=told.linear_map,
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
        means = panel.as_given([estimate.mean for estimate in fit.smoothed])
        self.state_means_ = means
        self.dt_, self.n_iter_ = fit.dt, fit.n_sweeps
        self.dynamics_, self.substeps_ = fit.dynamics, fit.substeps
        self.n_features_in_ = panel.n_columns
        for name in ("feature_names_in_", "term_confidence_", "edge_confidence_"):
            vars(self).pop(name, None)
        if panel.names is not None:
            self.feature_names_in_ = np.asarray(panel.names, dtype=object)


# What `help` shows is what `__init__` takes.
_TAKEN = inspect.signature(GraphGrad.__init__)
GraphGrad.__signature__ = _TAKEN.replace(  # pyright: ignore
    parameters=list(_TAKEN.parameters.values())[1:]
)
