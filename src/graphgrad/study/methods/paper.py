"""The paper's solvers as printed, in single precision, as in the paper.

NovoGrad at 0.001, 100 particles, bootstrap proposal, start from U(-1, 1). The settings
of a cell give what the paper leaves open: `weight`, the penalty lambda, and `steps`,
the S steps per batch.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...compiling import compiled
from ...model import StateSpaceModel
from ...penalties import L1
from ...solution import Outcome
from ...solvers import FixedNumber, GradientSteps, Telescoping, b_graphgrad, pmle
from ..draws import model_of
from ..plan import Cell, Draws, Results
from ..scores import keys_of, scored

WEIGHT = 1.0
STEPS = 100
INCREMENT = 10

SOLVERS: dict[str, dict[str, Any]] = {
    "b-graphgrad": {},
    "subgradient": {"update": "subgradient"},
    "s-graphgrad": {"batching": FixedNumber(1)},
    "pmle": {"solver": pmle},
    "b-graphgrad-fixed": {"batching": FixedNumber(5)},
}


def solver_of(name: str, cell: Cell) -> Callable[[StateSpaceModel, Any, Any], Any]:
    """A function of model, key and series; the same object for the same settings."""
    settings = cell.settings
    return _solver(name, settings.get("weight", WEIGHT), settings.get("steps", STEPS))


@cache
def _solver(name: str, weight: float, steps: int):
    given = SOLVERS[name]
    settings = GradientSteps(steps, update=given.get("update", "prox"))
    solver = given.get("solver", b_graphgrad)
    batching = given.get("batching", Telescoping(INCREMENT))

    def fit(model, key, ys):
        return solver(key, ys, model, L1(weight), settings=settings, batching=batching)

    return fit


@cache
def _fit(name: str, weight: float, steps: int) -> Any:
    solver = _solver(name, weight, steps)

    def fit(model, key, ys):
        found = solver(model, key, ys)
        skipped = jnp.concatenate(found.skipped)
        return found.coefficients, found.code, skipped[-1] / steps

    return compiled(jax.vmap(fit, in_axes=(None, 0, 0)))


def graphgrad(name: str) -> Callable[[Cell, Draws], Results]:
    """One of `SOLVERS` as a method.

    `completed` and `degenerate` are outcomes; `skipped` is the share of steps on the
    last batch whose likelihood or gradient was not finite.
    """

    def method(cell: Cell, draws: Draws) -> Results:
        settings = cell.settings
        fit = _fit(name, settings.get("weight", WEIGHT), settings.get("steps", STEPS))
        with jax.enable_x64(False):
            keys = keys_of(name, draws.seeds)
            ys = jnp.asarray(draws.observations, jnp.float32)
            out = jax.tree.map(np.asarray, fit(model_of(cell, draws), keys, ys))
        found, codes, skipped = out
        return {
            **scored(cell, draws, found),
            "completed": (codes == Outcome.completed).astype(float),
            "degenerate": (codes == Outcome.degenerate_likelihood).astype(float),
            "skipped": skipped.astype(float),
        }

    return method
