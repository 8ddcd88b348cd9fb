"""PySINDy on flows, with the same terms and two ways to select its threshold.

By BIC of the regression that it solves, which needs only the data; and by the truth, an
oracle: the setting with the highest F1, and among these the lowest error. Columns of
the design are not normalised.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...library.degrees import degree_matrix
from ..flow_scores import relative_error, scored_rates, support_f1
from ..plan import Cell, Draws, Results
from .lasso import bic
from .sindy import quiet, sindy

THRESHOLDS = np.geomspace(1e-4, 10, 26)
RIDGES = (0.05, 1e-6)
MODELS = 20
WINDOWS = 200
HALF_WIDTHS = (4, 8, 25)
"""Windows of the weak form, in rows; BIC uses the first, which suits it best."""


class Regression(NamedTuple):
    """Rates and terms of a regression: `(rows, M)` and `(rows, Nx)`."""

    terms: np.ndarray
    rates: np.ndarray


def monomials(ys: np.ndarray, degree: int) -> np.ndarray:
    """Monomials of the columns, `(rows, M)`."""
    powers = degree_matrix(ys.shape[1], degree)
    return np.prod(ys[:, :, None] ** powers, axis=1)


def _stacked(parts: list[Regression]) -> Regression:
    return Regression(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def differences(series: list[np.ndarray], dt: float, degree: int) -> Regression:
    """By finite differences, PySINDy's default."""
    method = sindy().FiniteDifference()
    return _stacked(
        [
            Regression(
                monomials(ys, degree), np.asarray(method(ys, dt * np.arange(len(ys))))
            )
            for ys in series
        ]
    )


def smoothed(series: list[np.ndarray], dt: float, degree: int) -> Regression:
    """The same after PySINDy's smoothing over eleven rows, also of the terms."""
    parts = []
    for ys in series:
        method = sindy().SmoothedFiniteDifference()
        rates = np.asarray(method(ys, dt * np.arange(len(ys))))
        parts.append(
            Regression(monomials(np.asarray(method.smoothed_x_), degree), rates)
        )
    return _stacked(parts)


def weak(
    series: list[np.ndarray], dt: float, degree: int, *, half: int = HALF_WIDTHS[0]
) -> Regression:
    """Integrals over windows, against the derivatives of test functions."""
    ps, parts = sindy(), []
    for ys in series:
        library = ps.WeakPDELibrary(
            ps.PolynomialLibrary(degree=degree, include_bias=False),
            spatiotemporal_grid=dt * np.arange(len(ys)),
            include_bias=True,
            K=WINDOWS,
            H_xt=half * dt,
        )
        observed = ps.AxesArray(ys, {"ax_time": 0, "ax_coord": 1})
        terms = library.fit([observed]).transform([observed])[0]
        rates = library.convert_u_dot_integral(observed)
        parts.append(Regression(np.asarray(terms), np.asarray(rates)))
    return _stacked(parts)


def stlsq_fits(data: Regression, thresholds: np.ndarray) -> Iterator[np.ndarray]:
    """Coefficients for each threshold and ridge."""
    for ridge in RIDGES:
        for threshold in thresholds:
            optimiser = sindy().STLSQ(threshold=float(threshold), alpha=ridge)
            yield np.asarray(optimiser.fit(data.terms, data.rates).coef_)


def _ensemble(data: Regression, thresholds: np.ndarray) -> Iterator[np.ndarray]:
    """Medians of fits on resampled rows; every third threshold, the usual ridge."""
    ps = sindy()
    for threshold in thresholds[::3]:
        single = ps.STLSQ(threshold=float(threshold), alpha=RIDGES[0])
        many = ps.EnsembleOptimizer(single, bagging=True, n_models=MODELS)
        yield np.asarray(many.fit(data.terms, data.rates).coef_)


def by_bic(data: Regression, fits: Iterator[np.ndarray], _: Any) -> tuple:
    """The fit of lowest BIC, and its BIC."""
    scored = [(-bic(data.terms, data.rates, fit).sum(), fit) for fit in fits]
    return max(scored, key=lambda pair: pair[0])


def by_truth(_: Regression, fits: Iterator[np.ndarray], truth: np.ndarray) -> tuple:
    """The fit nearest to the truth, and its distance."""
    scored = [((support_f1(f, truth), -relative_error(f, truth)), f) for f in fits]
    return max(scored, key=lambda pair: pair[0])


Fits = Callable[[Regression, np.ndarray], Iterator[np.ndarray]]
Design = Callable[[list[np.ndarray], float, int], Regression]


def method(fits: Fits, designs: tuple[Design, ...], choose: Callable[..., tuple]):
    """A method: the best fit of each design, and the best of these."""

    def run(cell: Cell, draws: Draws) -> Results:
        truth = draws.system.coefficients(cell.degree, dynamics="flow")
        found = []
        for seed, ys in zip(draws.seeds.tolist(), draws.observations, strict=True):
            series = [ys] if ys.ndim == 2 else list(ys)
            with quiet(seed):
                best = []
                for design in designs:
                    data = design(series, draws.system.dt, cell.degree)
                    best.append(choose(data, fits(data, THRESHOLDS), truth))
            found.append(max(best, key=lambda pair: pair[0])[1])
        return scored_rates(cell, draws, np.stack(found))

    return run


_BOTH = (differences, smoothed)
_WIDTHS = tuple(partial(weak, half=half) for half in HALF_WIDTHS)

SINDY = {
    "stlsq-bic": method(stlsq_fits, (differences,), by_bic),
    "stlsq-smoothed-bic": method(stlsq_fits, (smoothed,), by_bic),
    "stlsq-truth": method(stlsq_fits, _BOTH, by_truth),
    "ensemble-bic": method(_ensemble, (differences,), by_bic),
    "ensemble-truth": method(_ensemble, _BOTH, by_truth),
    "weak-bic": method(stlsq_fits, (weak,), by_bic),
    "weak-truth": method(stlsq_fits, _WIDTHS, by_truth),
}
