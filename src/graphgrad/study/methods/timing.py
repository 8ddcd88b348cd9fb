"""Seconds of one fit, after compilation."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...solvers import adaptive
from ..draws import model_of
from ..plan import Cell, Draws, Results
from ..scores import keys_of
from .paper import solver_of


def timed(name: str) -> Callable[[Cell, Draws], Results]:
    """A method that fits one series after another, the first one twice to compile.

    The paper's solvers are timed in single precision, ours in double.
    """

    def method(cell: Cell, draws: Draws) -> Results:
        with jax.enable_x64(name == "adaptive"):
            model, keys = model_of(cell, draws), keys_of(name, draws.seeds)
            series = [jnp.asarray(ys) for ys in draws.observations]
            fit = _fit(name, cell)
            jax.block_until_ready(fit(model, keys[0], series[0]).coefficients)
            spent = []
            for key, ys in zip(keys, series, strict=True):
                begin = time.perf_counter()
                jax.block_until_ready(fit(model, key, ys).coefficients)
                spent.append(time.perf_counter() - begin)
        return {"seconds": np.array(spent)}

    return method


def _fit(name: str, cell: Cell) -> Callable[[Any, Any, Any], Any]:
    if name == "adaptive":
        return lambda model, key, ys: adaptive(key, ys, model)
    return solver_of(name, cell)


TIMED = {
    f"{name}-time": timed(name)
    for name in ("b-graphgrad", "b-graphgrad-fixed", "adaptive")
}
