"""The penalty, tuned on a synthetic twin: Sec. V-A."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..checks import check_at_least
from ..deprecation import renamed
from ..metrics import support_scores
from ..model import StateSpaceModel
from ..systems import random_sparse

Fit = Callable[[PRNGKeyArray, Array, StateSpaceModel, Array], Array]
Score = Callable[[Array, Array], Array]


class Tuning(NamedTuple):
    """What the search found.

    Attributes:
        penalty: The lambda of highest score.
        exponents: Every l that was tried, in order, with lambda = 10^l.
        scores: Its score, a mean over the twins.
    """

    penalty: float
    exponents: Float[np.ndarray, "tried"]
    scores: Float[np.ndarray, "tried"]

    @property
    def weight(self) -> float:
        """The old name of `penalty`."""
        renamed("Tuning.weight", "Tuning.penalty", until="0.3.0")
        return self.penalty


def support_accuracy(estimate: Array, truth: Array) -> Array:
    """Share of the coefficients that are rightly zero or rightly not zero."""
    return support_scores(estimate, truth).accuracy


def tune_on_twin(
    key: PRNGKeyArray,
    fit: Fit,
    *,
    n_states: int,
    degree: int,
    dt: float,
    steps: int = 100,
    start: Any = None,
    score: Score = support_accuracy,
    twins: int = 1,
    iterations: int = 10,
    interval: tuple[float, float] = (-5.0, 2.0),
    callback: Callable[[int, float, float], None] | None = None,
) -> Tuning:
    """Find the penalty at which a fit does best on a system of the same size.

    The twin has a rate matrix that is 75 % sparse, with nonzeros from U(-Nx, Nx),
    scaled to a largest singular value of 1; its map is the identity plus dt times
    that matrix, and both noises have covariance dt I.

    A maximum has no sign to bisect on, so each iteration halves the interval about
    the best of three points: of an interval of centre m and width w it scores
    m - w/4 and m + w/4 (m is known) and keeps the half of the interval that is
    centred at the best of the three; ties keep m. All points are scored on the same
    data with the same draws. The result is the best point of all that were tried.

    Args:
        key: Random key.
        fit: `fit(key, ys, model, penalty)` gives coefficients, under vmap over the
            penalty; for the paper's choice,
            `lambda *a: b_graphgrad(*a[:3], L1(a[3])).coefficients`.
        n_states: Nx of the system at hand.
        degree: Its degree d.
        dt: Its time step.
        steps: Length of the twin's series. Not stated in the paper.
        start: The twin's x_0; zeros if not given. Not stated in the paper.
        score: `score(estimate, truth)`, higher is better. The paper says accuracy
            and does not define it; the default is the share of coefficients rightly
            found zero or nonzero.
        twins: Number of twins to average over; the paper has one.
        iterations: Number of halvings.
        interval: Of l, with lambda = 10^l.
        callback: Called after each iteration with its number, the best l so far and
            its score.
    """
    check_at_least("iterations", iterations, 1, "The paper uses 10.")
    low, high = interval
    if not low < high:
        raise ValueError(
            f"`interval` must have its lower end first, got {interval}. "
            "The paper's is (-5, 2)."
        )
    score_all = twin_scores(
        key,
        fit,
        n_states=n_states,
        degree=degree,
        dt=dt,
        steps=steps,
        start=start,
        score=score,
        twins=twins,
    )
    tried: dict[float, float] = {}

    def evaluate(exponents: list[float]) -> None:
        scores = np.asarray(score_all(jnp.asarray(exponents)))
        tried.update(zip(exponents, scores.tolist(), strict=True))

    centre, width = (low + high) / 2, high - low
    evaluate([centre, centre])  # twice, for the compiled shape of what follows
    for iteration in range(iterations):
        sides = [centre - width / 4, centre + width / 4]
        evaluate(sides)
        centre = max([centre, *sides], key=lambda point: tried[point])
        width /= 2
        if callback is not None:
            callback(iteration + 1, centre, tried[centre])
    best = max(tried, key=lambda point: tried[point])
    return Tuning(10**best, np.array(list(tried)), np.array(list(tried.values())))


def twin_scores(
    key: PRNGKeyArray,
    fit: Fit,
    *,
    n_states: int,
    degree: int,
    dt: float,
    steps: int = 100,
    start: Any = None,
    score: Score = support_accuracy,
    twins: int = 1,
) -> Callable[[Array], Array]:
    """From several l, with lambda = 10^l, to the scores of fits on the same twins.

    Arguments as for `tune_on_twin`; use it to draw the whole curve.
    """
    check_at_least("twins", twins, 1, "The paper uses 1.")
    data = [
        _twin(k, n_states=n_states, degree=degree, dt=dt, steps=steps, start=start)
        for k in jax.random.split(key, twins)
    ]

    @jax.jit
    @jax.vmap
    def score_all(exponent: Array) -> Array:
        scores = [
            score(fit(fit_key, ys, model, 10**exponent), model.coefficients)
            for fit_key, ys, model in data
        ]
        return jnp.mean(jnp.stack(scores))

    return score_all


def _twin(
    key: PRNGKeyArray, *, n_states: int, degree: int, dt: float, steps: int, start: Any
) -> tuple[PRNGKeyArray, Array, StateSpaceModel]:
    system_key, data_key, fit_key = jax.random.split(key, 3)
    options = {} if start is None else {"x0": start}
    system = random_sparse(
        system_key, n_states=n_states, degree=degree, dt=dt, **options
    )
    simulation = system.simulate(data_key, steps, scheme="euler", bounded=True)
    return fit_key, simulation.observations, system.model(dynamics="map")
