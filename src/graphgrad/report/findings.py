"""The contents of a report: names, arrays and text."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from dataclasses import field as made
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ..checks import check_choice, check_numbers, check_shape
from ..library import variable_names
from ..model.mean import DYNAMICS

# Shapes are checked in `__post_init__`, with readable messages: see `_SHAPES`.
Numbers = Float[np.ndarray, "..."]


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """Everything that a report shows. Parts without values are left out.

    Attributes:
        title: Heading of the page.
        states: Names of the states.
        inputs: Names of the inputs, if there are any.
        terms: Names of the M terms.
        incidence: `(Nv, M)`. Nonzero where a variable (row: a state, then an input)
            enters a term; the power, if the term is a monomial.
        monomials: `(M,)`. Which terms are monomials, to be written as products of
            powers. All by default.
        coefficients: `(Nx, M)`. Coefficients of the dynamics; zero for absent terms.
        dynamics: What the sum of the terms is: `"flow"` for dx/dt, `"map"` for the next
            value, `"difference"` for the change per step.
        standard_errors: `(Nx, M)`. Standard errors of the coefficients; zero or NaN
            where unknown.
        term_confidence: `(Nx, M)`. Confidence that each term is present, from 0 to 1.
        edge_confidence: `(Nx, Nv)`. Confidence that the variable (column) acts on the
            state (row). By default the largest confidence among its terms.
        edge_strength: `(Nx, Nv)`. Strength of the edge, as in `to_networkx`.
        edge_sign: `(Nx, Nv)`. Sign of the effect of the variable on the state: 1 or -1;
            0 if it changes, NaN where unknown.
        latex: The equations as LaTeX, for copying.
        alternatives: Other choices of terms, each as a sentence and its equations.
        times: `(T,)`. Time of each row.
        time_name: Name of the time axis, with its unit.
        dated: Whether all times are dates, in milliseconds since 1970.
        time_unit: Unit of time of the rates of a flow, such as day, if known.
        breaks: Row numbers at which a new series begins. The plots then use the row
            number as their axis.
        columns: Names of the columns of the data. A column with the name of a state is
            drawn with that state.
        data: `(T, Ny)`. Observations; NaN is a gap.
        means: `(T, Nx)`. Smoothed states.
        bands: `(T, Nx, 2)`. Lower and upper limits of their 90 % bands.
        input_data: `(T, Nu)`. Inputs at the rows.
        free_times: `(F,)`. Times of the free run.
        free_run: `(F, Nx)`. States of the equations on their own, from the first
            smoothed state on; NaN after they diverge.
        prices: `(L,)`. Penalties per term along the regularisation path, in descending
            order.
        path: `(L, Nx, M)`. Coefficients at each penalty.
        chosen: Index of the chosen penalty.
        field_x: `(W,)`. For a flow of two or more states: values of the first state.
        field_y: `(V,)`. Values of the second state.
        field: `(V, W, 2)`. dx/dt of both there, the vector field of the phase portrait;
            NaN where undefined.
        residuals: `(T, Ny)`. Standardised one-step residuals; NaN is a gap.
        verdicts: Results of the residual checks, in sentences.
        residuals_first: Whether the residuals follow the summary, as they fail.
        skills: One row per column, by names of the numbers: one-step errors of the fit
            and of what it is compared with.
        forecast_times: `(H,)`. Time of each step ahead.
        forecast_levels: Probabilities of the quantiles, in ascending order.
        forecast: `(Q, H, Nx)`. Quantiles of the states; NaN where undefined.
        forecast_note: What the forecast is averaged with, in a sentence.
        outcome: Outcome of the fit.
        advice: Meaning of the outcome, and what to do about it.
        summary: Sentences that follow the automatic ones.
        scores: Numbers about the whole fit by name, such as the log-likelihood.
        settings: Settings of the fit.
        versions: Versions of the software.
    """

    title: str
    states: tuple[str, ...]
    terms: tuple[str, ...]
    incidence: Numbers
    coefficients: Numbers
    inputs: tuple[str, ...] = ()
    monomials: Bool[np.ndarray, "..."] | None = None
    dynamics: str = "map"
    standard_errors: Numbers | None = None
    term_confidence: Numbers | None = None
    edge_confidence: Numbers | None = None
    edge_strength: Numbers | None = None
    edge_sign: Numbers | None = None
    latex: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, tuple[str, ...]], ...] = ()
    times: Numbers | None = None
    time_name: str = "time"
    dated: bool = False
    time_unit: str = ""
    breaks: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    data: Numbers | None = None
    means: Numbers | None = None
    bands: Numbers | None = None
    input_data: Numbers | None = None
    free_times: Numbers | None = None
    free_run: Numbers | None = None
    prices: Numbers | None = None
    path: Numbers | None = None
    chosen: int | None = None
    field_x: Numbers | None = None
    field_y: Numbers | None = None
    field: Numbers | None = None
    residuals: Numbers | None = None
    verdicts: tuple[str, ...] = ()
    residuals_first: bool = False
    skills: tuple[Mapping[str, Any], ...] = ()
    forecast_times: Numbers | None = None
    forecast_levels: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95)
    forecast: Numbers | None = None
    forecast_note: str = ""
    outcome: str = ""
    advice: str = ""
    summary: tuple[str, ...] = ()
    scores: Mapping[str, Any] = made(default_factory=dict)
    settings: Mapping[str, Any] = made(default_factory=dict)
    versions: Mapping[str, Any] = made(default_factory=dict)

    def __post_init__(self):
        check_choice("dynamics", self.dynamics, DYNAMICS)
        n_variables = len(self.states) + len(self.inputs)
        variable_names(n_variables, len(self.states), self.variables)
        for part in fields(self):
            value = getattr(self, part.name)
            if part.name in _SHAPES and value is not None:
                self._check(part.name, value)
        self._check_path()
        self._check_breaks()
        if self.field is not None and min(len(self.states), *self.field.shape[:2]) < 2:
            raise ValueError(
                "`field` must be over two or more values of two states, got shape "
                f"{self.field.shape} for {len(self.states)} states. Leave it out."
            )
        for name, needed in _NEEDS.items():
            missing = [n for n in needed if getattr(self, n) is None]
            if getattr(self, name) is not None and missing:
                raise ValueError(
                    f"`{missing[0]}` must be given with `{name}`, got None. Give both "
                    "or neither."
                )

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the states, followed by those of the inputs."""
        return (*self.states, *self.inputs)

    def _check(self, name: str, value: Any) -> None:
        """Check that an array matches the names and the other arrays."""
        array = check_numbers(name, value, "Give an array of numbers.")
        sizes = {
            "Nx": len(self.states),
            "Nv": len(self.variables),
            "M": len(self.terms),
            "Ny": len(self.columns),
            "Nu": len(self.inputs),
            "F": _rows(self.free_times),
            "T": _rows(self.times),
            "L": _rows(self.prices),
            "H": _rows(self.forecast_times),
            "Q": len(self.forecast_levels),
            "W": _rows(self.field_x),
            "V": _rows(self.field_y),
            "2": 2,
        }
        axes = _SHAPES[name].split()
        expected = tuple(sizes[axis] for axis in axes)
        counted = ", ".join(_COUNTED[axis] for axis in axes)
        check_shape(name, array.shape, expected, f"Its axes are {counted}.")

    def _check_path(self) -> None:
        if self.prices is not None and not np.all(np.asarray(self.prices) > 0):
            raise ValueError(
                f"`prices` must be positive, got {np.min(self.prices)}. The axis is "
                "logarithmic: leave out the fit without a penalty."
            )
        length = _rows(self.prices)
        if self.chosen is not None and not 0 <= self.chosen < length:
            raise ValueError(
                f"`chosen` must be the index of one of {length} penalties, counted "
                f"from 0, got {self.chosen}. Leave it out if none was chosen."
            )

    def _check_breaks(self) -> None:
        rows = _rows(self.times)
        if any(not 0 < at < rows for at in self.breaks):
            raise ValueError(
                f"`breaks` must be row numbers from 1 to {rows - 1}, got "
                f"{self.breaks}. Leave out the start of the first series."
            )


