"""Programs of a fit that are loaded or compiled while the first ones run."""

from typing import Any

import jax
import numpy as np

from ...engines import AbstractEngine
from ...preparation import Preparation
from ..trees import host_entry
from .annealing import Annealing
from .finish import best_start, solution_at
from .plan import Plan
from .runs import ascend_once, exchange_terms, fewest_terms
from .stages import begin_exchanges
from .substeps import doubling


def first_ascent(
    key: Any,
    beginning: Annealing,
    plan: Plan,
    engine: AbstractEngine,
    learn: tuple[str, ...],
) -> tuple[Any, ...]:
    """Arguments with the types of those of the ascent."""
    starts = begin_exchanges(beginning.unknowns, beginning.trajectory)
    start = host_entry(starts, 0)
    size = fewest_terms(start, plan)
    return key, start, plan, np.int32(0), engine, learn, size


def expect_programs(
    preparation: Preparation,
    ascent: tuple[Any, ...],
    learn: tuple[str, ...],
    number: int,
    reason: str,
) -> None:
    """Prepare the programs that follow the annealing.

    Args:
        preparation: Prepares them.
        ascent: Arguments of the ascent, from `first_ascent`.
        learn: What is learnt in the end.
        number: Of starts.
        reason: The engine and why it was chosen, in words.
    """
    _, start, plan, _, engine, free, size = ascent
    state, maximum = preparation.expect(ascend_once, *ascent)
    if size is None:
        preparation.expect(exchange_terms, state, maximum, plan)
    if plan.model.dynamics == "flow":
        model = plan.build(start.best.unknowns, free)
        preparation.expect(doubling, model, plan.ys, start.best.trajectory)
    starts = jax.tree.map(lambda leaf: np.stack([leaf] * number), start)
    winner, state = preparation.expect(best_start, starts, starts, plan, learn)
    if size is None:
        at_end = winner, state.at.unknowns, maximum, plan
        end = engine.stochastic, learn, reason
        preparation.expect(solution_at, *at_end, *end)
