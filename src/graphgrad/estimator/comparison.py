"""Comparison of fitted estimators."""

from collections.abc import Mapping

import jax
from sklearn.utils.validation import check_is_fitted

from ..diagnostics.comparison import Comparison, compare_records
from .estimator import GraphGrad


def compare_fits(fits: Mapping[str, GraphGrad]) -> Comparison:
    """Compare fits to the same data.

    Args:
        fits: Fitted `GraphGrad` estimators by name.

    Raises:
        ValueError: If they were fitted to different data.

    Examples:
        >>> import graphgrad as gg, jax
        >>> system = gg.systems.lotka_volterra()
        >>> y = system.simulate(jax.random.key(0), steps=100).observations
        >>> free = gg.GraphGrad().fit(y)
        >>> apart = gg.only_edges([])
        >>> alone = gg.GraphGrad(constraints=[apart]).fit(y)
        >>> gg.compare_fits({"free": free, "alone": alone}).rows[0].name
        'free'
    """
    for fit in fits.values():
        check_is_fitted(fit)
    with jax.enable_x64(True):
        return compare_records({name: fit._fit for name, fit in fits.items()})
