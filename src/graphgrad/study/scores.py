"""Scores of estimated coefficients."""

from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..graph import compare_graphs
from ..metrics import mean_abs_where_zero, rmse, rmse_nonzero, support_scores
from .plan import Cell, Draws, Results

FITS = 7


def keys_of(method: str, seeds: np.ndarray) -> Array:
    """One key per realisation, which depends only on the method's name and the seed."""
    key = jax.random.fold_in(jax.random.key(FITS), crc32(method.encode()) % 2**31)
    return jax.vmap(lambda seed: jax.random.fold_in(key, seed))(jnp.asarray(seeds))


def scored(
    cell: Cell,
    draws: Draws,
    coefficients: np.ndarray,
    *,
    zero_threshold: float = 1e-6,
) -> Results:
    """All scores of estimated coefficients against the true ones.

    Errors are in plain units. `f1`, `precision` and `recall` refer to the nonzero
    entries, those that end in `_zero` to the zeros. `rejected` is the number of
    divergent draws before this one, so that its mean m gives the share m / (1 + m). Of
    the graph, `links` are the estimated ones, of which `links_wrong` have wrong terms
    and `links_invented` do not exist; `links_missed` were not found. The estimates
    themselves are returned as `coefficients`.

    Args:
        cell: The cell.
        draws: Its data.
        coefficients: Estimates, `(n, Nx, M)`.
        zero_threshold: Entries below this size count as zero; the paper's is 1e-6.
    """
    found = np.asarray(coefficients, float)
    truth = draws.system.coefficients(cell.degree, dynamics="map")
    truth = np.broadcast_to(truth, found.shape)
    nonzero = support_scores(found, truth, zero_threshold=zero_threshold)
    zero = support_scores(found, truth, positive="zero", zero_threshold=zero_threshold)
    scores = {
        "rmse": rmse(found, truth),
        "rmse_nonzero": rmse_nonzero(found, truth, zero_threshold=zero_threshold),
        "mean_abs_where_zero": mean_abs_where_zero(found, truth),
        "f1": nonzero.f1,
        "precision": nonzero.precision,
        "recall": nonzero.recall,
        "specificity": nonzero.specificity,
        "exact": nonzero.accuracy == 1,
        "f1_zero": zero.f1,
        "precision_zero": zero.precision,
        "rejected": draws.rejected,
        **_links(cell, draws, found, zero_threshold),
    }
    results = {name: np.asarray(value, float) for name, value in scores.items()}
    return {**results, "coefficients": found}


def _links(
    cell: Cell, draws: Draws, found: np.ndarray, zero_threshold: float
) -> dict[str, list[int]]:
    library = draws.system.library(cell.degree)
    truth = draws.system.coefficients(cell.degree, dynamics="map")
    counts = [
        compare_graphs(one, truth, library, zero_threshold=zero_threshold).counts
        for one in found
    ]
    kinds = ("right", "wrong terms", "invented")
    return {
        "links": [sum(count[kind] for kind in kinds) for count in counts],
        "links_wrong": [count["wrong terms"] for count in counts],
        "links_missed": [count["missed"] for count in counts],
        "links_invented": [count["invented"] for count in counts],
    }
