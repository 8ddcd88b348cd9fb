"""The demonstration: noisy Lorenz data in; equations, graph and scores out."""

from collections.abc import Callable

import jax
import numpy as np

from .equations import equations
from .graph import adjacency, adjacency_table, influence_ranking
from .library import Polynomial
from .metrics import rmse, support_scores
from .model import StateSpaceModel, state_space_model
from .solvers import AdaptiveProgress, adaptive
from .systems import lorenz63


def run_demo(seed: int = 0, *, say: Callable[[str], None]) -> None:
    """Fit noisy data of a known system and say what came out.

    Args:
        seed: Seed of the data and of the fit.
        say: Called with each line of the story.
    """

    def report(progress: AdaptiveProgress) -> None:
        say(
            f"  {progress.stage}: {progress.sweeps} of at most {progress.most} sweeps, "
            f"log-likelihood {progress.log_likelihood:.1f}, {progress.n_nonzero} terms"
        )

    data_key, fit_key = jax.random.split(jax.random.key(seed))
    system = lorenz63(dt=0.02)
    say(
        "The Lorenz system: three states, 100 observations with noise of size 1. "
        "Its equations are to be found among all polynomials of degree 2."
    )
    # Double precision for the fit alone; the caller's setting stays as it is.
    with jax.enable_x64(True):
        ys = system.simulate(data_key, steps=100).observations
        model = system.model()
        say("Compiling, which takes a while the first time ...")
        found = adaptive(fit_key, ys, model, learn=("state_noise",), callback=report)
    say(f"Engine: {found.engine}.")
    say(f"Outcome: {found.outcome.name}. {found.advice}")
    library, truth = model.library, np.asarray(model.coefficients)
    C = np.asarray(found.coefficients)
    say("")
    say("Equations found (and the true ones)")
    for ours, theirs in zip(
        equations(C, library, system.states),
        equations(truth, library, system.states),
        strict=True,
    ):
        say(f"  {ours}   ({theirs})")
    graph = adjacency(C, library.incidence)
    say("")
    say("Who acts on whom")
    for line in adjacency_table(graph, system.states).splitlines():
        say(f"  {line}")
    most = influence_ranking(graph, system.states)[0]
    say(f"  most influential: {most[0]}, which acts on {most[1]} other(s)")
    scores = support_scores(C, truth)
    say(
        f"Scores: F1 {float(scores.f1):.2f}, precision {float(scores.precision):.2f}, "
        f"recall {float(scores.recall):.2f}, RMSE {float(rmse(C, truth)):.4f}"
    )


def damped_oscillator() -> StateSpaceModel:
    """A linear model that the paper's algorithm recovers, too."""
    return state_space_model(
        Polynomial(n_states=2, degree=1),
        [[0.0, 0.9, 0.3], [0.0, -0.3, 0.9]],
        state_noise=0.01,
        observation_noise=0.01,
        initial_mean=[3.0, 0.0],
    )
