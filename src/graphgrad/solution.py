"""What a fit found, and how it ended."""

from abc import abstractmethod
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int


class Outcome(IntEnum):
    """How a fit ended. Inside jit an outcome is its number.

    Examples:
        >>> Outcome.nothing_left.advice
        'No term is left but constants and, in a map, the last value: the data do ...'
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
        "wrong units and columns that are equal, try a lower `degree` or, for an "
        "engine with particles, a larger `n_particles`; of the paper's solvers, also "
        "another start or shorter first batches."
    ),
    Outcome.worse_than_persistence: (
        "The fitted model explains the data worse than 'the next as the last' does: "
        "it lost the track and its equations are not to be trusted. Try another "
        "`degree`, hidden states in `states`, another kind of `dynamics`, or a series "
        "that is sampled more often."
    ),
    Outcome.nothing_left: (
        "No term is left but constants and, in a map, the last value: the data do not "
        "tell the states from noise or a random walk. Lower the penalty (`penalty`), "
        "give a longer series or less noise, or subtract a typical value from columns "
        "that are large beside their changes."
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
        "tell which is right. Give a longer series, less noise or a lower `degree`, or "
        "say what you know in `constraints`."
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
        "Try a lower `degree`, say what you know in `constraints`, or in Python give "
        "the function `adaptive` more sweeps."
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
    "stability": "Give a longer series, or a lower `degree`.",
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


class Stage(IntEnum):
    """A part of the search for terms.

    Examples:
        >>> Stage.recombination.words
        'recombined starts'
    """

    unknown = 0
    annealing = 1
    exchange = 2
    recombination = 3
    random_start = 4
    known_noise = 5
    less_noise = 6
    alternative = 7
    earlier_fit = 8
    regression = 9

    @property
    def words(self) -> str:
        """Where terms came from."""
        return _STAGES[self]


_STAGES = {
    Stage.unknown: "a stage that is not known",
    Stage.annealing: "annealing",
    Stage.exchange: "exchange of terms after annealing",
    Stage.recombination: "recombined starts",
    Stage.random_start: "a random start",
    Stage.known_noise: "exchange of terms with the process noise known",
    Stage.less_noise: "exchange of terms with less process noise",
    Stage.alternative: "an alternative that was better",
    Stage.earlier_fit: "the fit from which the search went on",
    Stage.regression: "beam search on smoothed states",
}


class SearchRecord(NamedTuple):
    """How the best choice of terms was found, and whether the search is certified.

    Attributes:
        stage: The first stage that came to it.
        start: The number, from zero, of the start that did.
        certified: For each equation, or all of them if coefficients are tied, whether
            it is certain that no other choice of its terms has a lower criterion on the
            quadratic model of the likelihood at its maximum, where all other equations
            adapt.
    """

    stage: Stage
    start: int
    certified: tuple[bool, ...]

    @property
    def words(self) -> str:
        """The record as a sentence.

        Examples:
            >>> SearchRecord(Stage.annealing, 0, (False, False)).words
            'Terms found by annealing; not certified.'
        """
        number, proven = len(self.certified), sum(self.certified)
        certificate = "not certified"
        if proven == number:
            certificate = (
                "certified: no other choice of terms of one equation has a lower "
                "criterion on the quadratic model of the likelihood"
            )
        elif proven:
            certificate = f"certified for {proven} of {number} equations"
        return f"Terms found by {self.stage.words}; {certificate}."


class AbstractSolution(eqx.Module):
    """What every fit gives: coefficients, their likelihood, and how it ended."""

    coefficients: eqx.AbstractVar[Any]
    log_likelihood: eqx.AbstractVar[Float[Array, "..."]]
    code: eqx.AbstractVar[Int[Array, "..."]]

    @property
    def outcome(self) -> Outcome:
        """How the fit ended."""
        return Outcome(int(jax.device_get(self.code)))

    @property
    def advice(self) -> str:
        """What the outcome means and what to do about it."""
        return self.outcome.advice

    @abstractmethod
    def departures(self) -> np.ndarray:
        """Coefficients less those that count as zero."""

    def support(self, zero_threshold: float = 1e-6) -> np.ndarray:
        """Which terms enter; by the paper's threshold unless another is given."""
        return np.abs(self.departures()) >= zero_threshold


class PaperSolution(AbstractSolution):
    """What a fit by gradient steps found.

    Attributes:
        coefficients: C, with exact zeros where the penalty put them; or the fitted
            parameters of another mean map.
        log_likelihood: Mean over the last quarter of the steps of the last batch.
        code: Number of the outcome.
        lengths: Length of each batch.
        log_likelihoods: For each group of batches that ran in one call, an array
            `(batches, steps)` with the log-likelihood at each step; minus infinity
            where the step was skipped.
        path: For each group, the coefficients after each of its batches.
        skipped: For each group, how many steps of each batch were skipped since the
            likelihood or its gradient was not finite.
        start: Coefficients before the first step.
    """

    coefficients: Any
    log_likelihood: Float[Array, ""]
    code: Int[Array, ""]
    lengths: tuple[int, ...] = eqx.field(static=True)
    log_likelihoods: tuple[Float[Array, "..."], ...]
    path: tuple[Any, ...]
    skipped: tuple[Int[Array, "..."], ...]
    start: Any

    def departures(self) -> np.ndarray:
        return np.asarray(self.coefficients)


