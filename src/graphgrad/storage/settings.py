"""Encode settings as JSON, and decode them.

An object of graphgrad is encoded as the name of its class and its fields. Only the
classes of `kinds` are instantiated when a file is read, by their constructors, which
check their arguments.
"""

import dataclasses
import math
from inspect import signature
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..engines.differentiable import StopGradientResampling
from ..equations.terms import FUNCTIONS
from ..library import FunctionTerms, Polynomial, Stretched, SumLibrary
from ..model import (
    Binomial,
    GaussianNoise,
    MultiplicativeNoise,
    NegativeBinomial,
    Poisson,
    StudentT,
)
from ..model.constraints import (
    Bounds,
    Conserve,
    Equal,
    Known,
    OnlyEdges,
    Sign,
    Symmetric,
    Velocity,
)
from ..registries import DIFFERENTIABLE, ENGINES, PENALTIES, PROPOSALS

UNNAMED = (
    *(Polynomial, FunctionTerms, SumLibrary, Stretched),
    *(GaussianNoise, StudentT, MultiplicativeNoise),
    *(Poisson, NegativeBinomial, Binomial),
    StopGradientResampling,
    *(Known, Sign, OnlyEdges, Bounds, Conserve, Equal, Symmetric),
    Velocity,
)
"""Classes that a file may name, in addition to those of the registries."""

REGISTRIES = (ENGINES, PROPOSALS, DIFFERENTIABLE, PENALTIES)
"""Registries of classes that a file may name."""


def kinds() -> dict[str, type]:
    """Classes that a file may name, by name.

    Those of the registries are included if their constructor takes all of their fields.
    """
    named = [kind for registry in REGISTRIES for kind in registry.values()]
    made = [
        kind for kind in named if set(_fields(kind)) <= set(signature(kind).parameters)
    ]
    return {kind.__name__: kind for kind in (*UNNAMED, *made)}


def encode_setting(value: Any) -> Any:
    """Encode a setting as JSON.

    Raises:
        TypeError: It contains something other than text, numbers, arrays and classes of
            graphgrad; the message names it.

    Examples:
        >>> import graphgrad as gg
        >>> encode_setting(gg.Polynomial(2, 3))
        {'kind': 'Polynomial', 'n_states': 2, 'degree': 3, 'root': 1}
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float | np.bool_ | np.integer | np.floating):
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, float) and not math.isfinite(number):
            return {"kind": "number", "value": repr(number)}
        return number
    kind = type(value)
    if kinds().get(kind.__name__) is kind:
        fields = {name: encode_setting(getattr(value, name)) for name in _fields(kind)}
        return {"kind": kind.__name__, **fields}
    if isinstance(value, list):
        return [encode_setting(inner) for inner in value]
    if kind is dict and all(isinstance(key, str) for key in value):
        items = [[key, encode_setting(inner)] for key, inner in value.items()]
        return {"kind": "mapping", "items": items}
    if kind is tuple:
        return {"kind": "tuple", "items": [encode_setting(inner) for inner in value]}
    if isinstance(value, np.ndarray | jax.Array) and value.dtype.kind in "biuf":
        items = encode_setting(np.asarray(value).tolist())
        return {"kind": "array", "dtype": str(value.dtype), "items": items}
    if callable(value) and value in FUNCTIONS:
        return {"kind": "function", "name": FUNCTIONS[value]}  # pyright: ignore
    raise TypeError("a function" if callable(value) else f"a {kind.__name__}")


def decode_setting(plain: Any) -> Any:
    """Decode a setting; arrays become NumPy arrays.

    Raises:
        ValueError: It is not an encoded setting.

    Examples:
        >>> decode_setting({"kind": "tuple", "items": ["held", 2]})
        ('held', 2)
    """
    if isinstance(plain, list):
        return [decode_setting(inner) for inner in plain]
    if not isinstance(plain, dict):
        return plain
    kind, known = plain.get("kind"), kinds()
    parts = {
        key: decode_setting(inner) for key, inner in plain.items() if key != "kind"
    }
    match kind, parts:
        case "number", {"value": "inf" | "-inf" | "nan" as text}:
            return float(text)
        case "tuple", {"items": list(items)}:
            return tuple(items)
        case "mapping", {"items": list(items)}:
            return {str(key): inner for key, inner in items}
        case "array", {"items": items, "dtype": str(dtype)}:
            if np.dtype(dtype).kind in "biuf":
                return np.asarray(items, dtype)
        case "function", {"name": name}:
            for function, its_name in FUNCTIONS.items():
                if name == its_name:
                    return function
        case str(), _ if kind in known and set(parts) == set(_fields(known[kind])):
            return _construct(known[kind], parts)
    raise ValueError(f"{plain!r:.60} is not a setting")


def _fields(kind: type) -> tuple[str, ...]:
    if issubclass(kind, tuple):
        return kind._fields  # pyright: ignore
    if kind is SumLibrary:
        return ("parts",)
    return tuple(field.name for field in dataclasses.fields(kind))


def _construct(kind: type, parts: dict[str, Any]) -> Any:
    """Create an object by its constructor, with bitwise identical arrays."""
    exact = {
        name: jnp.asarray(value)
        for name, value in parts.items()
        if isinstance(value, np.ndarray)
    }
    given = {**parts, **exact}
    given |= {name: array.item() for name, array in exact.items() if not array.ndim}
    if kind in (StudentT, MultiplicativeNoise):
        given["variance"] = given.pop("scale") ** 2
    made = kind(**given)
    for name, array in exact.items():
        made = eqx.tree_at(lambda m, name=name: getattr(m, name), made, array)
    return made
