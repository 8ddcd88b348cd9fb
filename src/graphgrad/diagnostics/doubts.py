"""Checks of a fit on its data, of which a right fit fails any in 1 % of cases at most.

They are made after the solver: memory, distribution and size of the one-step
residuals, one-step predictions beside persistence and an autoregression, the equations
run freely, and, for a fit that failed, whether they are stiff. They compile nothing.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..confidence import Stability
from ..fits.record import Fit
from ..solution import Doubt
from .changes import Parts, change_of_size, sudden_break
from .free_run import FAR, run_freely
from .innovations import standardised
from .normality import Shape, shape_of
from .residuals import NORMALITY, level_of_a_test
from .skill import FEWEST, Skill, one_step_errors, one_step_skill
from .stiffness import stiffness_doubt

MEMORY_LEVEL = 1e-4
"""Level of the test for memory, over all columns; 5 times this with 100 rows."""

SKILL_LEVEL = 1e-3
"""Level of each comparison with a baseline, over all columns."""

VARIANCE_LEVEL = 3e-4
"""Level of the tests for changes of size together, over all columns."""

BREAK_LEVEL = 3e-4
"""Level of the test for rows whose residuals are all off at once."""

SMALL_COUNTS = 10.0
"""Mean of counts below which a normal distribution is far from theirs."""

LAGS = 10
"""Most lags at which residuals are tested for memory; an even number."""

MOST_RUNS = 50
"""Most states from which the equations run freely to the end of the data."""

DIVERGING = 0.1
"""Share of these runs that may diverge."""

FOUND_AGAIN = 0.5
"""Share of its terms that refits of a fit should find again."""


def find_doubts(fit: Fit) -> tuple[Doubt, ...]:
    """The checks that a fit by the adaptive solver fails."""
    errors = one_step_errors(fit)
    if errors is None:
        return ()
    found = [memory_doubt(errors, fit.columns), *skill_doubts(one_step_skill(fit))]
    found += [*noise_doubts(fit, errors), free_run_doubt(fit)]
    doubts = [doubt for doubt in found if doubt is not None]
    failed = not fit.solution.outcome.good or any(doubt.decisive for doubt in doubts)
    stiff = stiffness_doubt(fit) if failed else None
    return (*doubts, stiff) if stiff is not None else tuple(doubts)


def noise_doubts(fit: Fit, errors: Parts) -> list[Doubt | None]:
    """Whether normal noise of one size fits the residuals; nothing for other noise."""
    residuals = standardised(fit, errors)
    if residuals is None:
        return []
    pairs = zip(fit.panel.series, errors, strict=True)
    predicted = [series.values - part for series, part in pairs]
    shape = shape_doubt(residuals, fit.columns)
    variance = variance_doubt(residuals, predicted, fit.columns)
    failed = shape is not None or variance is not None
    return [
        shape,
        variance,
        break_doubt(residuals),
        count_doubt(fit) if failed else None,
    ]


class Memory(NamedTuple):
    """Autocorrelation of residuals: at the first lag, and the test of all lags."""

    first: float
    p_value: float


def memory(parts: Sequence[np.ndarray]) -> Memory:
    """Test residuals of one column for autocorrelation; NaN if missing.

    The portmanteau test with the variance of each autocorrelation estimated, which
    holds for variances that change (Lobato, Nankervis and Savin, International
    Economic Review 42, 2001).

    Examples:
        >>> noise = np.random.default_rng(0).normal(size=200)
        >>> memory([noise]).p_value > 0.01, memory([np.cumsum(noise)]).p_value < 1e-9
        (True, True)
    """
    n = int(sum(np.isfinite(part).sum() for part in parts))
    lags = min(LAGS, 2 * (n // 10))
    if n < FEWEST:
        return Memory(0.0, 1.0)
    centre = np.nanmean(np.concatenate(parts))
    centred = [part - centre for part in parts]
    size = float(np.nanmean(np.concatenate(centred) ** 2))
    total, first = 0.0, 0.0
    for lag in range(1, lags + 1):
        products = np.concatenate([part[lag:] * part[:-lag] for part in centred])
        products = products[np.isfinite(products)]
        squares = float(np.sum(products**2))
        if squares > 0:
            total += float(np.sum(products)) ** 2 / squares
        if lag == 1 and size > 0 and len(products):
            first = float(np.mean(products)) / size
    return Memory(first, _even_chi2_tail(total, lags))


def memory_doubt(errors: Sequence[np.ndarray], columns: Sequence[str]) -> Doubt | None:
    """The column whose residuals remember most, if that is no chance."""
    found = [memory([part[:, j] for part in errors]) for j in range(len(columns))]
    worst = int(np.argmin([each.p_value for each in found]))
    p = min(1.0, found[worst].p_value * len(columns))
    if p >= MEMORY_LEVEL:
        return None
    first = found[worst].first
    return Doubt(
        "memory",
        first,
        f"Residuals of {columns[worst]} remember the rows before: autocorrelation "
        f"{first:.2f} (p = {p:.2g}).",
    )


def skill_doubts(skills: Sequence[Skill]) -> list[Doubt]:
    """Baselines that predict a column better than the fit, if that is no chance."""
    doubts = []
    for check, called in (
        ("persistence", "Persistence, the last value,"),
        ("autoregression", "An autoregression of order {order}"),
    ):
        worst = min(skills, key=lambda each: getattr(each, f"p_{check}"))
        p = min(1.0, getattr(worst, f"p_{check}") * len(skills))
        if p >= SKILL_LEVEL:
            continue
        ratio = worst.error / getattr(worst, check)
        larger = f"{ratio:.2g} times as large"
        if ratio < 1.995:
            larger = f"{100 * (ratio - 1):.2g} % larger"
        doubts.append(
            Doubt(
                check,
                ratio,
                f"{called.format(order=worst.order)} predicts the next {worst.column} "
                f"better: the error of the fit is {larger} (p = {p:.2g}).",
            )
        )
    return doubts


def shape_doubt(residuals: Parts, columns: Sequence[str]) -> Doubt | None:
    """The column whose residuals are least normal, if that is no chance.

    Light tails, such as those of rounding, do no harm and are not tested.
    """
    whole = np.concatenate(residuals)
    found: dict[str, Shape] = {}
    for name, column in zip(columns, whole.T, strict=True):
        known = column[np.isfinite(column)]
        if len(known) >= FEWEST and known.std() > 0:
            found[name] = shape_of(known)
    if not found:
        return None
    worst = min(found, key=lambda name: found[name].p_harmful)
    skewness, excess, *_ = found[worst]
    p = found[worst].p_harmful
    if p >= NORMALITY * level_of_a_test(len(found)):
        return None
    return Doubt(
        "normality",
        excess,
        f"Residuals of {worst} are not normal: skewness {skewness:.2g}, "
        f"excess kurtosis {excess:.2g} (p = {p:.2g}).",
    )


def variance_doubt(
    residuals: Parts, predicted: Parts, columns: Sequence[str]
) -> Doubt | None:
    """The column whose residuals change in size most, if that is no chance."""
    worst, least = None, VARIANCE_LEVEL
    for j, name in enumerate(columns):
        change = change_of_size(
            [part[:, j] for part in residuals], [part[:, j] for part in predicted]
        )
        p = min(1.0, change.p_value * len(columns))
        if p < least:
            text = f"Residuals of {name} {change.text} (p = {p:.2g})."
            least, worst = p, Doubt("variance", change.number, text)
    return worst


def break_doubt(residuals: Parts) -> Doubt | None:
    """The rows whose residuals are all off at once, if that is no chance."""
    found = sudden_break(residuals)
    if found.p_value >= BREAK_LEVEL:
        return None
    text = f"Residuals {found.text} (p = {found.p_value:.2g})."
    return Doubt("break", found.number, text)


def count_doubt(fit: Fit) -> Doubt | None:
    """A column of small counts: a reason why its residuals are not normal."""
    values = np.concatenate([series.values for series in fit.panel.series])
    for name, column in zip(fit.columns, values.T, strict=True):
        known = column[np.isfinite(column)]
        if not len(known) or (known < 0).any() or (known % 1 != 0).any():
            continue
        if known.max() > 1 and known.mean() < SMALL_COUNTS:
            mean = float(known.mean())
            text = f"The values of {name} are counts of mean {mean:.2g}."
            return Doubt("counts", mean, text, decisive=False)
    return None


def free_run_doubt(fit: Fit) -> Doubt | None:
    """Whether the equations leave the data when they run on their own.

    They run for as many steps as the data have from the last smoothed state, and to the
    end of the data from states in their first half: a series that grows leaves its
    range from its end, but not within it, if the equations are right.
    """
    longest = max(range(len(fit.smoothed)), key=lambda i: len(fit.smoothed[i].mean))
    states = fit.smoothed[longest].mean
    T = len(states)
    within = np.unique(np.linspace(0, T // 2, MOST_RUNS).astype(int))
    rows = np.append(within, T - 1)
    found = run_freely(fit, longest, states[rows], rows)
    if found is None:
        return None
    gone = np.asarray(np.isnan(found).any(axis=2))
    # A run that begins at row r has T - 1 - r steps to the end of the data.
    ends = np.minimum(np.maximum(T - 1 - within, 1), len(gone)) - 1
    share = float(np.mean(gone[ends, np.arange(len(within))]))
    decisive = share > DIVERGING or bool(gone[ends[0], 0])
    if gone[:, -1].any():
        steps = int(np.argmax(gone[:, -1])) + 1
        return Doubt(
            "divergence",
            float(steps),
            "Run freely from the last state, the equations diverge: they leave "
            f"{FAR:g} times the range of the data after {steps} step"
            f"{'s' * (steps > 1)}.",
            decisive=decisive,
        )
    if not decisive:
        return None
    return Doubt(
        "divergence",
        share,
        f"Run freely to the end of the data, the equations diverge from {share:.0%} of "
        f"the states in their first half: they leave {FAR:g} times the range of the "
        "data.",
    )


def with_stability(fit: Fit, stability: Stability) -> Fit:
    """The fit, with a doubt if refits find few of its terms again."""
    doubts = [doubt for doubt in fit.doubts if doubt.check != "stability"]
    if fit.estimated.any():
        again = float(
            np.mean(np.asarray(stability.terms)[fit.estimated[: fit.n_present]])
        )
        if again < FOUND_AGAIN:
            share = f"{100 * again:.0f} %"
            text = f"Refits on parts of the data find {share} of the terms again."
            doubts.append(Doubt("stability", again, text))
    return fit._replace(doubts=tuple(doubts))


def _even_chi2_tail(statistic: float, degrees: int) -> float:
    """Survival function of the chi-squared distribution for even degrees of freedom.

    Examples:
        >>> round(_even_chi2_tail(18.307, 10), 4)
        0.05
    """
    half, term, total = statistic / 2, 1.0, 1.0
    for i in range(1, degrees // 2):
        term *= half / i
        total += term
    return min(1.0, math.exp(-half) * total) if half < 700 else 0.0
