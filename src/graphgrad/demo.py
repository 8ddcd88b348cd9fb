"""The demonstration: the paper's algorithm where it works and where it does not."""

from collections.abc import Callable

import jax
import numpy as np

from .equations import equations
from .graph import adjacency, adjacency_table, influence_ranking
from .library import Polynomial
from .metrics import rmse, support_scores
from .model import StateSpaceModel, simulate, state_space_model
from .penalties import L1
from .solvers import GradientSteps, Progress, b_graphgrad
from .systems import lorenz63


def run_demo(seed: int = 0, *, say: Callable[[str], None]) -> None:
    """Fit noisy data of two known systems and say what came out.

    Args:
        seed: Seed of the data and of the fits.
        say: Called with each line of the story.
    """
    data_key, fit_key = jax.random.split(jax.random.key(seed))
    oscillator = damped_oscillator()
    say("1. A damped oscillator of two states, 50 noisy observations.")
    ys = simulate(data_key, oscillator, steps=50).observations
    _fit(fit_key, ys, oscillator, ("position", "speed"), penalty=3.0, say=say)

    system = lorenz63(dt=0.02)
    say("")
    say("2. The Lorenz system of three states, 30 noisy observations.")
    simulation = system.simulate(data_key, steps=30, bounded=True)
    _fit(
        fit_key,
        simulation.observations,
        system.model(),
        system.states,
        penalty=1.0,
        say=say,
    )


def damped_oscillator() -> StateSpaceModel:
    """A linear model that the paper's algorithm recovers."""
    return state_space_model(
        Polynomial(n_states=2, degree=1),
        [[0.0, 0.9, 0.3], [0.0, -0.3, 0.9]],
        state_noise=0.01,
        observation_noise=0.01,
        initial_mean=[3.0, 0.0],
    )


def _fit(
    key: jax.Array,
    ys: jax.Array,
    model: StateSpaceModel,
    states: tuple[str, ...],
    *,
    penalty: float,
    say: Callable[[str], None],
) -> None:
    def report(progress: Progress) -> None:
        say(
            f"   batch {progress.batch} of {progress.batches}: first "
            f"{progress.length} observations, log-likelihood "
            f"{progress.log_likelihood:.1f}, {progress.n_nonzero} terms"
        )

    settings = GradientSteps(steps=500)
    solution = b_graphgrad(
        key, ys, model, L1(penalty), settings=settings, callback=report
    )
    say(f"   outcome: {solution.outcome.name}. {solution.advice}")
    library, truth = model.library, np.asarray(model.coefficients)
    found = np.asarray(solution.coefficients)
    say("")
    say("   equations found (and the true ones)")
    for ours, theirs in zip(
        equations(found, library, states),
        equations(truth, library, states),
        strict=True,
    ):
        say(f"   {ours}   ({theirs})")
    graph = adjacency(found, library.incidence)
    say("")
    say("   who acts on whom")
    for line in adjacency_table(graph, states).splitlines():
        say(f"   {line}")
    most = influence_ranking(graph, states)[0]
    say(f"   most influential: {most[0]}, which acts on {most[1]} other(s)")
    scores = support_scores(found, truth)
    say(
        f"   scores: F1 {float(scores.f1):.2f}, precision "
        f"{float(scores.precision):.2f}, recall {float(scores.recall):.2f}, "
        f"RMSE {float(rmse(found, truth)):.4f}"
    )
