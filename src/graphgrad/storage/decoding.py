"""Decode a fit from a header and arrays, each checked before it is used."""

import dataclasses
import math
from collections.abc import Mapping
from math import comb
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..checks import check_choice
from ..data.clock import SECONDS, Clock, as_dates
from ..data.series import Panel, Series
from ..fits.record import Fit, Inferred, complete_fit
from ..fits.task import Task, make_task
from ..model import StateSpaceModel, check_dynamics
from ..solution import REMEDIES, Doubt, Outcome, PaperSolution, Solution, Stage
from .encoding import GROUPED, array_fields, plain_fields

MOST_SUBSTEPS = 4096
"""Most Runge-Kutta steps per interval that are accepted."""


FINITE = frozenset(
    {
        *("coefficients", "base", "state_noise", "observation_noise"),
        *("initial_mean", "initial_noise"),
    }
)
"""Arrays of a solution without which there is no model."""


class Stored:
    """Header and arrays of a file; arrays are checked for shape and type.

    Args:
        header: The header.
        arrays: The arrays by name.
    """

    def __init__(self, header: dict[str, Any], arrays: dict[str, np.ndarray]):
        self.header, self.arrays = header, arrays
        self._sizes: dict[str, int] = {}

    def take(self, name: str, shape: str, kinds: str = "f") -> np.ndarray:
        """Return an array; dimensions of the same name must agree across arrays."""
        if name not in self.arrays:
            raise ValueError(f"it has no array {name!r}")
        array = self.arrays[name]
        dims = shape.split()
        good = array.ndim == len(dims) and array.dtype.kind in kinds
        if good:
            found = zip(dims, array.shape, strict=True)
            good = all(self._sizes.setdefault(d, size) == size for d, size in found)
        if not good:
            wanted = [self._sizes.get(d, d) for d in dims]
            raise ValueError(
                f"its array {name!r} must have shape {wanted}, got "
                f"{list(array.shape)} of {array.dtype}"
            )
        return array

    def finite(self, name: str, shape: str, *, or_nan: bool = False) -> np.ndarray:
        """Return an array of finite numbers, or also NaN, which is missing."""
        array = self.take(name, shape)
        _check_finite(name, np.where(or_nan & np.isnan(array), 0, array))
        return array

    def dynamics(self, requested: Any) -> str:
        """Dynamics of the fit, which must agree with those of the settings."""
        found = check_dynamics(self.header["dynamics"])
        if requested not in ("auto", found):
            raise ValueError(
                f"its dynamics in model.json are {found!r}, and in its settings "
                f"{requested!r}"
            )
        return found

    def panels(self) -> tuple[Panel, Panel | None]:
        """The data and the inputs."""
        data, names = self.header["data"], self.header["inputs"]
        columns, driven = (checked_names(data[k]) for k in ("columns", "inputs"))
        series, inputs = [], []
        clocks = data.get("clocks", [None] * len(data["timed"]))  # not in older files
        for i, timed in enumerate(data["timed"]):
            values = self.finite(f"values_{i}", f"rows_{i} Ny", or_nan=True)
            times = self.finite(f"times_{i}", f"rows_{i}") if timed else None
            series.append(Series(values, columns, times, None, _clock(clocks[i])))
            if names:
                acting = self.finite(f"inputs_{i}", f"rows_{i} Nu")
                inputs.append(Series(acting, driven, None, None))
        if not series or (columns is not None and len(columns) != self._sizes["Ny"]):
            raise ValueError("its data are not those of its columns")
        if names and len(checked_names(names) or ()) != self._sizes["Nu"]:
            raise ValueError("its inputs are not those that it names")
        several = bool(data["several"])
        if len(series) > 1 and not several:
            raise ValueError("it has several series but is marked as one")
        return (
            Panel(tuple(series), several),
            Panel(tuple(inputs), several) if inputs else None,
        )

    def check_library(self, settings: dict[str, Any]) -> None:
        """Reject a library with more terms than the coefficients have."""
        found = self.take("solution_coefficients", "Nx M")
        check_library(self.header, found, settings)

    def fit(self, settings: dict[str, Any]) -> Fit:
        """Decode the fit, given its settings."""
        task = make_task(settings, *self.panels(), self.dynamics(settings["dynamics"]))
        prepared = task.prepared
        data = prepared.data._replace(model=self.model(prepared.data.model))
        task = task._replace(prepared=prepared._replace(data=data))
        fit = complete_fit(task, *self.solution(task))
        check_header(self.header, fit)
        notes = checked_names(self.header.get("notes")) or ()
        return fit._replace(doubts=read_doubts(self.header), notes=notes)

    def model(self, model: StateSpaceModel) -> StateSpaceModel:
        """The model with its arrays replaced by the stored ones."""
        leaves, tree = jax.tree.flatten(eqx.filter(model, eqx.is_array))
        stored = []
        for i, leaf in enumerate(leaves):
            array = self.arrays.get(f"model_{i}", np.zeros(0, bool))
            if (array.shape, array.dtype) != (leaf.shape, leaf.dtype):
                raise ValueError(
                    f"its array 'model_{i}' must have shape {list(leaf.shape)} of "
                    f"{leaf.dtype}, got {list(array.shape)} of {array.dtype}"
                )
            if np.isfinite(leaf).all():
                _check_finite(f"model_{i}", array)
            stored.append(jnp.asarray(array))
        if f"model_{len(leaves)}" in self.arrays:
            raise ValueError("its model has more arrays than its settings allow")
        rest = eqx.filter(model, eqx.is_array, inverse=True)
        return eqx.combine(jax.tree.unflatten(tree, stored), rest)

    def solution(self, task: Task) -> tuple[Solution | PaperSolution, Inferred]:
        """The solution, and the inferred states and standard errors."""
        header, layout = self.header["solution"], task.layout
        T, Nx = len(task.prepared.data.ys), len(layout.states)
        sizes = {"Nx": Nx, "M": len(layout.terms), "T": T, "T_plus_1": T + 1}
        for dim, size in sizes.items():
            if self._sizes.setdefault(dim, size) != size:
                raise ValueError(f"its arrays are not those of {size} {dim}")
        kind = {"adaptive": Solution, "paper": PaperSolution}[header["kind"]]
        if header["kind"] == "adaptive":  # what older files do not have
            shape = task.prepared.data.ys.shape
            self.arrays.setdefault("solution_predicted", np.full(shape, np.nan))
            weight = task.settings["penalty"]
            multiplier = 1.0 if weight is None else float(weight)
            flat = multiplier * task.unit_penalty
            penalties = np.full((Nx, len(layout.terms)), flat)
            self.arrays.setdefault("solution_term_prices", penalties)
            self.arrays.setdefault(
                "solution_alternative_coefficients", np.zeros((0, *penalties.shape))
            )
            self.arrays.setdefault("solution_alternative_rises", np.zeros(0))
            self.arrays.setdefault("solution_found_by", np.zeros(2, int))
            self.arrays.setdefault("solution_certified", np.zeros(Nx, bool))
            known = np.asarray(multiplier)
            self.arrays.setdefault("solution_penalty_multiplier", known)
        found: dict[str, Any] = {}
        for field in dataclasses.fields(kind):
            if field.name in array_fields(kind):
                shape = getattr(field.type, "dim_str", "Nx M")
                kinds = _kinds(field.type)
                found[field.name] = jnp.asarray(
                    self.take(f"solution_{field.name}", shape, kinds)
                )
        for name in FINITE.intersection(found):
            _check_finite(f"solution_{name}", np.asarray(found[name]))
        if int(found["code"]) not in set(Outcome):
            raise ValueError(f"its outcome must be known, got {int(found['code'])}")
        if kind is Solution and not 1 <= int(found["substeps"]) <= MOST_SUBSTEPS:
            raise ValueError(
                f"its substeps must be from 1 to {MOST_SUBSTEPS}, got "
                f"{int(found['substeps'])}"
            )
        if kind is Solution and int(found["found_by"][0]) not in set(Stage):
            number = int(found["found_by"][0])
            raise ValueError(f"its stage of the search must be known, got {number}")
        if kind is Solution:
            solution = Solution(**found, **_static(header))
            return solution, Inferred.of(solution)
        lengths = tuple(int(length) for length in header["lengths"])
        shapes = ("batches_{} steps_{}", "batches_{} Nx M", "batches_{}")
        for name, shape in zip(GROUPED, shapes, strict=True):
            found[name] = tuple(
                jnp.asarray(
                    self.take(f"solution_{name}_{i}", shape.format(i, i), "fiu")
                )
                for i in range(header["groups"])
            )
        inferred = Inferred(
            self.take("inferred_path", "T_plus_1 Nx"),
            self.take("inferred_spread", "T_plus_1 Nx Nx"),
            self.take("inferred_standard_errors", "Nx M"),
        )
        return PaperSolution(**found, lengths=lengths), inferred

    def confidences(self) -> dict[str, np.ndarray]:
        """Confidence in terms and edges, if stored."""
        if "term_confidence_" not in self.arrays:
            return {}
        return {
            "term_confidence_": self.take("term_confidence_", "N M"),
            "edge_confidence_": self.take("edge_confidence_", "N Nv"),
        }