def _rows(array: np.ndarray | None) -> int:
    return 0 if array is None else np.size(array)


_SHAPES = {
    "incidence": "Nv M",
    "coefficients": "Nx M",
    "monomials": "M",
    "standard_errors": "Nx M",
    "term_confidence": "Nx M",
    "edge_confidence": "Nx Nv",
    "edge_strength": "Nx Nv",
    "edge_sign": "Nx Nv",
    "times": "T",
    "data": "T Ny",
    "means": "T Nx",
    "bands": "T Nx 2",
    "input_data": "T Nu",
    "free_times": "F",
    "free_run": "F Nx",
    "prices": "L",
    "path": "L Nx M",
    "field_x": "W",
    "field_y": "V",
    "field": "V W 2",
    "residuals": "T Ny",
    "forecast_times": "H",
    "forecast": "Q H Nx",
}
_COUNTED = {
    "Nx": "states",
    "Nv": "states and inputs",
    "M": "terms",
    "Ny": "columns",
    "Nu": "inputs",
    "F": "times of the free run",
    "T": "times",
    "L": "penalties",
    "H": "forecast times",
    "Q": "forecast levels",
    "W": "values of the first state",
    "V": "values of the second state",
    "2": "a pair",
}
_NEEDS = {
    "data": ("times",),
    "means": ("times",),
    "bands": ("means",),
    "input_data": ("times",),
    "free_run": ("free_times",),
    "path": ("prices",),
    "field": ("field_x", "field_y"),
    "residuals": ("times",),
    "forecast": ("forecast_times",),
}
