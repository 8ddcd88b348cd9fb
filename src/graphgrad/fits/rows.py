"""Rows of the data: their schedule, initial means, and state estimates at them."""

from statistics import NormalDist
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import check_finite, check_series, check_shape
from ..data.layout import Layout
from ..data.scales import first_values
from ..data.series import Panel, is_regular, row_times
from ..model import Arranged, StateSpaceModel, arrange
from ..solvers.adaptive.padding import padded


def lay_rows(
    model: StateSpaceModel,
    panel: Panel,
    inputs: Panel | None,
    dt: float,
    means: Float[np.ndarray, "series Nx"],
    inputs_between: str = "held",
) -> Arranged:
    """The rows of the data with the model, which has a schedule if they need one.

    Args:
        model: The model of one step.
        panel: The data.
        inputs: Inputs, if any.
        dt: Length of a step.
        means: Mean of the state one step before each series.
        inputs_between: As for `arrange`.
    """
    values = [series.values for series in panel.series]
    times = [series.times for series in panel.series]
    for ys, clock in zip(values, times, strict=True):
        if clock is not None:
            remedy = "Give one time for each row."
            check_shape("times", clock.shape, (len(ys),), remedy)
    if len(values) == 1 and inputs is None and is_regular(times[0], dt):
        ys = check_series("y", values[0], n_columns=panel.n_columns, least=1)
        mean = jnp.asarray(means[0], model.initial_mean.dtype)
        model = eqx.tree_at(lambda m: m.initial_mean, model, mean)
        return Arranged(model, ys, (np.arange(len(ys)),))
    clocks = [row_times(series, dt) for series in panel.series]
    acting = None if inputs is None else [series.values for series in inputs.series]
    return arrange(
        model,
        values,
        times=clocks,
        dt=dt,
        inputs=acting,
        inputs_between=inputs_between,
        initial_means=means,
    )


def rounded_up(data: Arranged) -> tuple[StateSpaceModel, Float[Array, "N Ny"]]:
    """Model and data with rows at the end that change nothing: see `padded`.

    Data of other lengths then need no other compiled program. The rows of `data.rows`
    stay where they are.
    """
    ys, model = padded(np.asarray(data.ys, data.model.initial_mean.dtype), data.model)
    return model, ys


def first_means(
    initial: Any, layout: Layout, panel: Panel
) -> Float[np.ndarray, "series Nx"]:
    """Initial mean of each series: as given, or from the first observations."""
    copies, sources = layout.copies
    n = len(layout.present)
    if initial is None or isinstance(initial, str):
        if layout.matrix is None:
            raise ValueError(
                "`initial` must be given where `observation` is a function, got "
                f"{initial!r}. Give mean and covariance of the first state."
            )
        whole = np.concatenate([series.values for series in panel.series])
        observed = ~np.isnan(whole)
        typical = np.where(observed, whole, 0).sum(axis=0) / np.maximum(
            observed.sum(axis=0), 1
        )
        firsts = [first_values(series.values, typical) for series in panel.series]
        means = np.stack(firsts) @ np.linalg.pinv(layout.matrix).T
        means[:, copies] = means[:, sources]
        return means
    remedy = "Give `(mean, covariance)`, the mean with one number per state."
    if not (isinstance(initial, tuple | list) and len(initial) == 2):
        raise ValueError(
            f"`initial` must be a mean and a covariance, or 'learn', got {initial!r}. "
            f"{remedy}"
        )
    mean = check_finite("initial", initial[0], remedy)
    check_shape("initial", mean.shape, (n,), remedy)
    mean = np.concatenate([mean, mean[sources]])
    return np.broadcast_to(mean, (len(panel.series), len(layout.states)))


def check_even(layout: Layout, data: Arranged) -> Arranged:
    """The rows, if all of their steps are of length dt where states are delayed."""
    schedule = data.model.schedule
    if layout.copies[0] and schedule is not None:
        uneven = ~np.isclose(np.asarray(schedule.pace), 1.0, rtol=1e-4)
        if uneven.any():
            raise ValueError(
                "`lags` of states must be left out unless rows are whole steps of dt "
                f"apart, got a step of {float(schedule.pace[uneven.argmax()]):.3g} dt. "
                "Give the usual interval as `dt`, or rows at equal intervals with NaN "
                "where nothing was observed."
            )
    return data


class StateEstimate(NamedTuple):
    """Estimates of the states at some times, with their uncertainty.

    Attributes:
        mean: One row per time, one column per state.
        covariance: One matrix per time.

    Examples:
        >>> import numpy as np
        >>> estimate = StateEstimate(np.zeros((1, 1)), np.ones((1, 1, 1)))
        >>> estimate.band(0.9).round(2).tolist()
        [[[-1.64, 1.64]]]
    """

    mean: Float[np.ndarray, "T Nx"]
    covariance: Float[np.ndarray, "T Nx Nx"]

    def of_first(self, n: int) -> "StateEstimate":
        """The estimates of the first states."""
        return StateEstimate(self.mean[:, :n], self.covariance[:, :n, :n])

    def band(self, level: float = 0.9) -> Float[np.ndarray, "T Nx 2"]:
        """Lower and upper ends of the central interval of each state."""
        variances = np.einsum("tii->ti", self.covariance)
        return normal_band(self.mean, np.sqrt(np.maximum(variances, 0)), level)


def at_rows(
    data: Arranged,
    means: Float[np.ndarray, "steps Nx"],
    covariances: Float[np.ndarray, "steps Nx Nx"],
) -> list[StateEstimate]:
    """State estimates at the rows of each series."""
    return [StateEstimate(means[rows], covariances[rows]) for rows in data.rows]


def normal_band(
    mean: Float[np.ndarray, "*shape"], deviation: Float[np.ndarray, "*shape"], level
) -> Float[np.ndarray, "*shape 2"]:
    """Lower and upper ends of the central intervals of normal distributions."""
    reach = NormalDist().inv_cdf(0.5 + check_level(level) / 2) * deviation
    return np.stack([mean - reach, mean + reach], axis=-1)


def check_level(level: float) -> float:
    """A probability strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(
            f"`level` must be between 0 and 1, got {level}. 0.9 means 90 %."
        )
    return float(level)
