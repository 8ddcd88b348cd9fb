"""Methods of `GraphGrad`: confidence in terms and edges, and checks of residuals."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..confidence import Posterior, Stability
from ..diagnostics.alternatives import Alternative, fit_alternatives
from ..diagnostics.coefficient_intervals import coefficient_intervals
from ..diagnostics.doubts import with_stability
from ..diagnostics.probable_edges import (
    ProbableEdge,
    edge_probabilities,
    probable_edges,
)
from ..diagnostics.residuals import fit_residuals, residual_verdicts
from ..diagnostics.term_confidence import fit_posterior, fit_stability
from .double_precision import in_double
from .fitted import AbstractFitted


class AbstractConfidenceMethods(AbstractFitted):
    """How certain coefficients, terms and edges are, and whether residuals agree."""

    def alternatives(self) -> list[Alternative]:
        """Other choices of terms that explain the data nearly as well.

        At most ten, each with its `weight`, by how much its criterion is above that of
        the fit (`rise`), its `coefficients`, and `words` that say how it differs. Half
        the difference of two criteria is the logarithm of their odds, so that the
        weights of the fit and its alternatives have sum one. With noticeable weight on
        alternatives the outcome is `undecided`.

        Examples:
            >>> import graphgrad as gg, jax
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> [other.words for other in model.alternatives()][0]
            '... in the equation of ...'
        """
        return fit_alternatives(self._checked())

    @in_double
    def confidence_intervals(
        self, level: float = 0.9, *, sources: tuple[str, ...] = ("coefficients",)
    ) -> Float[np.ndarray, "Nx M 2"]:
        """Confidence intervals of the coefficients.

        Args:
            level: Probability that an interval covers its coefficient.
            sources: Sources of uncertainty: `"coefficients"`, given the selected terms
                and noise variances; on request also `"noise"`, whose learnt variances
                are uncertain, and `"terms"`, their choice: a mixture of the fit and its
                `alternatives`, in which a coefficient is zero where its term does not
                enter. `("noise", "coefficients", "terms")` are intervals after the
                selection.
        """
        return coefficient_intervals(self._key(), self._checked(), level, sources)

    def edges(self, fdr: float = 0.05) -> list[ProbableEdge]:
        """Edges with a false discovery rate: the most probable, of any term.

        As many as possible such that the expected share of false ones is at most
        `fdr`, by the probabilities of `edge_probabilities`, which hold if the model is
        right.

        Args:
            fdr: Highest expected share of false edges.

        Returns:
            Each with its `source`, `target` and `probability`, the most probable
            first; also edges that only alternatives of the fit have.

        Examples:
            >>> import graphgrad as gg, jax
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> sorted((edge.source, edge.target) for edge in model.edges(fdr=0.05))
            [('fox', 'fox'), ('fox', 'prey'), ('prey', 'fox'), ('prey', 'prey')]
        """
        return probable_edges(self._checked(), fdr, self._edge_confidence())

    def edge_probabilities(self) -> Float[np.ndarray, "Nx Nv"]:
        """Probability that a variable (column) acts on a state (row).

        By the weights of the fit and its `alternatives`; after `stability` or
        `posterior` it is `edge_confidence_`, which for `stability` is a share of
        refits.
        """
        fit, known = self._checked(), self._edge_confidence()
        return edge_probabilities(fit) if known is None else known

    @in_double
    def residuals(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """Standardised one-step residuals, one row per row of the data.

        An observation minus its prediction from the rows before, divided by the
        standard deviation of that prediction. For a correct model they are standard
        normal and uncorrelated. NaN where nothing was observed, and in the first row of
        a series unless `initial` is given.

        Args:
            y: Data, as for `fit`; those of the fit if None.
            times: As for `fit`.
            inputs: As for `fit`.
        """
        return fit_residuals(self._key(), self._checked(), y, times, inputs)

    @in_double
    def check_residuals(
        self, y: Any = None, times: Any = None, inputs: Any = None
    ) -> list[str]:
        """Test the residuals; one line of text per column.

        Tests of autocorrelation, normality (if the noise is Gaussian) and size. Each
        test rejects a correct model in 1 to 2 % of cases.

        Args:
            y: As for `residuals`.
            times: As for `fit`.
            inputs: As for `fit`.
        """
        return residual_verdicts(self._checked(), self.residuals(y, times, inputs))

    @in_double
    def stability(
        self, refits: int = 50, block: int | None = None, random_state: Any = None
    ) -> Stability:
        """Stability selection: how often refits on resampled blocks select each term.

        For one series with equal steps and the adaptive solver. `graph`, `summary` and
        the plots show the result afterwards. If refits find less than half of the
        terms on average, the outcome becomes `doubtful`.

        Args:
            refits: Number of refits.
            block: Rows per block; a fifth of the series, at most 50, if None.
            random_state: Seed; that of the estimator if None.
        """
        key, fit = self._key(random_state), self._checked()
        found = fit_stability(key, fit, refits=refits, block=block)
        self._store_outcome(with_stability(fit, found))
        return self._store_confidence(found)

    @in_double
    def posterior(
        self,
        draws: int = 1000,
        warm_up: int = 200,
        random_state: Any = None,
        *,
        num_particles: int = 30,
    ) -> Posterior:
        """Posterior probabilities of terms and edges, by particle Gibbs.

        For one series with equal steps, independent Gaussian process noise and the
        adaptive solver. `graph`, `summary` and the plots show the result afterwards.

        Args:
            draws: Number of draws.
            warm_up: Number of initial draws that are discarded.
            random_state: Seed; that of the estimator if None.
            num_particles: Number of particles.
        """
        found = fit_posterior(
            self._key(random_state),
            self._checked(),
            draws=draws,
            warm_up=warm_up,
            num_particles=num_particles,
        )
        return self._store_confidence(found)
