"""Methods of `GraphGrad`: smoothing, forecasts, simulation and their evaluation."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..data.clock import as_dates
from ..prediction.evaluation import Evaluation, evaluate
from ..prediction.forecast import SOURCES, Forecast, forecast, predict
from ..prediction.rollout import simulate
from ..prediction.states import fill, filtered, score, smooth
from ..resources import check_draws
from .double_precision import in_double
from .fitted import AbstractFitted


class AbstractPredictionMethods(AbstractFitted):
    """States and observations by a fit: smoothed, filled in, predicted, simulated."""

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

    def as_dates(self, times: Any, *, series: int = 0) -> np.ndarray:
        """Times of a fit or a forecast as dates, if the data had dates.

        Args:
            times: Times in the unit `time_unit_`, such as those of a forecast.
            series: Index of the series of the fit whose first row is at time zero.

        Returns:
            `datetime64[us]`; the times unchanged if the data had no dates.
        """
        return as_dates(times, self._checked().panel.series[series].clock)
