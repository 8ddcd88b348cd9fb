"""The estimator `GraphGrad`: its settings, `fit`, `save` and `load`.

Its other methods are those of its base classes, in files of their own; each calls one
function of another module.
"""

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import jax

from ..model import refuse_form
from ..storage.saved_fits import CONFIDENCES, load_fit, save_fit
from .checkpoint import checkpointed
from .confidence_methods import AbstractConfidenceMethods
from .double_precision import in_double
from .equation_methods import AbstractEquationMethods
from .fitting import fit_data
from .output_methods import AbstractOutputMethods
from .prediction_methods import AbstractPredictionMethods

Self = TypeVar("Self", bound="GraphGrad")


class GraphGrad(
    AbstractEquationMethods,
    AbstractPredictionMethods,
    AbstractConfidenceMethods,
    AbstractOutputMethods,
):
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


# `help` shows the parameters of `__init__`, not those of `__new__`.
_TAKEN = inspect.signature(GraphGrad.__init__)
GraphGrad.__signature__ = _TAKEN.replace(  # pyright: ignore
    parameters=list(_TAKEN.parameters.values())[1:]
)
