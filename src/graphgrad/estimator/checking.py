"""Whether a fit is to be trusted: residuals, refits on blocks, posterior draws."""

from typing import Any

import numpy as np

from ..confidence import Posterior, Stability, posterior, stability
from ..model import GaussianNoise
from ..solution import PaperSolution, Solution
from ..solvers.adaptive.substeps import with_substeps
from .fitted import AbstractFitted, in_double
from .record import Fit
from .residuals import one_step_residuals, verdicts


class AbstractChecked(AbstractFitted):
    """How far a fit is to be trusted."""

    @in_double
    def residuals(self, y: Any = None, times: Any = None, inputs: Any = None) -> Any:
        """Standardised one-step residuals, one row for each row of the data.

        An observation less its prediction from the rows before, over the deviation of
        that prediction. A right model leaves them standard normal, without memory. NaN
        where nothing was observed, and in the first row of a series unless `initial`
        is given.

        Args:
            y: Other data than those of the fit, as for `fit`.
            times: As for `fit`.
            inputs: As for `fit`.
        """
        fit = self._checked()
        panel, data = fit.panel, fit.data
        if y is not None:
            panel, data = fit.rows(y, times, inputs)
        found = one_step_residuals(
            self._key(), fit.engine, data, given_first=fit.begins_anywhere
        )
        return panel.as_given(found)

    @in_double
    def check_residuals(
        self, y: Any = None, times: Any = None, inputs: Any = None
    ) -> list[str]:
        """What the residuals say, in words, a line for each column.

        Whether they have memory, are normal (where the noises are) and are as large as
        the model says. Each of the three is wrong about a right model once or twice in
        a hundred.

        Args:
            y: As for `residuals`.
            times: As for `fit`.
            inputs: As for `fit`.
        """
        return self._verdicts(self.residuals(y, times, inputs))

    def _verdicts(self, found: Any) -> list[str]:
        """What residuals say, as `residuals` gives them."""
        fit = self._checked()
        noises = fit.model.transition.noise, fit.model.observation.noise
        return verdicts(
            found if isinstance(found, list) else [found],
            fit.columns,
            normal=all(isinstance(noise, GaussianNoise) for noise in noises),
        )

    @in_double
    def stability(
        self, refits: int = 50, block: int | None = None, random_state: Any = None
    ) -> Stability:
        """How often each term and each edge comes out on resampled blocks of the data.

        For one series with equal steps and the adaptive solver. `graph`, `summary` and
        the plots show it from then on.

        Args:
            refits: Number of refits.
            block: Rows of a block; a fifth of the series, at most 50, if None.
            random_state: Seed; the estimator's own if None.
        """
        fit = self._checked()
        settings, prepared = fit.task.settings, fit.task.prepared
        # A block begins where the series was, not where it began.
        learn = tuple(part for part in prepared.learn if part != "initial")
        found = stability(
            self._key(random_state),
            fit.data.ys,
            with_substeps(prepared.data.model, fit.substeps),
            _adaptive(fit, "stability"),
            refits=refits,
            block=block,
            engine=fit.engine,
            learn=learn,
            constraints=tuple(settings["constraints"]),
            states=fit.layout.variables,
        )
        self._trust(found)
        return found

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

        For one series with equal steps, independent Gaussian state noise and the
        adaptive solver. `graph`, `summary` and the plots show it from then on.

        Args:
            draws: Number of draws.
            warm_up: Number of draws before these that are not kept.
            random_state: Seed; the estimator's own if None.
            num_particles: Number of particles.
        """
        fit = self._checked()
        prepared = fit.task.prepared
        found = posterior(
            self._key(random_state),
            fit.data.ys,
            fit.data.model,
            _adaptive(fit, "posterior"),
            draws=draws,
            warm_up=warm_up,
            learn=tuple(part for part in prepared.learn if part != "initial"),
            constraints=tuple(fit.task.settings["constraints"]),
            states=fit.layout.variables,
            num_particles=num_particles,
        )
        self._trust(found)
        return found

    def _trust(self, found: Stability | Posterior) -> None:
        self.term_confidence_ = np.asarray(found.terms)
        self.edge_confidence_ = np.asarray(found.edges)


def _adaptive(fit: Fit, who: str) -> Solution:
    if isinstance(fit.solution, PaperSolution):
        raise ValueError(
            f"`solver` must be 'adaptive' for `{who}`, got 'paper'. Fit anew with "
            "`solver='adaptive'`."
        )
    return fit.solution
