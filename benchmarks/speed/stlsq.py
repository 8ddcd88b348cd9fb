"""PySINDy's STLSQ on the series of a case: with its defaults, and selected by BIC."""

from typing import Any

import numpy as np

from graphgrad.library.degrees import degree_matrix
from graphgrad.study.methods.flow_sindy import (
    RIDGES,
    THRESHOLDS,
    by_bic,
    differences,
)
from graphgrad.study.methods.sindy import quiet, sindy, stlsq_map

DEGREE = 2


def with_defaults(ys: np.ndarray, case: dict[str, Any]) -> np.ndarray:
    """Coefficients at PySINDy's default threshold and ridge."""
    ps = sindy()
    flow = case["dynamics"] == "flow"
    kind = ps.SINDy if flow else ps.DiscreteSINDy
    library = ps.PolynomialLibrary(degree=DEGREE)
    with quiet(0):
        model = kind(optimizer=ps.STLSQ(), feature_library=library)
        model.fit(ys, t=case["dt"] if flow else 1)
    return np.asarray(model.coefficients())


def selected(ys: np.ndarray, case: dict[str, Any]) -> np.ndarray:
    """Coefficients of lowest BIC on the grid of settings of the studies."""
    with quiet(0):
        return _flow(ys, case["dt"]) if case["dynamics"] == "flow" else _map(ys)


def _flow(ys: np.ndarray, dt: float) -> np.ndarray:
    data = differences([ys], dt, DEGREE)
    optimisers = (
        sindy().STLSQ(threshold=float(threshold), alpha=ridge)
        for ridge in RIDGES
        for threshold in THRESHOLDS
    )
    fits = (np.asarray(one.fit(data.terms, data.rates).coef_) for one in optimisers)
    return by_bic(data, fits, None)[1]


def _map(ys: np.ndarray) -> np.ndarray:
    powers = degree_matrix(ys.shape[1], DEGREE)
    terms = np.prod(ys[:-1, :, None] ** powers, axis=1)
    return stlsq_map(ys, DEGREE, terms, ys[1:])[1]
