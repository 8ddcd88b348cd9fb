"""What a fitted model is for: states, forecasts, scores."""

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..checks import check_at_least, check_finite, check_shape
from .draws import SOURCES, Draws, forecast_from, rolling_origins
from .evaluation import Evaluation
from .fitted import AbstractFitted, in_double
from .forecast import Forecast, roll
from .frames import filled_in, read_panel
from .record import states_at
from .states import filtered_states, predictive_log_density, smoothed_states


class AbstractUsed(AbstractFitted):
    """What comes of data with a fitted model."""

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
        fit = self._checked()
        if at is not None:
            panel = fit.panel if y is None else fit.rows(y, times, inputs)[0]
            return states_at(self._key(), fit, panel, at)
        if y is None:
            return fit.panel.as_given(fit.smoothed)
        panel, data = fit.rows(y, times, inputs)
        return panel.as_given(smoothed_states(self._key(), fit.engine, data))

    @in_double
    def filter(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """States given the data so far; arguments and result as for `smooth`."""
        fit = self._checked()
        panel, data = fit.panel, fit.data
        if y is not None:
            panel, data = fit.rows(y, times, inputs)
        return panel.as_given(filtered_states(self._key(), fit.engine, data)[0])

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

    @in_double
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
        fit = self._checked()
        draws = Draws.of(
            self._key(random_state), fit, members=members, level=level, sources=sources
        )
        panel, data, estimates = fit.panel, fit.data, fit.smoothed
        if y is not None:
            panel, data = fit.rows(y, times, inputs)
            estimates = smoothed_states(self._key(), fit.engine, data)
        return forecast_from(
            draws, panel, data, estimates, steps, _plain(future_inputs), at
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
        names = list(fit.layout.states)
        remedy = f"Give one number for each of {names}."
        x0 = check_finite("x0", x0, remedy)
        check_shape("x0", x0.shape, (len(names),), remedy)
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
        fit = self._checked()
        key = self._key(random_state)
        draws = Draws.of(key, fit, members=members, level=level)
        return rolling_origins(
            self._key(), draws, y, times, inputs, horizon=horizon, origins=origins
        )


def _plain(inputs: Any) -> np.ndarray | None:
    if inputs is None:
        return None
    return read_panel(inputs, name="inputs").series[0].values
