"""Demonstrations: bundled data, and what came out beside what is in the books."""

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
"""Probability of the intervals."""


class Demonstration(NamedTuple):
    """Data and what they are known to come from, or thought to.

    Attributes:
        question: What is asked of the data, in a line or two.
        data: The file.
        beside_truth: Lines with the equations found beside the known ones.
    """

    question: str
    data: Path
    beside_truth: Callable[[GraphGrad], Iterator[str]]


def demo_data() -> Path:
    """A CSV file of the Lorenz system, noisy and with gaps.

    200 rows, 0.02 apart, with noise of size 1; a tenth of the cells is missing, and for
    15 rows there is nothing at all. `docs/demo_data.py` draws them.
    """
    return Path(str(files("graphgrad") / "lorenz.csv"))


def demo_system() -> System:
    """What the data were drawn from."""
    return lorenz63(dt=0.02)


def hare_lynx_data() -> Path:
    """A CSV file of pelts of hares and lynxes, in thousands, of 1900 to 1920.

    They were taken by the Hudson's Bay Company of Canada, and are as in E. P. Odum,
    Fundamentals of Ecology (1953), by way of P. Howard, Modeling Basics (lecture notes,
    Texas A&M University, 2009), and B. Carpenter, Predator-Prey Population Dynamics:
    the Lotka-Volterra Model in Stan (case study, 2018). The column `time` is the year.
    """
    return Path(str(files("graphgrad") / "hare_lynx.csv"))


def hare_lynx_book() -> tuple[Float[np.ndarray, "2 6"], AbstractLibrary]:
    """Lotka's and Volterra's equations with the numbers that Howard (2009) fitted.

    Carpenter's posterior means are the same but for 0.80 and 0.024 in the second
    equation.
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
    """Lines with the equations found, the true ones and how near they are."""
    system = demo_system()
    kind = fitted.dynamics_
    truth = np.asarray(system.coefficients(dynamics=kind), float)
    for line in _beside(fitted, truth, system.library(), "true"):
        # As the books have it.
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
    """Lines with the equations found, their intervals, and those of the book."""
    book, library = hare_lynx_book()
    if fitted.dynamics_ == "flow":
        yield from _beside(fitted, book, library, "book")
    else:  # as data of its own may turn out
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
    """Each equation found above the one that it should be."""
    states, kind = fitted.state_names_, fitted.dynamics_
    known = equations(truth, library, states, dynamics=kind)
    for ours, theirs in zip(fitted.equations(), known, strict=True):
        yield f"  found  {ours}"
        yield f"  {called}   {theirs}"


DEMONSTRATIONS = {
    "lorenz": Demonstration(
        "The Lorenz system, through noise of size 1 and with gaps. What moves it?",
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
"""By the names that `graphgrad demo` takes."""
