"""Pictures of a fit."""

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import plots
from ..checks import check_at_least
from ..solution import PaperSolution
from ..solvers import AdaptiveProgress
from .fitted import in_double
from .record import Fit
from .telling import AbstractTold
from .using import AbstractUsed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AbstractDrawn(AbstractTold, AbstractUsed):
    """Pictures of a fit by `graphgrad.plots`; further options are passed on to it."""

    def plot_graph(self, ax: Any = None, **options: Any) -> "Axes":
        """Who acts on whom, as `graph` has it: `graphgrad.plots.plot_graph`."""
        return plots.plot_graph(self.graph(), ax=ax, **options)

    def plot_coefficients(self, ax: Any = None, **options: Any) -> "Axes":
        """The matrix of coefficients: `graphgrad.plots.plot_coefficients`."""
        return plots.plot_coefficients(*self._found(), ax=ax, **options)

    def plot_path(self, ax: Any = None, **options: Any) -> "Axes":
        """Coefficients as a term gets cheaper, with the price of the fit."""
        fit = self._checked()
        if isinstance(fit.solution, PaperSolution):
            raise ValueError(
                "`solver` must be 'adaptive' for `plot_path`, got 'paper', which has "
                "no path of prices. Fit with `solver='adaptive'`."
            )
        options.setdefault("chosen", fit.term_price)
        path, prices = fit.solution.path, fit.solution.prices
        return plots.plot_path(path, prices, *self._found()[1:], ax=ax, **options)

    def plot_states(
        self, ax: Any = None, *, series: int = 0, **options: Any
    ) -> "list[Axes]":
        """Smoothed states with 90 % bands over the data.

        Args:
            ax: As many axes as there are states.
            series: Which of several series.
            **options: Of `graphgrad.plots.plot_states`, such as `truth`.
        """
        fit = self._checked()
        number = _number(fit, series)
        estimate = fit.smoothed[number]
        spread = np.einsum("tii->ti", estimate.covariance)
        given = {
            "times": series_times(fit, number),
            "deviations": np.sqrt(np.maximum(spread, 0)),
            "data": seen_states(fit, number),
            "states": fit.layout.states,
        }
        return plots.plot_states(estimate.mean, ax=ax, **{**given, **options})

    @in_double
    def plot_residuals(
        self, ax: Any = None, *, series: int = 0, **options: Any
    ) -> "list[Axes]":
        """Standardised one-step residuals: over time, their law, their memory.

        Args:
            ax: Three axes.
            series: Which of several series.
            **options: Of `graphgrad.plots.plot_residuals`.
        """
        fit = self._checked()
        number = _number(fit, series)
        found = self.residuals()
        values = found[number] if isinstance(found, list) else found
        given = {"times": series_times(fit, number), "states": fit.columns}
        return plots.plot_residuals(values, ax=ax, **{**given, **options})

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
        fit = self._checked()
        future = options.pop("future_inputs", None)
        ahead = self.forecast(steps, members=members, future_inputs=future)
        draws = ahead.states.members
        alive = np.isfinite(draws).all(axis=(1, 2))
        if not alive.any():
            raise ValueError(
                f"`steps` must be few enough that members are left, got {steps}: all "
                f"diverged. {ahead.message}"
            )
        shown = max(2, min(3 * steps, len(fit.smoothed[0].mean)))
        when = series_times(fit, 0)
        given = {
            "times": when[-1] + fit.dt * np.arange(1, steps + 1),
            "history": fit.smoothed[0].mean[-shown:],
            "history_times": when[-shown:],
            "states": fit.layout.states,
        }
        return plots.plot_forecast(draws[alive], ax=ax, **{**given, **options})

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
        fit = self._checked()
        number = _number(fit, series)
        path, inputs = fit.smoothed[number].mean, fit.task.inputs
        acting = None if inputs is None else inputs.series[number].values[1:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a path that diverges ends in the picture
            alone = self.simulate(path[0], len(path) - 1, inputs=acting)
        given = {
            "data": seen_states(fit, number),
            "simulated": alone,
            "rate": rate_of(fit) if fit.dynamics == "flow" else None,
            "states": fit.layout.states,
        }
        return plots.plot_phase(path, ax=ax, **{**given, **options})

    def plot_convergence(self, ax: Any = None, **options: Any) -> "list[Axes]":
        """How the fit went: log-likelihood and number of terms.

        A fit by the adaptive solver that was loaded from a file has no record of it.
        """
        heights, counts, given = _course(self._checked())
        return plots.plot_convergence(heights, counts, ax=ax, **{**given, **options})


def _number(fit: Fit, series: Any) -> int:
    number = check_at_least("series", series, 0, "The first one is 0.")
    if number >= len(fit.panel.series):
        raise ValueError(
            f"`series` must be below the number of series, {len(fit.panel.series)}, "
            f"got {number}. The first one is 0."
        )
    return number


def series_times(fit: Fit, number: int) -> np.ndarray:
    """When the rows of a series were observed; multiples of dt if nothing says so."""
    series = fit.panel.series[number]
    if series.times is not None:
        return series.times
    return fit.dt * np.arange(len(series.values))


def rate_of(fit: Fit) -> Callable[[np.ndarray], np.ndarray]:
    """dx/dt of a flow, a function of states `(..., Nx)`, with inputs at their means."""
    driving = fit.task.inputs
    acting = np.zeros(0)
    if driving is not None:
        acting = np.mean(np.concatenate([s.values for s in driving.series]), axis=0)

    def rate(x: np.ndarray) -> np.ndarray:
        u = np.broadcast_to(acting, (*x.shape[:-1], len(acting)))
        with jax.enable_x64(True):
            variables = jnp.asarray(np.concatenate([x, u], axis=-1))
            there = np.asarray(fit.layout.library.defined(variables))
            found = np.asarray(fit.layout.library(variables)) @ fit.coefficients.T
        return np.where(there[..., None], found, np.nan)

    return rate


def seen_states(fit: Fit, number: int) -> np.ndarray:
    """Data in the columns of the states that they are of; NaN in the others."""
    values, states = fit.panel.series[number].values, fit.layout.states
    out = np.full((len(values), len(states)), np.nan)
    for j, name in enumerate(fit.seen):
        if name is not None:
            out[:, states.index(name)] = values[:, j]
    return out


def _course(fit: Fit) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Log-likelihoods, numbers of terms, and options of the picture."""
    solution = fit.solution
    if isinstance(solution, PaperSolution):
        heights = [np.asarray(part) for part in solution.log_likelihoods]
        terms = [np.count_nonzero(np.asarray(p), axis=(-2, -1)) for p in solution.path]
        counts = [
            np.repeat(number, part.shape[1])
            for number, part in zip(terms, heights, strict=True)
        ]
        flat = np.concatenate([part.ravel() for part in heights])
        return flat, np.concatenate(counts), {}
    told = [p for p in fit.trace if isinstance(p, AdaptiveProgress)]
    if not told:
        raise ValueError(
            "`plot_convergence` must be called on a fit that told how it went, got "
            "one from a file, or with `selection='held-out'`. Fit anew; until then "
            "`solution_.start_criteria` says how the starts ended."
        )
    # Sweeps are counted anew in each stage.
    steps = np.array([p.sweeps for p in told])
    begin = np.concatenate([[True], np.diff(steps) <= 0])
    begin[1:] |= [a.stage != b.stage for a, b in pairwise(told)]
    more = np.where(begin, steps, np.diff(steps, prepend=0))
    given = {"sweeps": np.cumsum(more), "stages": [p.stage for p in told]}
    heights = np.array([p.log_likelihood for p in told])
    return heights, np.array([p.n_nonzero for p in told]), given
