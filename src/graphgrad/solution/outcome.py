"""How a fit ended, checks that it fails, and advice on both."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple


class Outcome(IntEnum):
    """How a fit ended. Inside jit an outcome is its number.

    Examples:
        >>> Outcome.nothing_left.advice
        'No term is left that tells the states from noise or a random walk. Lower ...'
    """

    completed = 0
    still_rising = 1
    degenerate_likelihood = 2
    worse_than_persistence = 3
    nothing_left = 4
    no_consensus = 5
    converged = 6
    undecided = 7
    out_of_sweeps = 8
    not_determined = 9
    interval_too_long = 10
    contradicted = 11
    doubtful = 12

    @property
    def good(self) -> bool:
        """Whether nothing speaks against the fit."""
        return self in (Outcome.converged, Outcome.completed)

    @property
    def advice(self) -> str:
        """What the outcome means and what to do about it."""
        return _ADVICE[self]


_ADVICE = {
    Outcome.completed: ("All steps were taken and the likelihood had stopped rising."),
    Outcome.still_rising: (
        "The likelihood was still rising at the last step: the coefficients are not "
        "final. Use `solver='adaptive'`, or in Python call the solver itself with more "
        "steps."
    ),
    Outcome.degenerate_likelihood: (
        "The likelihood was numerically zero or had no finite gradient, so that the "
        "coefficients hardly moved: the model lost the data. Look for outliers, "
        "wrong units and columns that are equal, try a lower `degree` if it is above "
        "1 or, for an engine with particles, a larger `n_particles`; of the paper's "
        "solvers, also another start or shorter first batches."
    ),
    Outcome.worse_than_persistence: (
        "The fitted model explains the data worse than 'the next as the last' does: "
        "it lost the track and its equations are not to be trusted. Try another "
        "`degree`, hidden states in `states`, another kind of `dynamics`, or a series "
        "that is sampled more often."
    ),
    Outcome.nothing_left: (
        "No term is left that tells the states from noise or a random walk. Lower the "
        "penalty (`penalty`), give a longer series or less noise, or subtract a "
        "typical value from columns that are large beside their changes."
    ),
    Outcome.no_consensus: (
        "No subset of the starts agreed before the series was exhausted; the result "
        "is the start of highest likelihood. Give more starts, more steps, or a "
        "larger tolerance."
    ),
    Outcome.converged: (
        "The likelihood is at its maximum for the selected terms, and adding, dropping "
        "or swapping a term does not lower the criterion."
    ),
    Outcome.undecided: (
        "Another choice of terms explains the data nearly as well: the data hardly "
        "tell which is right. Give a longer series, less noise or, if it is above 1, a "
        "lower `degree`, or say what you know in `constraints`."
    ),
    Outcome.not_determined: (
        "The data do not determine the coefficients: some of them can be changed "
        "together, by as much as they are, without the data telling. The equations "
        "printed are one of many that do as well. A hidden state has no scale and no "
        "origin of its own: fix them in `constraints`, with `known` where it acts and "
        "`forbid` or `known` for a constant; or see more of the states."
    ),
    Outcome.interval_too_long: (
        "The interval between rows is too long for a flow: within one interval the "
        "state forgets where it was, turns back, or moves faster than the integration "
        "follows. Sample more often, or ask for `dynamics='map'`."
    ),
    Outcome.contradicted: (
        "A coefficient that was given contradicts the data, which ask for another one "
        "by many standard errors. Coefficients of a flow are rates, per unit of time. "
        "Check its value and its unit in `constraints`, or leave it out."
    ),
    Outcome.doubtful: (
        "The search for terms ended, but the model fails a check on the data: do not "
        "rely on the equations."
    ),
    Outcome.out_of_sweeps: (
        "The search for better terms was cut short: the equations may not be final. "
        "Try a lower `degree` if it is above 1, say what you know in `constraints`, or "
        "in Python give the function `adaptive` more sweeps."
    ),
}


class Doubt(NamedTuple):
    """A check that a fit fails.

    Attributes:
        check: Its name: a key of `REMEDIES`.
        number: What was measured.
        text: What was found, with the number.
        decisive: Whether it makes a fit doubtful; else it is only said.
    """

    check: str
    number: float
    text: str
    decisive: bool = True


_MISSING = (
    "Terms, states or inputs may be missing: try `lags='auto'`, `hidden='auto'`, "
    "`seasons='auto'`, a higher `degree`, or `inputs`."
)

REMEDIES = {
    "memory": _MISSING,
    "persistence": _MISSING,
    "autoregression": _MISSING,
    "divergence": (
        "Do not forecast many steps; try another `degree`, or say what you know in "
        "`constraints`."
    ),
    "normality": (
        "Look at the largest residuals for rows that are wrong, take logarithms of a "
        "column whose noise grows with it, or, in Python, give `StudentT` noise."
    ),
    "variance": (
        "The noise is of another kind than assumed: take logarithms of a column whose "
        "noise grows with it, fit the rows before and after a change separately, or, "
        "in Python, give `state_noise=gg.MultiplicativeNoise(...)`."
    ),
    "break": (
        "Look at these rows. If a level shifts there, give an input that is 0 before "
        "and 1 after it, or fit the rows before and after it separately."
    ),
    "counts": (
        "For small counts, in Python, give `observation_noise=gg.Poisson()`, or "
        "`gg.NegativeBinomial(...)`."
    ),
    "stability": "Give a longer series, or a lower `degree` if it is above 1.",
    "stiffness": (
        "Sample more often where the series moves fast; or leave out the fast "
        "variable, and fit the slow ones alone."
    ),
}
"""What to do about each check that fails."""


def full_advice(outcome: Outcome, doubts: Iterable[Doubt]) -> str:
    """What an outcome means, which checks failed, and what to do about it.

    Examples:
        >>> doubt = Doubt("stability", 0.4, "Refits find 40 % of the terms again.")
        >>> full_advice(Outcome.doubtful, [doubt])
        'Refits find 40 % of the terms again. Give a longer series, or a lower ...'
    """
    doubts = list(doubts)
    remedies = dict.fromkeys(REMEDIES[doubt.check] for doubt in doubts)
    found = [*(doubt.text for doubt in doubts), *remedies]
    first = outcome is not Outcome.doubtful
    return " ".join(
        [*[outcome.advice] * first, *found, *[outcome.advice] * (not first)]
    )
