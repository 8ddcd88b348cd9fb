"""PySINDy with the same terms, on the observations.

Its settings are selected on a grid of thresholds, on plain and on normalised columns,
with the usual and with nearly no ridge, by the lowest BIC of one-step predictions of
the observations.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ...extras import need
from ..plan import Cell, Draws, Results
from ..scores import scored
from .lasso import bic, pairs

MODELS = 20
WINDOWS = 200
HALF_WIDTHS = (4, 8)
"""Windows of the weak form, in steps."""


class Setting(NamedTuple):
    """Arguments of STLSQ."""

    threshold: float
    normalize_columns: bool
    alpha: float


GRID = tuple(
    Setting(float(threshold), normalised, alpha)
    for normalised, thresholds in (
        (False, np.geomspace(1e-4, 1, 13)),
        (True, np.geomspace(1e-2, 1e3, 16)),
    )
    for alpha in (0.05, 1e-6)
    for threshold in thresholds
)


def sindy() -> ModuleType:
    """PySINDy, if it is installed."""
    return need("pysindy", extra="peers", who="Methods named `sindy-...`")


@contextmanager
def quiet(seed: int) -> Iterator[None]:
    """PySINDy uses NumPy's global random state, and warns of too high thresholds."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _map(ys: np.ndarray, degree: int, optimiser: Any) -> np.ndarray:
    ps = sindy()
    library = ps.PolynomialLibrary(degree=degree)
    model = ps.DiscreteSINDy(optimizer=optimiser, feature_library=library)
    model.fit(ys, t=1)
    return np.asarray(model.coefficients())


def _chosen(
    terms: np.ndarray, targets: np.ndarray, fits: Iterator[tuple[Any, np.ndarray]]
) -> tuple[Any, np.ndarray]:
    """The setting of lowest BIC, and its coefficients; all zero if there is none."""
    nothing = np.zeros((targets.shape[1], terms.shape[1]))
    best = (None, nothing)
    least = bic(terms, targets, nothing).sum()
    for setting, found in fits:
        value = bic(terms, targets, found).sum()
        if value < least:
            least, best = value, (setting, found)
    return best


def stlsq_map(
    ys: np.ndarray, degree: int, terms: np.ndarray, targets: np.ndarray
) -> tuple[Setting | None, np.ndarray]:
    """Sequentially thresholded least squares for the map, and its setting."""
    ps = sindy()
    fits = ((s, _map(ys, degree, ps.STLSQ(**s._asdict()))) for s in GRID)
    return _chosen(terms, targets, fits)


def ensemble_map(
    ys: np.ndarray, degree: int, terms: np.ndarray, targets: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Median of fits on resampled rows; every third setting is tried."""
    ps = sindy()

    def fit(setting: Setting) -> np.ndarray:
        single = ps.STLSQ(**setting._asdict())
        many = ps.EnsembleOptimizer(single, bagging=True, n_models=MODELS)
        return _map(ys, degree, many)

    return _chosen(terms, targets, ((s, fit(s)) for s in GRID[::3]))


def weak_map(
    ys: np.ndarray, degree: int, terms: np.ndarray, targets: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Rates from integrals over windows, as the map of one Euler step of length 1."""
    ps = sindy()
    times = np.arange(len(ys), dtype=float)
    identity = np.eye(ys.shape[1], terms.shape[1], k=1)
    series = ps.AxesArray(ys, {"ax_time": 0, "ax_coord": 1})

    def fits():
        for half in HALF_WIDTHS:
            if 2 * half >= len(ys) - 1:
                continue
            library = ps.WeakPDELibrary(
                ps.PolynomialLibrary(degree=degree, include_bias=False),
                spatiotemporal_grid=times,
                include_bias=True,
                K=WINDOWS,
                H_xt=float(half),
            )
            # As in `SINDy.fit`, but the integrals once for all settings.
            integrals = library.fit([series]).transform([series])[0]
            rates = library.convert_u_dot_integral(series)
            for setting in GRID:
                optimiser = ps.STLSQ(**setting._asdict()).fit(integrals, rates)
                yield (half, setting), identity + np.asarray(optimiser.coef_)

    return _chosen(terms, targets, fits())


def _method(fit: Callable[..., tuple[Any, np.ndarray]], cell: Cell, draws: Draws):
    terms, targets = pairs(cell, draws)
    found = []
    for i, ys in enumerate(np.asarray(draws.observations, float)):
        with quiet(int(draws.seeds[i])):
            found.append(fit(ys, cell.degree, terms[i], targets[i])[1])
    return scored(cell, draws, np.stack(found))


def stlsq(cell: Cell, draws: Draws) -> Results:
    """PySINDy's STLSQ for the map."""
    return _method(stlsq_map, cell, draws)


def ensemble(cell: Cell, draws: Draws) -> Results:
    """PySINDy's ensemble of STLSQ for the map."""
    return _method(ensemble_map, cell, draws)


def weak(cell: Cell, draws: Draws) -> Results:
    """PySINDy's weak form, for the rates."""
    return _method(weak_map, cell, draws)
