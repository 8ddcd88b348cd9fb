"""Comparison of fits: information criteria, and likelihood-ratio tests if nested."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..checks import check_at_least
from ..data.series import Series
from ..fits.record import Fit
from .residuals import chi2_tail


class FitRow(NamedTuple):
    """One fit.

    Attributes:
        name: Its name.
        log_likelihood: Log-likelihood of the data.
        n_terms: Number of terms.
        n_parameters: Number of estimated coefficients and variances.
        aic: Akaike's information criterion; lower is better, also below.
        bic: Bayesian information criterion (Schwarz).
        ebic: Extended BIC, by which terms are selected.
        outcome: How the fit ended.
    """

    name: str
    log_likelihood: float
    n_terms: int
    n_parameters: int
    aic: float
    bic: float
    ebic: float
    outcome: str


class RatioTest(NamedTuple):
    """Likelihood-ratio test of two nested fits.

    Attributes:
        smaller: Name of the fit with fewer terms.
        larger: Name of the fit that has all of these terms and more.
        statistic: Twice the difference of the log-likelihoods.
        degrees: Degrees of freedom: number of additional coefficients.
        p_value: Probability of a larger statistic if the smaller fit is true. Too small
            if terms were selected on the same data.
    """

    smaller: str
    larger: str
    statistic: float
    degrees: int
    p_value: float


class Comparison(NamedTuple):
    """Fits in order of their extended BIC, and tests of those that are nested."""

    rows: tuple[FitRow, ...]
    tests: tuple[RatioTest, ...]

    def __str__(self) -> str:
        width = max(4, *(len(row.name) for row in self.rows))
        head = f"{'fit':<{width}}  log-lik.  terms      AIC      BIC     eBIC  outcome"
        lines = [head]
        for row in self.rows:
            lines.append(
                f"{row.name:<{width}}  {row.log_likelihood:8.1f}  {row.n_terms:5d}  "
                f"{row.aic:7.1f}  {row.bic:7.1f}  {row.ebic:7.1f}  {row.outcome}"
            )
        for test in self.tests:
            lines.append(
                f"{test.smaller} in {test.larger}: ratio statistic "
                f"{test.statistic:.1f} on {test.degrees} degrees of freedom, "
                f"p = {test.p_value:.2g}"
            )
        return "\n".join(lines)


def compare_records(fits: Mapping[str, Fit]) -> Comparison:
    """Compare fits to the same data, by name.

    Raises:
        ValueError: If they were fitted to different data.
    """
    check_at_least("fits", len(fits), 1, "Give a dictionary of fitted models.")
    reference_name, reference = next(iter(fits.items()))
    for name, fit in fits.items():
        if not _same_data(fit, reference):
            raise ValueError(
                "`fits` must be fits to the same data, got other data for "
                f"{name!r} than for {reference_name!r}. Fit them to the same `y`."
            )
    rows = [_row(name, fit) for name, fit in fits.items()]
    tests = [
        test
        for small in fits
        for large in fits
        if (test := _test(small, fits[small], large, fits[large])) is not None
    ]
    return Comparison(tuple(sorted(rows, key=lambda row: row.ebic)), tuple(tests))


def _row(name: str, fit: Fit) -> FitRow:
    ll = float(fit.solution.log_likelihood)
    estimated = int(np.sum(fit.estimated))
    state_noise, observation_noise = fit.variances
    sizes = {
        "state_noise": len(state_noise),
        "observation_noise": len(observation_noise),
        "initial": 2 * len(state_noise),
    }
    parameters = estimated + sum(sizes[part] for part in fit.task.prepared.learn)
    n = np.log(np.sum(~np.isnan(fit.data.ys)))
    return FitRow(
        name=name,
        log_likelihood=ll,
        n_terms=int(np.count_nonzero(fit.solution.departures())),
        n_parameters=parameters,
        aic=-2 * ll + 2 * parameters,
        bic=float(-2 * ll + n * parameters),
        ebic=float(-2 * ll + fit.task.unit_penalty * estimated),
        outcome=fit.outcome.name,
    )


def _test(small: str, a: Fit, large: str, b: Fit) -> RatioTest | None:
    """The test, if the terms of a are a proper subset of those of b."""
    ours, theirs = _named(a), _named(b)
    alike = a.task.prepared.learn == b.task.prepared.learn
    if not (ours < theirs and alike and a.dynamics == b.dynamics):
        return None
    smaller, larger = (float(fit.solution.log_likelihood) for fit in (a, b))
    statistic = max(0.0, 2 * (larger - smaller))
    degrees = len(theirs) - len(ours)
    return RatioTest(small, large, statistic, degrees, chi2_tail(statistic, degrees))


def _named(fit: Fit) -> set[tuple[str, str]]:
    """Targets and terms of the nonzero coefficients."""
    at = np.argwhere(fit.shown.coefficients != 0).tolist()
    states, terms = fit.layout.present, fit.layout.terms
    return {(states[i], terms[j]) for i, j in at}


def _same_data(a: Fit, b: Fit) -> bool:
    """Whether rows and times are the same; dynamics may differ."""
    ours, theirs = a.panel.series, b.panel.series
    return len(ours) == len(theirs) and all(
        np.array_equal(x.values, y.values, equal_nan=True)
        and np.array_equal(_steps(x, a.dt), _steps(y, b.dt))
        for x, y in zip(ours, theirs, strict=True)
    )


def _steps(series: Series, dt: float) -> np.ndarray:
    """Times of the rows in units of dt."""
    if series.times is None:
        return np.arange(len(series.values), dtype=float)
    times = np.asarray(series.times, float)
    return np.round((times - times[0]) / dt, 9)
