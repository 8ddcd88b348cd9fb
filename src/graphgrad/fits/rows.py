"""The rows that a model is to explain: their schedule, and where series begin."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..checks import check_finite, check_series, check_shape
from ..data.layout import Layout
from ..data.scales import first_values
from ..data.series import Panel
from ..data.times import is_regular, row_times
from ..model import Arranged, StateSpaceModel, arrange


def lay_rows(
    model: StateSpaceModel,
    panel: Panel,
    inputs: Panel | None,
    dt: float,
    means: Float[np.ndarray, "series Nx"],
    inputs_between: str = "held",
) -> Arranged:
    """Rows that the model is to explain, with a schedule if they need one.

    Args:
        model: The model of one step.
        panel: The data.
        inputs: Their inputs.
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


def first_means(
    initial: Any, layout: Layout, panel: Panel
) -> Float[np.ndarray, "series Nx"]:
    """Where each series begins: as is given, or where it was first seen."""
    n = len(layout.states)
    if initial is None or isinstance(initial, str):
        if layout.matrix is None:
            raise ValueError(
                "`initial` must be given where `observation` is a function, got "
                f"{initial!r}. Give mean and covariance of the first state."
            )
        whole = np.concatenate([series.values for series in panel.series])
        seen = ~np.isnan(whole)
        typical = np.where(seen, whole, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        firsts = [first_values(series.values, typical) for series in panel.series]
        return np.stack(firsts) @ np.linalg.pinv(layout.matrix).T
    remedy = "Give `(mean, covariance)`, the mean with one number a state."
    if not (isinstance(initial, tuple | list) and len(initial) == 2):
        raise ValueError(
            f"`initial` must be a mean and a covariance, or 'learn', got {initial!r}. "
            f"{remedy}"
        )
    mean = check_finite("initial", initial[0], remedy)
    check_shape("initial", mean.shape, (n,), remedy)
    return np.broadcast_to(mean, (len(panel.series), n))
