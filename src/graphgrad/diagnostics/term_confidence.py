"""Confidence in the terms of a fit: by extended BIC, by refits, by posterior draws."""

from typing import TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..confidence import Posterior, Stability, posterior, stability
from ..confidence.spike import edges_of
from ..fits.record import Fit
from ..solution import PaperSolution, Solution
from ..solvers.adaptive.substeps import with_substeps
from .choices import Choices

Found = TypeVar("Found", Stability, Posterior)


def fit_stability(
    key: PRNGKeyArray, fit: Fit, *, refits: int = 50, block: int | None = None
) -> Stability:
    """How often refits on resampled blocks of the data select each term and edge.

    Args:
        key: Random key.
        fit: A fit by the adaptive solver.
        refits: Number of refits.
        block: Rows per block; a fifth of the series, at most 50, if None.
    """
    prepared = fit.task.prepared
    found = stability(
        key,
        fit.data.ys,
        with_substeps(prepared.data.model, fit.substeps),
        _adaptive(fit, "stability"),
        refits=refits,
        block=block,
        engine=fit.engine,
        learn=_learnt_inside(fit),
        constraints=fit.task.constraints,
        states=fit.layout.variables,
        prior=fit.task.settings["prior"],
    )
    return _of_nodes(fit, found)


def fit_posterior(
    key: PRNGKeyArray,
    fit: Fit,
    *,
    draws: int = 1000,
    warm_up: int = 200,
    num_particles: int = 30,
) -> Posterior:
    """Posterior probabilities of the terms and edges of a fit, by particle Gibbs.

    Args:
        key: Random key.
        fit: A fit by the adaptive solver.
        draws: Number of draws.
        warm_up: Number of initial draws that are discarded.
        num_particles: Number of particles.
    """
    found = posterior(
        key,
        fit.data.ys,
        fit.data.model,
        _adaptive(fit, "posterior"),
        draws=draws,
        warm_up=warm_up,
        learn=_learnt_inside(fit),
        constraints=fit.task.constraints,
        states=fit.layout.variables,
        num_particles=num_particles,
    )
    return _of_nodes(fit, found)


def criterion_confidence(fit: Fit) -> Float[np.ndarray, "Nx M"]:
    """Confidence in each term compared with dropping it, by the extended BIC.

    Half the extended BIC gap of two models is their log odds (Kass and Raftery, JASA
    90, 1995). Dropping a term increases -2 log-likelihood by its squared z-score, and
    saves its penalty. Alternatives of the fit without the term lower it further, and
    terms that only alternatives have get their weight. Given terms have confidence one.
    """
    away = fit.solution.departures()
    known = fit.standard_errors > 0
    errors = np.where(known, fit.standard_errors, 1.0)
    odds = ((away / errors) ** 2 - fit.term_penalties) / 2
    # Larger odds are not resolved by this approximation.
    confidence = 1 / (1 + np.exp(-np.clip(odds, -12, 12)))
    weights = Choices.of(fit).term_weights()
    there = np.where(known, np.minimum(confidence, weights), 1.0)
    return np.where(away != 0, there, weights)


def _of_nodes(fit: Fit, found: Found) -> Found:
    """Confidence in the equations of states and in the edges of the graph."""
    if not fit.layout.delays:
        return found
    n = fit.n_present
    base = jnp.asarray(fit.solution.coefficients - fit.solution.departures())[:n]
    C = found.coefficients[:, :n]
    edges = edges_of(base != C, fit.layout.incidence)
    return found._replace(terms=found.terms[:n], edges=edges, coefficients=C)


def _learnt_inside(fit: Fit) -> tuple[str, ...]:
    """What refits learn: not the initial state, as blocks start within the series."""
    return tuple(part for part in fit.task.prepared.learn if part != "initial")


def _adaptive(fit: Fit, who: str) -> Solution:
    if isinstance(fit.solution, PaperSolution):
        raise ValueError(
            f"`solver` must be 'adaptive' for `{who}`, got 'paper'. Fit again with "
            "`solver='adaptive'`."
        )
    return fit.solution
