"""What a report is made from: names, arrays and words."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from dataclasses import field as made
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ..checks import check_choice, check_numbers, check_shape
from ..library import variable_names
from ..model.transition import DYNAMICS

# Shapes are checked at the door, with words: see `_SHAPES`.
Numbers = Float[np.ndarray, "..."]


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """Everything that a report tells. What is not known is left out.

    Attributes:
        title: Heading of the page.
        states: Names of the states.
        inputs: Names of the inputs, if there are any.
        terms: Names of the M terms.
        incidence: `(Nv, M)`. Nonzero where a variable (row: a state, then an input)
            enters a term; the power, if the term is a monomial.
        monomials: `(M,)`. Which terms are monomials, and written as products of powers.
            All are, if not given.
        coefficients: `(Nx, M)`. Those of the dynamics; zero where a term does not
            enter.
        dynamics: What they give: `"flow"` for dx/dt, `"map"` for the next value,
            `"difference"` for the change in a step.
        standard_errors: `(Nx, M)`. Of these coefficients; zero or NaN where there is
            none.
        term_confidence: `(Nx, M)`. How sure each term is to be there, from 0 to 1.
        edge_confidence: `(Nx, Nv)`. How sure it is that the variable (column) acts on
            the state (row). As sure as the surest of its terms, if only those are
            given.
        edge_strength: `(Nx, Nv)`. How strongly it does, as `to_networkx` has it.
        latex: The equations as LaTeX, to be copied.
        times: `(T,)`. Time of each row.
        time_name: What the times are called, with their unit.
        breaks: Numbers of the rows at which another series begins. The pictures then go
            by the number of the row.
        columns: Names of the columns of the data. One with the name of a state is drawn
            with that state.
        data: `(T, Ny)`. Observations; NaN is a gap.
        means: `(T, Nx)`. Smoothed states at the rows.
        bands: `(T, Nx, 2)`. Lower and upper ends of their 90 % bands.
        prices: `(L,)`. Prices of a term along the path, from high to low.
        path: `(L, Nx, M)`. Coefficients at each price.
        chosen: Number of the price that was chosen.
        field_x: `(W,)`. For a flow of two or more states: values of the first one.
        field_y: `(V,)`. Values of the second one.
        field: `(V, W, 2)`. dx/dt of both there; NaN where there is none. It is the
            vector field of the portrait.
        residuals: `(T, Ny)`. One-step residuals over their standard deviations, at the
            rows; NaN is a gap.
        verdicts: What the residuals say, in sentences.
        forecast_times: `(H,)`. Time of each step ahead.
        forecast_levels: Probabilities of the quantiles, rising.
        forecast: `(Q, H, Nx)`. Quantiles of the states; NaN where there is none.
        outcome: How the fit ended.
        advice: What that means and what to do about it.
        summary: Sentences to stand after those that the report writes itself.
        scores: Numbers about the whole fit by name, such as the log-likelihood.
        settings: What the fit was asked to do.
        versions: Of the software.
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
    latex: tuple[str, ...] = ()
    times: Numbers | None = None
    time_name: str = "time"
    breaks: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    data: Numbers | None = None
    means: Numbers | None = None
    bands: Numbers | None = None
    prices: Numbers | None = None
    path: Numbers | None = None
    chosen: int | None = None
    field_x: Numbers | None = None
    field_y: Numbers | None = None
    field: Numbers | None = None
    residuals: Numbers | None = None
    verdicts: tuple[str, ...] = ()
    forecast_times: Numbers | None = None
    forecast_levels: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95)
    forecast: Numbers | None = None
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
                "`field` must be over two values or more of two states, got shape "
                f"{self.field.shape} for {len(self.states)} states. Leave it out."
            )
        for name, needed in _NEEDS.items():
            missing = [n for n in needed if getattr(self, n) is None]
            if getattr(self, name) is not None and missing:
                raise ValueError(
                    f"`{missing[0]}` must be given with `{name}`, got None. Give both "
                    "or none of them."
                )

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the states and then of the inputs."""
        return (*self.states, *self.inputs)

    def _check(self, name: str, value: Any) -> None:
        """Whether an array fits the names and the other arrays."""
        array = check_numbers(name, value, "Give an array of numbers.")
        sizes = {
            "Nx": len(self.states),
            "Nv": len(self.variables),
            "M": len(self.terms),
            "Ny": len(self.columns),
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
        check_shape(name, array.shape, expected, f"It goes by {counted}.")

    def _check_path(self) -> None:
        if self.prices is not None and not np.all(np.asarray(self.prices) > 0):
            raise ValueError(
                f"`prices` must be positive, got {np.min(self.prices)}. They stand on "
                "a scale of logarithms: leave out the fit without a price."
            )
        length = _rows(self.prices)
        if self.chosen is not None and not 0 <= self.chosen < length:
            raise ValueError(
                f"`chosen` must be the number of one of {length} prices, counted from "
                f"0, got {self.chosen}. Leave it out if none was chosen."
            )

    def _check_breaks(self) -> None:
        rows = _rows(self.times)
        if any(not 0 < at < rows for at in self.breaks):
            raise ValueError(
                f"`breaks` must be numbers of rows from 1 to {rows - 1}, got "
                f"{self.breaks}. The first series needs none."
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
    "times": "T",
    "data": "T Ny",
    "means": "T Nx",
    "bands": "T Nx 2",
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
    "T": "times",
    "L": "prices",
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
    "path": ("prices",),
    "field": ("field_x", "field_y"),
    "residuals": ("times",),
    "forecast": ("forecast_times",),
}
