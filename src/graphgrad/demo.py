"""Demonstrations: bundled data, and fits compared with the known equations."""

from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .equations import equations
from .estimator import GraphGrad
from .library import AbstractLibrary, Polynomial
from .metrics import rmse, support_scores
from .systems import System, lorenz63

LEVEL = 0.9
"""Probability covered by the intervals."""


class Demonstration(NamedTuple):
    """Data with known or conjectured equations.

    Attributes:
        question: What the demonstration asks, in one or two lines.
        data: The file.
        beside_truth: Returns lines that compare estimated and known equations.
    """

    question: str
    data: Path
    beside_truth: Callable[[GraphGrad], Iterator[str]]


def demo_data() -> Path:
    """A CSV file of the Lorenz system, noisy and with gaps.

    200 rows, 0.02 apart, with measurement noise of standard deviation 1; a tenth of the
    values is missing, and 15 rows are empty. `docs/scripts/demo_data.py`
    generates them.
    """
    return Path(str(files("graphgrad") / "lorenz.csv"))


def demo_system() -> System:
    """The system behind the data."""
    return lorenz63(dt=0.02)


def hare_lynx_data() -> Path:
    """A CSV file of pelts of hares and lynxes, in thousands, of 1900 to 1920.

    Collected by the Hudson's Bay Company of Canada; values as in E. P. Odum,
    Fundamentals of Ecology (1953), quoted from P. Howard, Modeling Basics (lecture
    notes, Texas A&M University, 2009), and B. Carpenter, Predator-Prey Population
    Dynamics: the Lotka-Volterra Model in Stan (case study, 2018). The column `time` is
    the year.
    """
    return Path(str(files("graphgrad") / "hare_lynx.csv"))


def hare_lynx_book() -> tuple[Float[np.ndarray, "2 6"], AbstractLibrary]:
    """The Lotka-Volterra equations with the coefficients fitted by Howard (2009).

    Carpenter's posterior means agree except for 0.80 and 0.024 in the second equation.
    """
    library, names = Polynomial(2, 2), ("hare", "lynx")
    A = np.zeros((2, library.n_terms))
    for i, term, value in (
        (0, "hare", 0.55),
        (0, "hare lynx", -0.028),
        (1, "lynx", -0.84),
        (1, "hare lynx", 0.026),
    ):
        A[i, library.index(term, names)] = value
    return A, library


def beside_lorenz(fitted: GraphGrad) -> Iterator[str]:
    """Lines with the estimated equations, the true ones and the errors."""
    system = demo_system()
    kind = fitted.dynamics_
    truth = np.asarray(system.coefficients(dynamics=kind), float)
    for line in _beside(fitted, truth, system.library(), "true"):
        # As in the literature.
        yield line.replace("2.67 x3", "8/3 x3") if "  true" in line else line
    scores = support_scores(fitted.coef_, truth)
    wrong = int(np.sum((fitted.coef_ != 0) != (truth != 0)))
    far = np.abs(fitted.coef_ - truth) / np.maximum(fitted.standard_errors_, 1e-300)
    right = (fitted.coef_ != 0) & (truth != 0)
    yield (
        f"Of {truth.size} possible terms {wrong or 'none'} is wrong (F1 "
        f"{float(scores.f1):.2f}). Coefficients are off by "
        f"{far[right].max(initial=0):.1f} standard errors at most, RMSE "
        f"{float(rmse(fitted.coef_, truth)):.4f}."
    )


def beside_hare_lynx(fitted: GraphGrad) -> Iterator[str]:
    """Lines with the estimated equations, their intervals, and the published ones."""
    book, library = hare_lynx_book()
    if fitted.dynamics_ == "flow":
        yield from _beside(fitted, book, library, "book")
    else:  # possible with other data
        yield from (f"  found  {line}" for line in fitted.equations())
    yield (
        "The book: Lotka (1925) and Volterra (1926), with the numbers of Howard (2009)."
    )
    yield f"{100 * LEVEL:.0f} % intervals, given these terms:"
    ends = fitted.confidence_intervals(LEVEL)
    for i, j in np.argwhere(fitted.coef_ != 0):
        low, high = ends[i, j]
        term, state = fitted.terms_[j], fitted.state_names_[i]
        yield f"  {term} in {state}: {low:.3g} to {high:.3g}"


def _beside(
    fitted: GraphGrad,
    truth: Float[np.ndarray, "Nx M"],
    library: AbstractLibrary,
    called: str,
) -> Iterator[str]:
    """Each estimated equation above its reference."""
    states, kind = fitted.state_names_, fitted.dynamics_
    known = equations(truth, library, states, dynamics=kind)
    for ours, theirs in zip(fitted.equations(), known, strict=True):
        yield f"  found  {ours}"
        yield f"  {called}   {theirs}"


DEMONSTRATIONS = {
    "lorenz": Demonstration(
        "The Lorenz system with measurement noise and gaps. Which equations?",
        demo_data(),
        beside_lorenz,
    ),
    "hare-lynx": Demonstration(
        "Pelts of hares and lynxes in thousands, taken by the Hudson's Bay Company "
        "from 1900 to 1920. Who eats whom?",
        hare_lynx_data(),
        beside_hare_lynx,
    ),
}
"""Demonstrations by name, as `graphgrad demo` takes them."""
