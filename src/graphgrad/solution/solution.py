"""What a solver found."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .outcome import Outcome
from .search_record import SearchRecord, Stage


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
