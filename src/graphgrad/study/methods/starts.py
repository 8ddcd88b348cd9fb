"""B-GraphGrad from several starts that stop batching once they agree: Sec. IV-C."""

import jax
import jax.numpy as jnp
import numpy as np

from ...penalties import L1
from ...solvers import GradientSteps, Telescoping, multistart
from ..draws import model_of
from ..plan import Cell, Draws, Results
from ..scores import keys_of, scored
from .paper import INCREMENT, STEPS, WEIGHT


def several_starts(cell: Cell, draws: Draws) -> Results:
    """Scores of the consensus, and the work it saved.

    `agreed` is whether enough starts agreed, `agreeing` is their share, `batches` the
    share of the batches that were run and `work` the share of filter steps, where 1 is
    the cost without a consensus. The cell's settings may give `starts`.
    """
    settings = cell.settings
    found, rows = [], []
    for i, key in enumerate(keys_of("multistart", draws.seeds)):
        with jax.enable_x64(False):
            result = multistart(
                key,
                jnp.asarray(draws.observations[i], jnp.float32),
                model_of(cell, draws),
                L1(settings.get("weight", WEIGHT)),
                starts=settings.get("starts", 8),
                settings=GradientSteps(settings.get("steps", STEPS)),
                batching=Telescoping(INCREMENT),
            )
        found.append(np.asarray(result.solution.coefficients))
        whole = sum(Telescoping(INCREMENT).lengths(cell.steps))
        rows.append(
            {
                "agreed": float(bool(result.members)),
                "agreeing": len(result.members) / len(result.candidates),
                "batches": result.batches / result.batches_in_all,
                "work": sum(result.solution.lengths) / whole,
            }
        )
    more = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return {**scored(cell, draws, np.stack(found)), **more}
