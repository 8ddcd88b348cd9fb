"""The demonstration: bundled data of a known system, and what came out beside it."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np

from .equations import equations
from .estimator import GraphGrad
from .metrics import rmse, support_scores
from .systems import System, lorenz63


def demo_data() -> Path:
    """A CSV file of the Lorenz system, noisy and with gaps.

    200 rows, 0.02 apart, with noise of size 1; a tenth of the cells is missing, and for
    15 rows there is nothing at all.
    """
    return Path(str(files("graphgrad") / "lorenz.csv"))


def demo_system() -> System:
    """What the data were drawn from."""
    return lorenz63(dt=0.02)


def beside_truth(fitted: GraphGrad) -> Iterator[str]:
    """Lines with the equations found, the true ones and how near they are."""
    system = demo_system()
    truth = np.asarray(system.coefficients(), float)
    names = equations(truth, system.library(), system.states, align=True)
    for ours, theirs in zip(fitted.equations(align=True), names, strict=True):
        yield f"  found  {ours}"
        yield f"  true   {theirs}"
    scores = support_scores(fitted.coef_, truth)
    wrong = int(np.sum((fitted.coef_ != 0) != (truth != 0)))
    far = np.abs(fitted.coef_ - truth) / np.maximum(fitted.standard_errors_, 1e-300)
    right = (fitted.coef_ != 0) & (truth != 0)
    yield (
        f"Of {truth.size} possible terms {wrong or 'none'} is wrong (F1 "
        f"{float(scores.f1):.2f}). Coefficients are off by {far[right].max():.1f} "
        f"standard errors at most, RMSE {float(rmse(fitted.coef_, truth)):.4f}."
    )
