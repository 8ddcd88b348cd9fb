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


def with_defaults(ys: np.ndarray, case: dict[str, Any]) -> np.ndarray:
    """Coefficients at PySINDy's default threshold and ridge."""
    ps = sindy()
    flow = case["dynamics"] == "flow"
    kind = ps.SINDy if flow else ps.DiscreteSINDy
    library = ps.PolynomialLibrary(degree=case["degree"])
    with quiet(0):
        model = kind(optimizer=ps.STLSQ(), feature_library=library)
        model.fit(ys, t=case["dt"] if flow else 1)
    return np.asarray(model.coefficients())


def selected(ys: np.ndarray, case: dict[str, Any]) -> np.ndarray:
    """Coefficients of lowest BIC on the grid of settings of the studies."""
    with quiet(0):
        if case["dynamics"] == "flow":
            return _flow(ys, case["dt"], case["degree"])
        return _map(ys, case["degree"])


def _flow(ys: np.ndarray, dt: float, degree: int) -> np.ndarray:
    data = differences([ys], dt, degree)
    optimisers = (
        sindy().STLSQ(threshold=float(threshold), alpha=ridge)
        for ridge in RIDGES
        for threshold in THRESHOLDS
    )
    fits = (np.asarray(one.fit(data.terms, data.rates).coef_) for one in optimisers)
    return by_bic(data, fits, None)[1]


def _map(ys: np.ndarray, degree: int) -> np.ndarray:
    powers = degree_matrix(ys.shape[1], degree)
    terms = np.prod(ys[:-1, :, None] ** powers, axis=1)
    return stlsq_map(ys, degree, terms, ys[1:])[1]
