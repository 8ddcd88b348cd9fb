"""Checks of observations against a model, and missing values."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float

from ..checks import check_series, check_shape
from ..compiling import compiled
from .distributions import AbstractIndependentNoise
from .state_space import StateSpaceModel


def checked_series(
    ys: Any, model: StateSpaceModel, *, least: int = 1
) -> Float[Array | np.ndarray, "T Ny"]:
    """Observations in the model's precision, checked unless they are traced.

    Args:
        ys: Array or data frame, one row per time step.
        model: The model of the observations.
        least: Minimum number of rows.
    """
    if not isinstance(ys, Tracer):
        observed = jax.eval_shape(model.observation.mean, model.initial_mean).shape[-1]
        ys = check_series("ys", ys, n_columns=observed, least=least)
        noise = model.observation.noise
        if isinstance(noise, AbstractIndependentNoise):
            values = np.where(np.isnan(ys), 0, ys)
            if (rule := noise.fault(values)) is not None:
                raise ValueError(
                    f"`ys` must {rule}, for {type(noise).__name__} noise, got values "
                    f"from {np.nanmin(ys):g} to {np.nanmax(ys):g}. Give unscaled "
                    "counts, or another `observation_noise`."
                )
    if model.schedule is not None:
        check_shape(
            "ys",
            ys.shape,
            (*model.schedule.pace.shape, ys.shape[1]),
            "Give the rows that `arrange` made with the model.",
        )
    # NumPy until a compiled function is reached: each JAX operation outside of one
    # costs a compilation of its own.
    return ys.astype(model.initial_mean.dtype)


def whole_series(
    ys: Any, model: StateSpaceModel, who: str, *, least: int
) -> Float[Array | np.ndarray, "T Ny"]:
    """Observations for a method that needs one series with equal steps.

    Args:
        ys: As for `checked_series`.
        model: As for `checked_series`.
        who: Name of the method, for the message.
        least: Minimum number of rows.
    """
    if model.schedule is not None:
        raise ValueError(
            f"`model` must be of one series with equal steps for {who}, got one with a "
            "schedule. Use `adaptive`."
        )
    return checked_series(ys, model, least=least)


def filled(ys: Float[Array, "T Ny"]) -> Float[Array, "T Ny"]:
    """Observations with gaps interpolated linearly, and constant at both ends.

    Examples:
        >>> import jax.numpy as jnp
        >>> nan = jnp.nan
        >>> filled(jnp.array([[nan], [1.0], [nan], [3.0], [nan]])).ravel().tolist()
        [1.0, 1.0, 2.0, 3.0, 3.0]
    """
    before, after = _neighbours(ys)
    times = jnp.arange(len(ys))[:, None]
    left, right = (jnp.take_along_axis(ys, at, axis=0) for at in (before, after))
    share = (times - before) / jnp.maximum(after - before, 1)
    return left + share * (right - left)


@compiled
def in_long_gaps(
    ys: Float[Array, "T Ny"], times: Float[Array, "T"], most: float
) -> Bool[Array, "T"]:
    """Rows with a missing entry between observations more than `most` apart.

    Examples:
        >>> import jax.numpy as jnp
        >>> ys = jnp.array([[1.0], [jnp.nan], [2.0], [jnp.nan], [jnp.nan], [3.0]])
        >>> in_long_gaps(ys, jnp.arange(6.0), 2.5).tolist()
        [False, False, False, True, True, False]
    """
    before, after = _neighbours(ys)
    return jnp.any(jnp.isnan(ys) & (times[after] - times[before] > most), axis=1)


def _neighbours(ys: Array) -> tuple[Array, Array]:
    """Rows of the last and next observation at each entry; its own if observed."""
    observed, steps = ~jnp.isnan(ys), len(ys)
    times = jnp.broadcast_to(jnp.arange(steps)[:, None], ys.shape)
    before = jax.lax.cummax(jnp.where(observed, times, -1))
    after = jax.lax.cummin(jnp.where(observed, times, steps), reverse=True)
    before = jnp.where(before < 0, after, before)
    return before, jnp.where(after >= steps, before, after)