def _check_finite(name: str, array: np.ndarray) -> None:
    if not np.isfinite(array).all():
        raise ValueError(f"its array {name!r} must be finite")


def _clock(plain: Any) -> Clock | None:
    """Source, unit and epoch of times, checked."""
    if plain is None:
        return None
    clock = Clock(**plain)
    if clock.unit is not None:
        check_choice("unit", clock.unit, SECONDS)
    if not isinstance(clock.source, str) or clock.anchor not in range(32):
        raise ValueError(f"its clock must be one, got {plain!r:.60}")
    as_dates([0.0], clock)  # the epoch must be a date
    return clock


def _kinds(annotation: Any) -> str:
    """NumPy kinds of an annotated array; floats without an annotation."""
    names = getattr(annotation, "dtypes", ())
    if "bool" in names or "bool_" in names:
        return "b"
    return "iu" if any(str(name).startswith("int") for name in names) else "f"


def _static(header: dict[str, Any]) -> dict[str, Any]:
    """Fields of the adaptive solver's solution that are text or numbers.

    Fields that an older file does not have take their default, if any.
    """
    found = {}
    for field in dataclasses.fields(Solution):
        if field.name not in plain_fields(Solution):
            continue
        if field.name not in header and field.default is not dataclasses.MISSING:
            continue
        value = header[field.name]
        if type(value) is not field.type:
            raise ValueError(
                f"its {field.name} must be of another type than {value!r:.60}"
            )
        found[field.name] = value
    return found


