"""The door for observations."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..checks import check_series
from .state_space import StateSpaceModel


def checked_series(
    ys: Any, model: StateSpaceModel, *, least: int = 1
) -> Float[Array | np.ndarray, "T Ny"]:
    """Observations in the model's precision, checked unless they are being traced.

    Args:
        ys: Array or data frame, one row a time step.
        model: The model that is to explain them.
        least: Number of rows that there must be.
    """
    if not isinstance(ys, Tracer):
        seen = jax.eval_shape(model.observation.mean, model.initial_mean).shape[-1]
        ys = check_series("ys", ys, n_columns=seen, least=least)
    # Left to NumPy until it meets a compiled function: each step outside of one costs
    # a compilation of its own.
    return ys.astype(model.initial_mean.dtype)
