"""Methods of `GraphGrad`: summary, report and plots of a fit."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import plots
from ..report import Findings, write_report
from . import figures
from .double_precision import in_double
from .equations import fit_graph
from .fitted import AbstractFitted
from .report import fit_findings
from .summary import fit_summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AbstractOutputMethods(AbstractFitted):
    """A fit as text, as a page and as pictures."""

    @in_double
    def summary(self) -> str:
        """Summary as text: size, outcome, equations, edges and residual checks.

        Examples:
            >>> import graphgrad as gg, jax
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=110).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> print(model.summary())
            2 states from 110 rows, in steps of 0.03: a flow, dx/dt = A phi(x).
            4 of 12 candidate terms are selected.
            ...
            Outcome: converged. ...
            <BLANKLINE>
            dprey/dt =  1.0... prey             - 0.10... prey fox
            dfox/dt  =             - 1.5... fox + 0.07... prey fox
            Alternative of weight 0...
            <BLANKLINE>
            prey acts on itself through prey and prey fox, ... standard errors from 0.
            prey acts on fox through prey fox, ... standard errors from 0.
            fox acts on prey through prey fox, ... standard errors from 0.
            fox acts on itself through fox and prey fox, ... standard errors from 0.
            <BLANKLINE>
            Residuals of prey: no autocorrelation, normal, expected size.
            Residuals of fox: no autocorrelation, normal, expected size.
        """
        return fit_summary(self._key(), self._checked(), self._edge_confidence())

    @in_double
    def report(
        self, path: str | Path, *, title: str | None = None, forecast: int = 50
    ) -> None:
        """Write a report of the fit as one self-contained HTML file.

        It has a summary, the equations, an interactive graph, the states and the data,
        the regularisation path, residuals, a forecast, and the settings.

        The confidence in a term is that of `stability` or `posterior`, if one of them
        was called; else it comes from the standard error of its coefficient and the
        extended BIC penalty of a term.

        Args:
            path: The file; an existing one is replaced.
            title: Heading of the page.
            forecast: Number of steps to forecast; 0 for none. Several series, and
                models with inputs, have no forecast.

        Examples:
            >>> import graphgrad as gg, jax, tempfile, pathlib
            >>> system = gg.systems.lotka_volterra()
            >>> y = system.simulate(jax.random.key(0), steps=100).observations
            >>> model = gg.GraphGrad(dt=0.03, states=["prey", "fox"]).fit(y)
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
            >>> model.report(path)
            >>> "fox depends on prey" in path.read_text(encoding="utf-8")
            True
        """
        write_report(path, self._findings(title=title, forecast=forecast))

    @in_double
    def _findings(self, *, title: str | None = None, forecast: int = 50) -> Findings:
        """Contents of the report, as plain values."""
        return fit_findings(
            self._key(),
            self._checked(),
            title=title,
            steps=forecast,
            term_confidence=getattr(self, "term_confidence_", None),
            edge_confidence=self._edge_confidence(),
        )

    def plot_graph(self, ax: Any = None, **options: Any) -> "Axes":
        """Plot the directed graph of `graph`, by `graphgrad.plots.plot_graph`."""
        graph = fit_graph(self._checked(), self._edge_confidence())
        return plots.plot_graph(graph, ax=ax, **options)

    def plot_coefficients(self, ax: Any = None, **options: Any) -> "Axes":
        """Plot the coefficient matrix, by `graphgrad.plots.plot_coefficients`."""
        return figures.coefficients(self._checked(), ax, **options)

    def plot_path(self, ax: Any = None, **options: Any) -> "Axes":
        """Plot the regularisation path, with the penalty of the fit."""
        return figures.path(self._checked(), ax, **options)

    def plot_states(
        self, ax: Any = None, *, series: int = 0, **options: Any
    ) -> "list[Axes]":
        """Plot smoothed states with 90 % bands, and the data.

        Args:
            ax: One axes per state.
            series: Index of the series.
            **options: Of `graphgrad.plots.plot_states`, such as `truth`.
        """
        return figures.states(self._checked(), ax, series=series, **options)

    @in_double
    def plot_residuals(
        self, ax: Any = None, *, series: int = 0, **options: Any
    ) -> "list[Axes]":
        """Plot one-step residuals: over time, distribution, autocorrelation.

        Args:
            ax: Three axes.
            series: Index of the series.
            **options: Of `graphgrad.plots.plot_residuals`.
        """
        key, fit = self._key(), self._checked()
        return figures.residuals(key, fit, ax, series=series, **options)

    @in_double
    def plot_forecast(
        self, steps: int = 100, ax: Any = None, *, members: int = 200, **options: Any
    ) -> "list[Axes]":
        """Plot a forecast of the series of the fit as a fan chart.

        Members that diverge are left out; `forecast` warns of them.

        Args:
            steps: Number of steps of dt.
            ax: One axes per state.
            members: Number of draws.
            **options: Of `graphgrad.plots.plot_forecast`, such as `truth`; for a model
                with inputs also the `future_inputs`.
        """
        key, fit = self._key(), self._checked()
        return figures.forecasts(key, fit, steps, ax, members=members, **options)

    @in_double
    def plot_phase(self, ax: Any = None, *, series: int = 0, **options: Any) -> "Axes":
        """Phase portrait of two states: data, smoothed states, a simulation.

        For a flow it also has the vector field.

        Args:
            ax: Axes to draw on.
            series: Index of the series.
            **options: Of `graphgrad.plots.plot_phase`, such as `pair`; `rate=None`
                leaves the vector field out.
        """
        key, fit = self._key(), self._checked()
        return figures.phase(key, fit, ax, series=series, **options)

    def plot_convergence(self, ax: Any = None, **options: Any) -> "list[Axes]":
        """Plot log-likelihood and number of terms over the course of the fit.

        Not available for a fit by the adaptive solver that was loaded from a file.
        """
        return figures.convergence(self._checked(), ax, **options)