def check_library(
    header: Mapping[str, Any], coefficients: np.ndarray, settings: Mapping[str, Any]
) -> None:
    """Reject a library with more terms than the coefficients have."""
    states, inputs = (checked_names(header[key]) for key in ("states", "inputs"))
    plain = len(states or ()) + len(inputs or ())
    # Delayed variables and seasons, of which older files have none, are more.
    n = max(plain, len(checked_names(header.get("variables")) or ()))
    M = coefficients.shape[1]
    if len(states or ()) > len(coefficients) or len(coefficients) > n:
        raise ValueError("its coefficients are not those of its states")
    if settings.get("library") is not None:
        _check_size(settings["library"], n, M)
    elif "library" in settings:
        # They may be in no products.
        own = {"n_states": plain, "degree": settings.get("degree"), "root": 1}
        _check_size({"kind": "Polynomial", **own}, plain, M)


def check_header(header: Mapping[str, Any], fit: Fit) -> None:
    """Reject a header that disagrees with the settings and arrays."""
    expected = (
        ("states", list(fit.layout.present)),
        ("terms", list(fit.layout.terms)),
        ("dynamics", fit.dynamics),
        ("coefficients", fit.shown.coefficients.tolist()),
    )
    for key, value in expected:
        if header[key] != value:
            raise ValueError(
                f"its {key} in model.json are not those of its settings and arrays"
            )


def read_doubts(header: Mapping[str, Any]) -> tuple[Doubt, ...]:
    """Checks that the fit fails; an older file has none."""
    listed = header.get("doubts", [])
    if not isinstance(listed, list):
        raise ValueError(f"its doubts must be a list, got {listed!r:.60}")
    found = []
    for each in listed:
        check, number, text = each["check"], each["number"], each["text"]
        good = check in REMEDIES and isinstance(text, str)
        if not good or not isinstance(number, int | float | None):
            raise ValueError(f"its doubts must be known checks, got {each!r:.60}")
        value = math.nan if number is None else float(number)
        found.append(Doubt(check, value, text, bool(each["decisive"])))
    return tuple(found)


def checked_names(value: Any) -> tuple[str, ...] | None:
    """A list of names from a header, or None."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(n, str) for n in value):
        raise ValueError(f"names must be a list of text, got {value!r:.60}")
    return tuple(value)


def _check_size(plain: Any, n: int, M: int) -> None:
    """Check the size of a library before it is created, to bound memory."""
    if not isinstance(plain, dict):
        raise ValueError(f"its library must be one, got {plain!r:.60}")
    if plain.get("kind") == "SumLibrary":
        parts = plain.get("parts")
        items = parts.get("items") if isinstance(parts, dict) else None
        for part in items if isinstance(items, list) else ():
            _check_size(part, n, M)
        return
    good: Any = plain.get("n_states") == n
    if plain.get("kind") == "Polynomial" and good:
        degree: Any = plain.get("degree")
        root: Any = plain.get("root")
        good = isinstance(degree, int) and isinstance(root, int)
        if good:
            powers = degree * root
            # Fewer powers than terms, so that `comb` stays cheap.
            good = 0 < degree <= powers < M and comb(n + powers, n) <= M
    if not good:
        raise ValueError(f"its library must have {n} variables and {M} terms")
