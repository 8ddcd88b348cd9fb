"""The estimator: it checks what it is given, stores what was found, and delegates."""

import sys
from typing import Any

import numpy as np

from ..checks import check_choice
from ..graph import adjacency
from ..model import knowledge
from .fitted import in_double
from .fitting import fit_solver, make_engine
from .frames import Panel, read_panel
from .layout import lay_out
from .prepare import prepare
from .progress import ProgressLine, kept
from .record import Fit, Task, input_names, read_inputs, record
from .reporting import AbstractReported
from .saving import AbstractSaved


class GraphGrad(AbstractReported, AbstractSaved):
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
        constraints: What is known, by `known`, `forbid`, `sign`, `only_edges`,
            `bounds`, `conserve` and `equal`, which call states by their names.
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
        >>> for line in model.equations(digits=1):
        ...     print(line)
        prey[t+1] = 1 prey - 0.003 prey predator
        predator[t+1] = 1 predator + 0.002 prey predator
    """

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
        form: Any = "map",
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
        self.form = form
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
            solution = fit_solver(
                key,
                task.prepared,
                solver=self.solver,
                engine=task.engine,
                penalty=self.penalty,
                selection=self.selection,
                n_particles=self.n_particles,
                form=self.form,
                constraints=self.constraints,
                states=task.layout.variables,
                callback=line.beside(callback),
            )
        self._store(record(task, solution, key=key, trace=tuple(trace)))
        return self

    def _task(self, panel: Panel, inputs: Panel | None) -> Task:
        """What goes into a fit to these data."""
        check_choice("form", self.form, ("map", "rate"))
        layout = lay_out(
            columns=panel.names,
            n_columns=panel.n_columns,
            inputs=input_names(inputs),
            states=self.states,
            observation=self.observation,
            library=self.library,
            degree=self.degree,
        )
        prepared = prepare(
            panel,
            inputs,
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
            form=self.form,
        )
        return Task(
            settings=self.get_params(deep=False),
            panel=panel,
            inputs=inputs,
            layout=layout,
            prepared=prepared,
            engine=make_engine(self.engine, self.n_particles, prepared.data.model),
            n_open=int(np.sum(told.open)),
            ties=told.ties,
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
        self.dt_, self.n_iter_ = fit.dt, fit.n_sweeps
        self.n_features_in_ = panel.n_columns
        for name in ("feature_names_in_", "term_confidence_", "edge_confidence_"):
            vars(self).pop(name, None)
        if panel.names is not None:
            self.feature_names_in_ = np.asarray(panel.names, dtype=object)