class Solution(AbstractSolution):
    """What the adaptive solver found.

    Attributes:
        coefficients: Those of the dynamics, with exact zeros where a term does not
            enter.
        base: Coefficients that count as zero: zeros, or the identity for states of a
            map whose sum is conserved.
        standard_errors: Of the coefficients found, from the information of the data
            on them; zero where a term does not enter.
        state_noise: Variances of the state noise, learnt or given.
        observation_noise: Variances of the observation noise, learnt or given.
        initial_mean: Mean of x_0, learnt or given.
        initial_noise: Variances of x_0, learnt or given.
        log_likelihood: Of the data.
        criterion: That of `criterion_name`; lower is better.
        margin: By how much the criterion rises for another choice of terms: one that
            weighs as much as all the alternatives together.
        states: Smoothed means of x_0..x_T.
        state_covariances: Smoothed covariances of x_0..x_T.
        filtered: Filtered means of x_1..x_T.
        predicted: One-step predictions of y_1..y_T, from the filtered means.
        prices: Penalties of a term, from high to low, along the regularisation path.
        path: Coefficients at each penalty: the regularisation path.
        start_criteria: Criterion that each start ended with.
        sweeps: Number of sweeps that each start took.
        code: Number of the outcome.
        engine: The engine and why it was chosen.
        substeps: Runge-Kutta steps that a flow takes in an interval; 1 otherwise.
        noise_free: Whether process noise was to be learnt and nothing speaks for any:
            the state noise is then the least that keeps the filter sound.
        term_prices: Penalty of each coefficient in this fit, multiplied.
        penalty_multiplier: Of the criterion's penalties, given or chosen.
        alternative_coefficients: Coefficients of the other choices of terms that
            explain the data nearly as well, the best first.
        alternative_rises: By how much the criterion rises for each.
        found_by: Number of the `Stage` that came first to these terms, and of its
            start.
        certified: For each equation, whether no other choice of its terms is better:
            see `search`.
        criterion_name: The criterion by which terms were chosen; `"auto"` is that of
            the dynamics.
    """

    coefficients: Float[Array, "Nx M"]
    base: Float[Array, "Nx M"]
    standard_errors: Float[Array, "Nx M"]
    state_noise: Float[Array, "Nx"]
    observation_noise: Float[Array, "Ny"]
    initial_mean: Float[Array, "Nx"]
    initial_noise: Float[Array, "Nx"]
    log_likelihood: Float[Array, ""]
    criterion: Float[Array, ""]
    margin: Float[Array, ""]
    states: Float[Array, "T_plus_1 Nx"]
    state_covariances: Float[Array, "T_plus_1 Nx Nx"]
    filtered: Float[Array, "T Nx"]
    predicted: Float[Array, "T Ny"]
    prices: Float[Array, "L"]
    path: Float[Array, "L Nx M"]
    start_criteria: Float[Array, "starts"]
    sweeps: Int[Array, "starts"]
    code: Int[Array, ""]
    substeps: Int[Array, ""]
    noise_free: Bool[Array, ""]
    term_prices: Float[Array, "Nx M"]
    penalty_multiplier: Float[Array, ""]
    alternative_coefficients: Float[Array, "A Nx M"]
    alternative_rises: Float[Array, "A"]
    found_by: Int[Array, "2"]
    certified: Bool[Array, "R"]
    engine: str = eqx.field(static=True)
    criterion_name: str = eqx.field(static=True, default="auto")

    def departures(self) -> np.ndarray:
        return np.asarray(self.coefficients) - np.asarray(self.base)

    @property
    def search(self) -> SearchRecord:
        """How these terms were found, and whether the search is certified."""
        stage, start = np.asarray(self.found_by).tolist()
        certified = np.asarray(self.certified).tolist()
        return SearchRecord(Stage(stage), start, tuple(certified))

    @property
    def weights(self) -> Float[np.ndarray, "A_plus_1"]:
        """Weights of the choice of terms and of its alternatives, of sum one.

        Half the difference of two criteria is the logarithm of the odds of the choices.
        """
        rises = np.concatenate([[0.0], np.asarray(self.alternative_rises, float)])
        weights = np.exp(-rises / 2)
        return weights / weights.sum()

    @property
    def unweighted_criterion(self) -> Float[Array, "..."]:
        """The criterion with its penalties as they are: comparable between fits."""
        deviance = -2 * self.log_likelihood
        penalties = (self.criterion - deviance) / self.penalty_multiplier
        return jnp.where(jnp.isfinite(deviance), deviance + penalties, jnp.inf)

    def with_outcome(self, outcome: Outcome) -> "Solution":
        """The same solution with another outcome."""
        code = jnp.asarray(outcome.value)
        return eqx.tree_at(lambda solution: solution.code, self, code)
