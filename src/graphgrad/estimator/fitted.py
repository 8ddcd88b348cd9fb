"""What a fitted estimator holds: attributes, pickles of them, and its display."""

from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..confidence import Posterior, Stability
from ..deprecation import renamed
from ..fits.record import Fit
from ..graph import adjacency
from ..library import origin_of
from .display import display_latex, fit_html
from .pickling import restored, stored
from .symmetry import found_symmetry

Found = TypeVar("Found", Stability, Posterior)


class AbstractFitted(BaseEstimator):
    """An estimator with the attributes of a fit."""

    @property
    def states_(self) -> Any:
        """Deprecated name of `state_means_`."""
        renamed("GraphGrad.states_", "GraphGrad.state_means_", until="0.3.0")
        return self.state_means_

    def __getstate__(self) -> dict[str, Any]:
        """Attributes for pickle, joblib and `copy.deepcopy`."""
        return stored(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(restored(state))

    def _repr_html_inner(self) -> str:
        """In a notebook: the equations of a fit; else scikit-learn's diagram."""
        if not hasattr(self, "_fit"):
            return super()._repr_html_inner()  # pyright: ignore
        return fit_html(self._fit)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        found = super()._repr_mimebundle_(**kwargs)
        if hasattr(self, "_fit") and "text/html" in found:
            found |= {"text/html": fit_html(self._fit)}
            found["text/latex"] = display_latex(self._fit)
        return found

    def _store(self, fit: Fit) -> None:
        """Set the fitted attributes."""
        layout, solution, panel = fit.layout, fit.solution, fit.panel
        self.solution_, self.model_ = solution, fit.model
        self.search_ = fit.search
        shown = fit.shown
        self.coef_, self.standard_errors_ = shown.coefficients, shown.standard_errors
        self.terms_, self.state_names_ = list(layout.terms), list(layout.present)
        self.degrees_ = np.asarray(layout.library.incidence)
        self.origin_ = np.array(origin_of(layout.library), float)
        self.adjacency_ = adjacency(self.coef_, layout.incidence[: fit.n_present])
        process, self.observation_noise_ = fit.variances
        self.state_noise_ = process[: fit.n_present]
        self.log_likelihood_ = float(solution.log_likelihood)
        self._store_outcome(fit)
        means = panel.as_given([estimate.mean for estimate in shown.smoothed])
        self.state_means_ = means
        self.dt_, self.n_iter_ = fit.dt, fit.n_sweeps
        self.time_unit_ = fit.time_unit
        self.dynamics_, self.substeps_ = fit.dynamics, fit.substeps
        self.n_features_in_ = panel.n_columns
        drivers = fit.task.drivers
        self.lags_ = {d.source: d.steps for d in layout.delays}
        self.symmetry_ = found_symmetry(fit)
        self.seasons_ = {season.label: season.period for season in drivers.seasons}
        for name in ("feature_names_in_", "term_confidence_", "edge_confidence_"):
            vars(self).pop(name, None)
        if panel.names is not None:
            self.feature_names_in_ = np.asarray(panel.names, dtype=object)

    def _store_outcome(self, fit: Fit) -> None:
        self._fit = fit
        self.outcome_, self.advice_ = fit.outcome.name, fit.advice
        self.doubts_ = [doubt.text for doubt in fit.doubts]

    def _store_confidence(self, found: Found) -> Found:
        self.term_confidence_ = np.asarray(found.terms)
        self.edge_confidence_ = np.asarray(found.edges)
        return found

    def _edge_confidence(self) -> Float[np.ndarray, "Nx Nv"] | None:
        return getattr(self, "edge_confidence_", None)

    def _checked(self) -> Fit:
        check_is_fitted(self)
        return self._fit

    def _key(self, random_state: Any = None) -> PRNGKeyArray:
        seed = random_state
        if seed is None:
            seed = self.get_params(deep=False)["random_state"]
        try:
            drawn = check_random_state(seed)
        except ValueError as error:
            raise ValueError(
                "`random_state` must be a whole number from 0, None or a NumPy "
                f"RandomState, got {seed!r:.60}. 0 is usual."
            ) from error
        return jax.random.key(drawn.randint(2**31 - 1))
