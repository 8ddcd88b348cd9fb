"""Which solver, with what settings."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from ..checks import check_at_least, check_choice, check_positive
from ..engines import AbstractEngine, ParticleFilter, choose_engine
from ..engines.gaussian import one_step_ahead
from ..model import StateSpaceModel
from ..penalties import L1, AbstractPenalty
from ..penalties import penalty as named_penalty
from ..registries import CRITERIA
from ..selection import choose_penalty
from ..solution import Outcome, PaperSolution, Solution
from ..solvers import SOLVERS, GradientSteps, adaptive
from .prepare import Prepared, found_model

MOST_LEFT = 0.5
"""Share of the variance that one-step predictions of a map in place of a flow leave."""


def make_engine(
    engine: str | AbstractEngine, n_particles: Any, model: StateSpaceModel
) -> AbstractEngine:
    """The engine that is asked for, with as many particles or members as are."""
    made, _ = choose_engine(engine, model)
    if n_particles is None or isinstance(engine, AbstractEngine):
        return made
    n = check_at_least("n_particles", n_particles, 3, "Leave it out for 100.")
    # What draws takes the number of its draws first.
    return type(made)(n) if made.stochastic else made  # pyright: ignore


def fit_solver(
    key: PRNGKeyArray,
    prepared: Prepared,
    *,
    solver: str,
    engine: AbstractEngine,
    penalty: Any,
    selection: str,
    n_particles: Any,
    constraints: Sequence[Any],
    states: Sequence[str],
    callback: Callable | None,
) -> Solution | PaperSolution:
    """By the solver that is asked for; constraints name states by `states`."""
    check_choice("solver", solver, ("adaptive", *SOLVERS))
    check_choice("selection", selection, CRITERIA)
    if solver != "adaptive":
        return _paper(
            SOLVERS[solver],
            key,
            prepared,
            penalty=penalty,
            n_particles=n_particles,
            refused={
                "constraints": tuple(constraints),
                "selection": selection != "ebic" and selection,
            },
            callback=callback,
        )
    remedy = "It is how dear a term is, relative to the criterion; leave it out for 1."
    weight = 1.0 if penalty is None else check_positive("penalty", penalty, remedy)
    model, ys, _ = prepared.data
    options: dict[str, Any] = {
        "engine": engine,
        "learn": prepared.learn,
        "constraints": tuple(constraints),
        "states": tuple(states),
    }
    if selection == "ebic":
        return adaptive(key, ys, model, weight=weight, callback=callback, **options)
    penalties = weight * 2.0 ** np.arange(-2, 3)
    return choose_penalty(
        key, ys, model, penalties=penalties, by=selection, **options
    ).solution


def explains_better(
    one: Solution | PaperSolution, other: Solution | PaperSolution, price: float
) -> bool:
    """Whether one of two fits to the same data is better by the extended BIC.

    A coefficient has the same price in both, whatever the dynamics are.
    """

    def criterion(solution: Solution | PaperSolution) -> float:
        terms = np.count_nonzero(solution.departures())
        return -2 * float(solution.log_likelihood) + price * terms

    return bool(criterion(one) < criterion(other))


def said_plainly(
    solution: Solution | PaperSolution, prepared: Prepared
) -> Solution | PaperSolution:
    """A map in place of a flow, which says so unless it explains most of the data.

    A flow that is seen too seldom may leave no more than a trace of itself in a map.
    """
    model = found_model(prepared.data.model, solution, prepared.learn)
    if not isinstance(solution, Solution):
        return solution
    ahead = one_step_ahead(model, solution.filtered)
    ys = prepared.data.ys
    left = np.nanvar(ys - np.asarray(ahead), axis=0) / np.nanvar(ys, axis=0)
    if np.mean(left) < MOST_LEFT:
        return solution
    return solution.with_outcome(Outcome.interval_too_long)


def _paper(
    solve: Callable[..., PaperSolution],
    key: PRNGKeyArray,
    prepared: Prepared,
    *,
    penalty: Any,
    n_particles: Any,
    refused: dict[str, Any],
    callback: Callable | None,
) -> PaperSolution:
    """By a solver of the paper, which learns the coefficients alone."""
    for name in prepared.learn:
        raise ValueError(
            f"`{name}` must be given for the paper's solver, got 'learn'. Give a value "
            "or use `solver='adaptive'`."
        )
    for name, value in refused.items():
        if value:
            raise ValueError(
                f"`{name}` must be left out for the paper's solver, got {value!r}. "
                "Use `solver='adaptive'`."
            )
    model, ys, _ = prepared.data
    if not isinstance(penalty, str | AbstractPenalty):
        penalty = L1(1.0 if penalty is None else penalty)
    weight = 1.0 if isinstance(penalty, str) else None
    penalty = named_penalty(penalty, weight, incidence=model.library.incidence)
    settings = GradientSteps()
    if n_particles is not None:
        settings = GradientSteps(particle_filter=ParticleFilter(n_particles))
    return solve(key, ys, model, penalty, settings=settings, callback=callback)
